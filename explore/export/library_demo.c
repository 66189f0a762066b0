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

@NO_RUNTIME@

@VALUES@static void check(int status, const char *doing) {
  if (!status) return;
  fprintf(stderr, "%s: error %d\n", doing, status);
  exit(1);
}

/* Tells how far a result of `count` numbers is from what is expected: 1 if it is wrong. */
static int is_wrong(cl_command_queue queue, cl_mem made, const char *name, size_t count,
                    size_t bytes, double (*at)(const void *, size_t), const double *expected) {
  void *result = malloc(bytes);
  check(result ? clEnqueueReadBuffer(queue, made, CL_TRUE, 0, bytes, result, 0, NULL, NULL)
               : CL_OUT_OF_HOST_MEMORY, "copying a result");
  double off = 0, size = 0;
  for (size_t i = 0; i < count; ++i) {
    double found = at(result, i), meant = expected[i], d = found - meant;
    if (found != meant && !(isnan(found) && isnan(meant))) off += d * d;
    if (isfinite(meant)) size += meant * meant;
  }
  free(result);
  double error = sqrt(off / (size > 0 ? size : 1));
  printf("%s: error %.1e\n", name, error);
  return !(error <= @MAX_ERROR@);
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  cl_uint platforms = 0;
  status = clGetPlatformIDs(1, &platform, &platforms);
  if (status || !platforms) no_runtime("./@NAME@_demo", status);
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "finding a device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "opening the device");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "opening a queue");
@LOADED@
  struct @NAME@_kernels *kernels;
  check(@NAME@_create(&kernels, queue@CONSTANT_NAMES@), "@NAME@_create");
  check(@NAME@_run(kernels, queue@BUFFER_NAMES@), "@NAME@_run");
  const size_t wanted = @COUNT@ * sizeof(double);
  double *expected = part("../data/expected.bin", 0, wanted, wanted);
  int wrong = 0;
@CHECKED@
  @NAME@_destroy(kernels);
  if (wrong) fprintf(stderr, "wrong: the error is over %.1e\n", @MAX_ERROR@);
  return wrong;
}
