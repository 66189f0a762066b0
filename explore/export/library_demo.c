/* Runs @NAME@ on the stored inputs and checks the result:  make && ./@NAME@_demo */

#include "@NAME@.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of a file that has `whole` of them, from `at` on; path: from this folder, "../data/…" */
static void *part(const char *path, size_t at, size_t bytes, size_t whole) {
  void *data = malloc(bytes);
  FILE *file = fopen(path, "rb");
  long found = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
  if (found >= 0 && (size_t)found != whole) {
    fprintf(stderr, "%s has %ld bytes, expected %zu\n", path + 3, found, whole);
    exit(1);
  }
  if (!file || !data || fseek(file, (long)at, SEEK_SET) || fread(data, 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %zu bytes of %s\n", bytes, path);
    exit(1);
  }
  fclose(file);
  return data;
}

static double value(@OUT_TYPE@ x) {
  @VALUE@
}

static void check(int status, const char *doing) {
  if (!status) return;
  fprintf(stderr, "%s: error %d\n", doing, status);
  exit(1);
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "finding a platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "finding a device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "opening the device");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "opening a queue");
@LOADED@
  struct @NAME@_kernels *kernels;
  check(@NAME@_create(&kernels, queue@CONSTANT_NAMES@), "@NAME@_create");
  check(@NAME@_run(kernels, queue@BUFFER_NAMES@), "@NAME@_run");
  @OUT_TYPE@ *result = malloc(@OUT_BYTES@);
  const size_t wanted = @COUNT@ * sizeof(double);
  double *expected = part("../data/expected.bin", 0, wanted, wanted);
  check(clEnqueueReadBuffer(queue, @OUT@, CL_TRUE, 0, @OUT_BYTES@, result, 0, NULL, NULL),
        "copying the result");
  double off = 0, size = 0;
  for (size_t i = 0; i < @COUNT@; ++i) {
    double d = value(result[i]) - expected[i];
    off += d * d;
    size += expected[i] * expected[i];
  }
  @NAME@_destroy(kernels);
  double error = sqrt(off / (size > 0 ? size : 1));
  printf("@NAME@: error %.1e\n", error);
  if (error <= @MAX_ERROR@) return 0;
  fprintf(stderr, "wrong: the error is over %.1e\n", @MAX_ERROR@);
  return 1;
}
