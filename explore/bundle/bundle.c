/* Runs the kernels of a bundle, each variant in a process of its own, checks and times them, and
   writes results.jsonl, which `explore absorb` reads. Built by `make`; run in this folder:
   ./bundle [DEVICE], a number or part of a name; by default the device that the kernels were made
   for, if that is here, else the first. What results.jsonl holds already is not run again. */

#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char PROGRAM[] = "./bundle";

#include "build_options.c"
#include "large_pages.c"
#include "no_runtime.c"
#include "plans.h"
#include "host_tools.c"
#include "sha256.c"
#include "drawn_inputs.c"

enum { BATCHES = 7, MOST = 1024, SAID = 4000, SAMPLES = 64, NOT_BUILT = 2 };
static const double BATCH_NS = 1e7, LONG_NS = 2e9; /* a batch; an inference that few are timed of */
static const char RESULTS[] = "results.jsonl";

struct opened {
  struct device device;
  cl_context context;
  cl_command_queue queue;
};

static struct opened opened(const char *wanted, int say) {
  cl_int status;
  struct opened o = {chosen(wanted, say), NULL, NULL};
  o.context = clCreateContext(NULL, 1, &o.device.id, NULL, NULL, &status);
  check(status, "opening the device");
  o.queue = clCreateCommandQueue(o.context, o.device.id, 0, &status);
  check(status, "opening a queue");
  return o;
}

/* ---- lines of results */

static void print_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; ++text) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c < ' ' || c == 127)
      fprintf(out, "\\u%04x", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

static void print_number(FILE *out, double value) {
  if (isfinite(value))
    fprintf(out, "%.17g", value);
  else
    fputs("null", out);
}

static FILE *results(const char *mode) {
  FILE *file = fopen(RESULTS, mode);
  if (!file) {
    perror(RESULTS);
    exit(1);
  }
  return file;
}

static void begin_line(FILE *out, int v) {
  fprintf(out, "{\"id\": \"%s\", \"text\": \"%s\", ", variants[v].id, variants[v].sha256);
}

/* A line for a variant whose process ended without one; `said` is what it wrote before. */
static void write_failure(int v, const char *stage, const char *said) {
  FILE *out = results("a");
  begin_line(out, v);
  fprintf(out, "\"status\": \"failed\", \"stage\": \"%s\", \"reason\": ", stage);
  print_text(out, said);
  fputs("}\n", out);
  fclose(out);
}

/* ---- the device */

static void print_told(FILE *out, const char *name, char *text) {
  fprintf(out, "\"%s\": ", name);
  print_text(out, text ? trimmed(text) : "");
  fputs(", ", out);
  free(text);
}

static unsigned long long fact(cl_device_id device, cl_device_info what, size_t size) {
  unsigned char bytes[8] = {0};
  uint32_t narrow;
  uint64_t wide;
  check(clGetDeviceInfo(device, what, size, bytes, NULL), "asking the device");
  memcpy(&narrow, bytes, 4);
  memcpy(&wide, bytes, 8);
  return size == 4 ? narrow : wide;
}

static void print_device(FILE *out, cl_device_id device) {
  cl_platform_id platform;
  char of[256] = "";
  check(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), "asking");
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof of - 1, of, NULL);
  cl_device_type type = fact(device, CL_DEVICE_TYPE, sizeof(cl_device_type));
  int gpu = !!(type & CL_DEVICE_TYPE_GPU), cpu = !!(type & CL_DEVICE_TYPE_CPU);
  size_t sizes[3] = {0};
  clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
  char *extensions = told(device, CL_DEVICE_EXTENSIONS);
  char *title = told(device, CL_DEVICE_NAME);
  char *lower = strdup(of);
  for (char *c = lower; c && *c; ++c) *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
  fprintf(out, "{");
  print_told(out, "name", strdup(trimmed(title)));
  print_told(out, "platform", strdup(of));
  print_told(out, "version", told(device, CL_DEVICE_VERSION));
  print_told(out, "driver", told(device, CL_DRIVER_VERSION));
  fprintf(out, "\"kind\": \"%s\", \"index\": 0, \"ordinal\": 0, ",
          gpu == cpu ? "other" : gpu ? "gpu" : "cpu");
  fprintf(out, "\"max_work_item_sizes\": [%zu, %zu, %zu], ", sizes[0], sizes[1], sizes[2]);
  fprintf(out, "\"compute_units\": %llu, ", fact(device, CL_DEVICE_MAX_COMPUTE_UNITS, 4));
  fprintf(out, "\"max_work_group\": %llu, ",
          fact(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t)));
  fprintf(out, "\"local_bytes\": %llu, ", fact(device, CL_DEVICE_LOCAL_MEM_SIZE, 8));
  fprintf(out, "\"global_bytes\": %llu, ", fact(device, CL_DEVICE_GLOBAL_MEM_SIZE, 8));
  fprintf(out, "\"max_alloc_bytes\": %llu, ", fact(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8));
  fprintf(out, "\"local_is_dedicated\": %s, ",
          fact(device, CL_DEVICE_LOCAL_MEM_TYPE, 4) == CL_LOCAL ? "true" : "false");
  fprintf(out, "\"half\": %s, ",
          extensions && strstr(extensions, "cl_khr_fp16") ? "true" : "false");
  fprintf(out, "\"simulator\": %s, ", lower && strstr(lower, "oclgrind") ? "true" : "false");
  unsigned long long vector = fact(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 4);
  fprintf(out, "\"vector\": %llu}", vector ? vector : 1);
  free(title);
  free(extensions);
  free(lower);
}

static void print_input_hashes(FILE *out, const char *name, int whole) {
  fprintf(out, ", \"%s\": [", name);
  for (int n = 0; n < INPUTS; ++n) {
    void *data = drawn_input(SEED, n, inputs[n].scalar, inputs[n].count, whole);
    char digits[65];
    sha256(data, inputs[n].count * bytes_of[inputs[n].scalar], digits);
    fprintf(out, "%s\"%s\"", n ? ", " : "", digits);
    free(data);
  }
  fputs("]", out);
}

/* The first line of a start: the device, what an empty launch takes there, and the inputs. */
static void describe_here(const char *wanted) {
  char digits[65];
  void *expected = part("expected.bin", 0, EXPECTED_BYTES, EXPECTED_BYTES);
  sha256(expected, EXPECTED_BYTES, digits);
  free(expected);
  if (strcmp(digits, EXPECTED_SHA256)) {
    fprintf(stderr, "expected.bin is not the one that the bundle was made with: copy it again\n");
    exit(1);
  }
  struct opened o = opened(wanted, 1);
  FILE *out = results("a");
  fprintf(out, "{\"bundle\": %d, \"host\": \"C\", \"program\": \"%s\", \"device\": ", FORMAT,
          PROGRAM_SHA256);
  print_device(out, o.device.id);
  fprintf(out, ", \"launch_ns\": %.17g", empty_launch(o.context, o.device.id, o.queue));
  print_input_hashes(out, "inputs", 0);
  print_input_hashes(out, "whole", 1);
  fputs("}\n", out);
  fclose(out);
  printf("%s: %d variants\n", o.device.title, VARIANTS);
}

/* ---- a variant */

static size_t count_of(const struct buffer *b) { return b->bytes / bytes_of[b->scalar]; }

static void fill(cl_command_queue queue, cl_mem memory, const struct buffer *b, int whole) {
  void *data = drawn_input(SEED, b->input, b->scalar, count_of(b), whole);
  check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, b->bytes, data, 0, NULL, NULL),
        "copying an input");
  free(data);
}

/* Temporaries lie in one arena; each turn has inputs of its own, all else is shared. */
static void allocate(const struct opened *o, const struct variant *v, cl_mem *memory) {
  cl_mem arena = v->arena ? allocated(o->context, o->queue, v->arena) : NULL;
  for (int turn = 0; turn < TURNS; ++turn)
    for (int i = 0; i < v->buffer_count; ++i) {
      const struct buffer *b = &v->buffers[i];
      cl_buffer_region part = {b->offset, b->bytes};
      cl_int status = CL_SUCCESS;
      cl_mem *at = &memory[turn * v->buffer_count + i];
      if (turn && b->role != INPUT)
        *at = memory[i];
      else if (b->role == TEMPORARY)
        *at = clCreateSubBuffer(arena, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part,
                                &status);
      else
        *at = allocated(o->context, o->queue, b->bytes);
      check(status, "dividing the arena");
    }
}

static void give(const struct opened *o, const struct variant *v, cl_mem *memory, int whole) {
  for (int turn = 0; turn < TURNS; ++turn)
    for (int i = 0; i < v->buffer_count; ++i)
      if (v->buffers[i].role == INPUT || (!turn && v->buffers[i].role == CONST))
        fill(o->queue, memory[turn * v->buffer_count + i], &v->buffers[i], whole);
}

static void launch(const struct opened *o, const struct variant *v, cl_kernel *made, int prepack) {
  for (int k = 0; k < v->kernel_count; ++k)
    if (v->kernels[k].prepack == prepack)
      check(clEnqueueNDRangeKernel(o->queue, made[k], 3, NULL, v->kernels[k].global_size,
                                   v->kernels[k].local_size, 0, NULL, NULL),
            v->kernels[k].name);
}

/* Nanoseconds of an inference, of `count` back to back. */
static double batch(const struct opened *o, const struct variant *v, cl_kernel *made, int count) {
  static int next = 0;
  double begun = now();
  for (int i = 0; i < count; ++i) launch(o, v, &made[next++ % TURNS * v->kernel_count], 0);
  check(clFinish(o->queue), "waiting for the device");
  return (now() - begun) / count;
}

static double packing(const struct opened *o, const struct variant *v, cl_kernel *made) {
  double begun = now();
  launch(o, v, made, 1);
  check(clFinish(o->queue), "preparing the constants");
  return now() - begun;
}

static void *read_back(const struct opened *o, const struct buffer *b, cl_mem memory) {
  void *data = malloc(b->bytes);
  check(data ? clEnqueueReadBuffer(o->queue, memory, CL_TRUE, 0, b->bytes, data, 0, NULL, NULL)
             : CL_OUT_OF_HOST_MEMORY, "copying an output");
  return data;
}

/* Equal results have equal bytes: there is one zero, without a sign. */
static void drop_signs_of_zero(void *data, const struct buffer *b) {
  for (size_t i = 0; i < count_of(b); ++i) {
    if (b->scalar == FLOAT) ((float *)data)[i] += 0.0f;
    if ((b->scalar == HALF || b->scalar == BFLOAT) && ((uint16_t *)data)[i] == 0x8000)
      ((uint16_t *)data)[i] = 0;
  }
}

static void print_samples(FILE *out, const void *data, const struct buffer *b, int output) {
  fputs("[", out);
  for (int k = 0; k < SAMPLES; ++k) {
    if (k) fputs(", ", out);
    print_number(out, element(data, b->scalar, sampled_place(SEED, output, k, count_of(b))));
  }
  fputs("]", out);
}

/* Print what came of whole numbers: for each result its hash, then its samples. */
static void print_whole(FILE *out, const struct opened *o, const struct variant *v,
                        const cl_mem *memory) {
  for (int samples = 0; samples < 2; ++samples) {
    int output = 0;
    fputs(samples ? "], \"whole_samples\": [" : ", \"exact\": [", out);
    for (int i = 0; i < v->buffer_count; ++i) {
      const struct buffer *b = &v->buffers[i];
      if (b->role != OUTPUT) continue;
      void *data = read_back(o, b, memory[i]);
      char digits[65];
      drop_signs_of_zero(data, b);
      sha256(data, b->bytes, digits);
      if (output) fputs(", ", out);
      if (samples)
        print_samples(out, data, b, output);
      else
        fprintf(out, "\"%s\"", digits);
      ++output;
      free(data);
    }
  }
  fputs("]", out);
}

/* Print the samples of the results for real numbers; returns the largest relative error, or one
   that is no number. */
static double print_real(FILE *out, const struct opened *o, const struct variant *v,
                         const cl_mem *memory) {
  size_t at = 0;
  double largest = 0;
  int output = 0;
  fputs(", \"samples\": [", out);
  for (int i = 0; i < v->buffer_count; ++i) {
    const struct buffer *b = &v->buffers[i];
    if (b->role != OUTPUT) continue;
    void *data = read_back(o, b, memory[i]);
    double *meant = part("expected.bin", at, count_of(b) * sizeof *meant, EXPECTED_BYTES);
    double difference = 0, scale = 0;
    for (size_t j = 0; j < count_of(b); ++j) {
      double d = element(data, b->scalar, j) - meant[j];
      difference += d * d;
      scale += meant[j] * meant[j];
    }
    double error = sqrt(difference / (scale > 0 ? scale : 1));
    if (!(error <= largest)) largest = error;
    if (output) fputs(", ", out);
    print_samples(out, data, b, output++);
    at += count_of(b) * sizeof *meant;
    free(meant);
    free(data);
  }
  fputs("]", out);
  return largest;
}

static cl_program built(const struct opened *o, const struct variant *v, char digits[65]) {
  size_t size;
  cl_int status;
  char *source = contents(v->file, &size);
  sha256(source, size, digits);
  if (strcmp(digits, v->sha256)) {
    fprintf(stderr, "%s is not the text that the bundle was made with\n", v->file);
    exit(1);
  }
  const char *text = source;
  cl_program program = clCreateProgramWithSource(o->context, 1, &text, &size, &status);
  check(status, "creating the program");
  if (build(&program, o->device.id, strstr(source, "__opencl_c_") != NULL) != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, o->device.id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "it does not build: %s\n", log);
    exit(NOT_BUILT);
  }
  free(source);
  return program;
}

static cl_kernel *ready(const struct variant *v, cl_program program, const cl_mem *memory) {
  cl_kernel *made = calloc((size_t)(TURNS * v->kernel_count), sizeof *made);
  check(made ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "making kernels");
  for (int turn = 0; turn < TURNS; ++turn)
    for (int k = 0; k < v->kernel_count; ++k) {
      cl_int status;
      cl_kernel kernel = clCreateKernel(program, v->kernels[k].name, &status);
      check(status, v->kernels[k].name);
      for (int a = 0; a < v->kernels[k].argument_count; ++a) {
        int b = turn * v->buffer_count + v->kernels[k].arguments[a];
        check(clSetKernelArg(kernel, (cl_uint)a, sizeof(cl_mem), &memory[b]),
              "setting an argument");
      }
      made[turn * v->kernel_count + k] = kernel;
    }
  return made;
}

/* Build, check and time variant number n, and write its line. */
static void try_variant(const char *wanted, int n) {
  const struct variant *v = &variants[n];
  struct opened o = opened(wanted, 0);
  char digits[65], *line = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&line, &length);
  cl_mem *memory = calloc((size_t)(TURNS * v->buffer_count), sizeof *memory);
  check(out && memory ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "beginning a variant");
  double begun = now();
  cl_program program = built(&o, v, digits);
  double build_ns = now() - begun;
  begin_line(out, n);
  allocate(&o, v, memory);
  cl_kernel *made = ready(v, program, memory);
  give(&o, v, memory, 1);
  packing(&o, v, made);
  batch(&o, v, made, 1);
  fprintf(out, "\"status\": \"measured\", \"build_ns\": %.17g", build_ns);
  print_whole(out, &o, v, memory);
  give(&o, v, memory, 0);
  fprintf(out, ", \"prepack_ns\": %.17g", packing(&o, v, made));
  for (int turn = 0; turn < TURNS; ++turn) batch(&o, v, made, 1);
  double error = print_real(out, &o, v, memory);
  double once = batch(&o, v, made, 2);
  int count = once > BATCH_NS / 2 ? 2 : once * MOST < BATCH_NS ? MOST : (int)(BATCH_NS / once);
  int batches = once > LONG_NS ? 3 : BATCHES;
  double times[BATCHES];
  fprintf(out, ", \"error\": ");
  print_number(out, error);
  fprintf(out, ", \"count\": %d, \"runs_ns\": [", count);
  for (int r = 0; r < batches; ++r) {
    times[r] = batch(&o, v, made, count);
    fprintf(out, "%s%.17g", r ? ", " : "", times[r]);
  }
  fputs("]}\n", out);
  fclose(out);
  FILE *file = results("a");
  fwrite(line, 1, length, file);
  fclose(file);
  qsort(times, (size_t)batches, sizeof *times, ascending);
  printf("%3d of %d  %s: %.4f ms, error %.1e%s\n", n + 1, VARIANTS, v->id,
         times[batches / 2] / 1e6, error, error <= MAX_ERROR ? "" : ": wrong");
}

/* ---- processes */

static int has_line(const char *held, const char *begins) { return strstr(held, begins) != NULL; }

/* What results.jsonl holds, or nothing. A line that was cut off is dropped. */
static char *held_before(void) {
  size_t size = 0;
  FILE *file = fopen(RESULTS, "rb");
  if (!file) return calloc(1, 1);
  fclose(file);
  char *held = contents(RESULTS, &size);
  while (size && held[size - 1] != '\n') held[--size] = 0;
  check(truncate(RESULTS, (off_t)size) ? CL_INVALID_VALUE : CL_SUCCESS, RESULTS);
  return held;
}

/* The bytes of the results before the variant that is under way: nothing went wrong with it when
   somebody interrupts this program. */
static volatile long written;

static void interrupted(int number) {
  static const char words[] = "interrupted: a new start goes on\n";
  (void)number;
  int failed = truncate(RESULTS, written) || write(STDERR_FILENO, words, sizeof words - 1) < 0;
  _exit(failed ? 1 : 130);
}

/* What a process of its own does; `said` is what it told of errors. Returns how it ended. */
static int apart(const char *wanted, int n, char said[SAID]) {
  int ends[2], status = 0;
  fflush(NULL);
  if (pipe(ends)) return 1;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    alarm(LIMIT_S);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (n < 0)
      describe_here(wanted);
    else
      try_variant(wanted, n);
    fflush(NULL);
    _exit(0); /* what a driver does at the end of a process is not our business */
  }
  close(ends[1]);
  size_t length = 0;
  char spare[256];
  for (ssize_t got = 1; got > 0;) {
    int full = length + 1 >= SAID;
    got = read(ends[0], full ? spare : said + length, full ? sizeof spare : SAID - 1 - length);
    if (got > 0 && !full) length += (size_t)got;
  }
  said[length] = 0;
  close(ends[0]);
  if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  snprintf(said + strlen(said), SAID - strlen(said), "%sended by signal %d",
           *said ? ": " : "", WTERMSIG(status));
  return 1;
}

int main(int argc, char **argv) {
  const char *wanted = argc > 1 ? argv[1] : NULL;
  char said[SAID], mark[200];
  char *held = held_before();
  if (apart(wanted, -1, said)) {
    fprintf(stderr, "%s", said);
    return 1;
  }
  fputs(said, stderr);
  for (int n = 0; n < VARIANTS; ++n) {
    snprintf(mark, sizeof mark, "{\"id\": \"%s\"", variants[n].id);
    if (has_line(held, mark)) continue;
    snprintf(mark, sizeof mark, "{\"begun\": \"%s\"}\n", variants[n].id);
    if (has_line(held, mark)) { /* an earlier start ended there */
      write_failure(n, "run", "the machine went down over it");
      continue;
    }
    FILE *out = results("a");
    fseek(out, 0, SEEK_END);
    written = ftell(out);
    signal(SIGINT, interrupted);
    fputs(mark, out);
    fclose(out);
    int ended = apart(wanted, n, said);
    if (!ended) continue;
    write_failure(n, ended == NOT_BUILT ? "build" : "run", said);
    const char *why = *said ? said : "no reason is given";
    printf("%3d of %d  %s: failed: %.*s\n", n + 1, VARIANTS, variants[n].id,
           (int)strcspn(why, "\n"), why);
  }
  free(held);
  printf("bring back %s: explore absorb RUN %s\n", RESULTS, RESULTS);
  return 0;
}
