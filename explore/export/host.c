/* Runs the exported kernels on their stored inputs, times them end to end and checks the result.
   Built by `make`; run in this folder: ./host [DEVICE], a number or part of a name;
   by default the device that it was made for, if that is here. */

#define _POSIX_C_SOURCE 199309L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_options.c"
#include "plan.h"

enum { BATCHES = 7, MOST = 1024, MOST_DEVICES = 32 };
static const double BATCH_NS = 1e7;

static void check(cl_int status, const char *doing) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: OpenCL error %d\n", doing, (int)status);
    exit(1);
  }
}

static char *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  long end = ftell(file);
  rewind(file);
  *size = end > 0 ? (size_t)end : 0;
  char *text = malloc(*size + 1);
  if (end < 0 || !text || fread(text, 1, *size, file) != *size) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  text[*size] = 0;
  fclose(file);
  return text;
}

/* Bytes of a file that must have just `whole` of them, from `at` on. */
static void *part(const char *path, size_t at, size_t bytes, size_t whole) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  long found = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  if (found < 0 || (size_t)found != whole) {
    fprintf(stderr, "%s has %ld bytes, expected %zu: export the variant again\n", path, found,
            whole);
    exit(1);
  }
  char *data = malloc(bytes + 1);
  if (!data || fseek(file, (long)at, SEEK_SET) || fread(data, 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  return data;
}

struct device {
  cl_device_id id;
  char title[600]; /* name (platform) */
};

static char *trimmed(char *text) {
  while (*text == ' ') ++text;
  for (size_t n = strlen(text); n && text[n - 1] == ' ';) text[--n] = 0;
  return text;
}

static void describe(struct device *device, cl_platform_id platform) {
  char name[256] = "", of[256] = "";
  clGetDeviceInfo(device->id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof of - 1, of, NULL);
  snprintf(device->title, sizeof device->title, "%s (%s)", trimmed(name), trimmed(of));
}

static unsigned all_devices(struct device *found) {
  cl_platform_id platforms[MOST_DEVICES];
  cl_uint platform_count = 0;
  unsigned total = 0;
  check(clGetPlatformIDs(MOST_DEVICES, platforms, &platform_count), "finding platforms");
  for (cl_uint p = 0; p < platform_count && p < MOST_DEVICES; ++p) {
    cl_device_id devices[MOST_DEVICES];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count)) continue;
    for (cl_uint d = 0; d < count && d < MOST_DEVICES && total < MOST_DEVICES; ++d) {
      found[total].id = devices[d];
      describe(&found[total++], platforms[p]);
    }
  }
  return total;
}

static struct device chosen(const char *wanted) {
  static struct device found[MOST_DEVICES];
  unsigned count = all_devices(found);
  char *end = NULL;
  unsigned long number = wanted ? strtoul(wanted, &end, 10) : 0;
  if (wanted && *wanted && !*end && number < count) return found[number];
  for (unsigned d = 0; d < count; ++d)
    if (wanted ? strstr(found[d].title, wanted) != NULL
               : !strcmp(found[d].title, MADE_FOR))
      return found[d];
  if (!wanted && count) {
    fprintf(stderr, "made for %s, which is not here (README.md: how to name its runtime)\n",
            MADE_FOR);
    return found[0];
  }
  fprintf(stderr, "no device %s; there are:\n", wanted ? wanted : "is here");
  for (unsigned d = 0; d < count; ++d) fprintf(stderr, "%u  %s\n", d, found[d].title);
  exit(1);
}

static double bfloat_value(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static double half_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 0    ? ldexp(fraction, -24)
                 : exponent == 31 ? (fraction ? NAN : INFINITY)
                                  : ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 ? -value : value;
}

static size_t elements(int buffer) {
  return buffers[buffer].bytes / bytes_of[buffers[buffer].scalar];
}

static double element(const void *data, enum scalar scalar, size_t i) {
  switch (scalar) {
    case FLOAT: return ((const float *)data)[i];
    case HALF: return half_value(((const uint16_t *)data)[i]);
    case BFLOAT: return bfloat_value(((const uint16_t *)data)[i]);
    case LONG: return (double)((const int64_t *)data)[i];
    case SHORT: return ((const int16_t *)data)[i];
    case USHORT: return ((const uint16_t *)data)[i];
    case CHAR: return ((const int8_t *)data)[i];
    case UCHAR: return ((const uint8_t *)data)[i];
    default: return ((const int32_t *)data)[i];
  }
}

static cl_mem allocated(cl_context context, size_t bytes) {
  cl_int status;
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
  check(status, "allocating a buffer");
  return memory;
}

static void fill(cl_command_queue queue, cl_mem memory, int b) {
  size_t whole = buffers[b].role == CONST ? WEIGHTS_BYTES : buffers[b].bytes;
  void *data = part(buffers[b].file, buffers[b].at, buffers[b].bytes, whole);
  check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, buffers[b].bytes, data, 0, NULL, NULL),
        "copying an input");
  free(data);
}

/* Temporaries lie in one arena, those that are not needed at once over each other. Each turn has
   inputs of its own; all else is shared. */
static void allocate(cl_context context, cl_command_queue queue, cl_mem memory[TURNS][BUFFERS]) {
  cl_mem arena = ARENA_BYTES ? allocated(context, ARENA_BYTES) : NULL;
  for (int b = 0; b < BUFFERS; ++b) {
    for (int turn = 0; turn < TURNS; ++turn) {
      cl_buffer_region part = {buffers[b].offset, buffers[b].bytes};
      cl_int status = CL_SUCCESS;
      if (turn && buffers[b].role != INPUT)
        memory[turn][b] = memory[0][b];
      else if (buffers[b].role == TEMPORARY)
        memory[turn][b] = clCreateSubBuffer(arena, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                            &part, &status);
      else
        memory[turn][b] = allocated(context, part.size);
      check(status, "dividing the arena");
      if (buffers[b].file && (!turn || buffers[b].role == INPUT)) fill(queue, memory[turn][b], b);
    }
  }
}

/* A kernel whose arguments are set, once. */
static cl_kernel ready(cl_program program, int k, const cl_mem *memory) {
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, kernels[k].name, &status);
  check(status, kernels[k].name);
  for (int a = 0; a < kernels[k].argument_count; ++a)
    check(clSetKernelArg(kernel, (cl_uint)a, sizeof(cl_mem), &memory[kernels[k].arguments[a]]),
          "setting an argument");
  return kernel;
}

static void enqueue(cl_command_queue queue, cl_kernel kernel, int k) {
  check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, kernels[k].global_size,
                               kernels[k].local_size, 0, NULL, NULL), kernels[k].name);
}

static void inference(cl_command_queue queue, cl_kernel *made) {
  for (int k = 0; k < KERNELS; ++k)
    if (!kernels[k].prepack) enqueue(queue, made[k], k);
}

/* Release the constants that only packing has read, and what packed them. */
static void release_packed(cl_mem *memory, cl_kernel *made) {
  for (int b = 0; b < BUFFERS; ++b) {
    int read = 0;
    for (int k = 0; k < KERNELS; ++k)
      for (int a = 0; a < kernels[k].argument_count; ++a)
        read |= !kernels[k].prepack && kernels[k].arguments[a] == b;
    if (buffers[b].role == CONST && !read) clReleaseMemObject(memory[b]);
  }
  for (int k = 0; k < KERNELS; ++k)
    if (kernels[k].prepack) clReleaseKernel(made[k]);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds of an inference, of many back to back: gaps between kernels are in it. */
static double batch(cl_command_queue queue, cl_kernel made[TURNS][KERNELS], int count) {
  static int next = 0;
  double begun = now();
  for (int i = 0; i < count; ++i) inference(queue, made[next++ % TURNS]);
  check(clFinish(queue), "waiting for the device");
  return (now() - begun) / count;
}

/* The floor: nanoseconds of an empty launch, of many back to back. */
static double empty_launch(cl_context context, cl_device_id device, cl_command_queue queue) {
  const char *source = "kernel void empty(global float *x) {}";
  cl_int status;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  check(status, "creating an empty program");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "building an empty kernel");
  cl_kernel kernel = clCreateKernel(program, "empty", &status);
  check(status, "an empty kernel");
  cl_mem x = allocated(context, 64);
  check(clSetKernelArg(kernel, 0, sizeof x, &x), "setting an argument");
  size_t one[3] = {1, 1, 1};
  double begun = 0;
  for (int i = -1; i < MOST; ++i) {
    check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, one, one, 0, NULL, NULL), "empty");
    if (i >= 0) continue;
    clFinish(queue); /* the first launch may cost more */
    begun = now();
  }
  clFinish(queue);
  return (now() - begun) / MOST;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The relative error of an output. */
static double error_of(cl_command_queue queue, cl_mem memory, int b, const double *expected) {
  void *out = malloc(buffers[b].bytes);
  check(out ? clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, buffers[b].bytes, out, 0, NULL, NULL)
            : CL_OUT_OF_HOST_MEMORY, "copying an output");
  double difference = 0, scale = 0;
  for (size_t i = 0; i < elements(b); ++i) {
    double d = element(out, buffers[b].scalar, i) - expected[i];
    difference += d * d;
    scale += expected[i] * expected[i];
  }
  free(out);
  return sqrt(difference / (scale > 0 ? scale : 1));
}

/* The largest relative error of an output, or the first that is over the limit or no number. */
static double largest_error(cl_command_queue queue, const cl_mem *memory, const double *expected) {
  double largest = 0;
  for (int b = 0; b < BUFFERS; ++b) {
    if (buffers[b].role != OUTPUT) continue;
    double error = error_of(queue, memory[b], b, expected);
    if (!(error <= MAX_ERROR)) return error;
    if (error > largest) largest = error;
    expected += elements(b);
  }
  return largest;
}

int main(int argc, char **argv) {
  struct device here = chosen(argc > 1 ? argv[1] : NULL);
  cl_device_id device = here.id;
  cl_int status;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "opening the device");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "opening a queue");
  size_t size;
  const char *source = contents("kernels.cl", &size);
  cl_program program = clCreateProgramWithSource(context, 1, &source, &size, &status);
  check(status, "creating the program");
  const char *options = build_options(device, strstr(source, "__opencl_c_") != NULL);
  if (clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
    return 1;
  }
  static cl_mem memory[TURNS][BUFFERS];
  static cl_kernel made[TURNS][KERNELS];
  allocate(context, queue, memory);
  size_t results = 0;
  for (int b = 0; b < BUFFERS; ++b)
    if (buffers[b].role == OUTPUT) results += elements(b);
  size_t wanted = results * sizeof(double);
  double *expected = part("data/expected.bin", 0, wanted, wanted);
  for (int turn = 0; turn < TURNS; ++turn)
    for (int k = 0; k < KERNELS; ++k) made[turn][k] = ready(program, k, memory[turn]);
  for (int k = 0; k < KERNELS; ++k)
    if (kernels[k].prepack) enqueue(queue, made[0][k], k);
  check(clFinish(queue), "preparing the constants");
  release_packed(memory[0], made[0]);
  batch(queue, made, 1); /* the first run may cost more */
  double many = BATCH_NS / batch(queue, made, 2);
  int count = many < 2 ? 2 : many > MOST ? MOST : (int)many;
  double times[BATCHES];
  for (int r = 0; r < BATCHES; ++r) times[r] = batch(queue, made, count);
  qsort(times, BATCHES, sizeof *times, ascending);
  double error = largest_error(queue, memory[0], expected);
  printf("%s: %.4f ms an inference, of %d back to back; an empty launch %.4f ms; error %.1e\n",
         here.title, times[BATCHES / 2] / 1e6, count, empty_launch(context, device, queue) / 1e6,
         error);
  if (!(error <= MAX_ERROR)) {
    fprintf(stderr, "wrong: the error is over %.1e\n", (double)MAX_ERROR);
    return 1;
  }
  return 0;
}
