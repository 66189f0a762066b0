/* Runs the exported kernels on their stored inputs, times them end to end and checks the result.
   Built by `make`; run in this folder: ./host [DEVICE], a number or part of a name;
   by default the device that it was made for, if that is here. */

#define _POSIX_C_SOURCE 199309L
#define _DEFAULT_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char PROGRAM[] = "./host";

#include "build_options.c"
#include "large_pages.c"
#include "no_runtime.c"
#include "plan.h"
#include "host_tools.c"

enum { BATCHES = 7, MOST = 1024 };
static const double BATCH_NS = 1e7;

static size_t elements(int buffer) {
  return buffers[buffer].bytes / bytes_of[buffers[buffer].scalar];
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
  cl_mem arena = ARENA_BYTES ? allocated(context, queue, ARENA_BYTES) : NULL;
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
        memory[turn][b] = allocated(context, queue, part.size);
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

/* Nanoseconds of an inference, of many back to back: gaps between kernels are in it. */
static double batch(cl_command_queue queue, cl_kernel made[TURNS][KERNELS], int count) {
  static int next = 0;
  double begun = now();
  for (int i = 0; i < count; ++i) inference(queue, made[next++ % TURNS]);
  check(clFinish(queue), "waiting for the device");
  return (now() - begun) / count;
}

/* How far a number is from what is meant: equal infinities, and two that are no numbers, agree. */
static double off(double found, double meant) {
  return found == meant || (isnan(found) && isnan(meant)) ? 0 : found - meant;
}

/* The relative error of an output. */
static double error_of(cl_command_queue queue, cl_mem memory, int b, const double *expected) {
  void *out = malloc(buffers[b].bytes);
  check(out ? clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, buffers[b].bytes, out, 0, NULL, NULL)
            : CL_OUT_OF_HOST_MEMORY, "copying an output");
  double difference = 0, scale = 0;
  for (size_t i = 0; i < elements(b); ++i) {
    double d = off(element(out, buffers[b].scalar, i), expected[i]);
    difference += d * d;
    if (isfinite(expected[i])) scale += expected[i] * expected[i];
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
  struct device here = chosen(argc > 1 ? argv[1] : NULL, 1);
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
  if (build(&program, device, strstr(source, "__opencl_c_") != NULL) != CL_SUCCESS) {
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
