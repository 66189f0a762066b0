/* main.c: sharpens a picture with the exported kernel, and checks it against a loop in C. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/plan.h"

enum { W = 64, H = 48 };
static float image[H][W], result[H][W];
static const float taps[3][3] = {{0, -1, 0}, {-1, 5, -1}, {0, -1, 0}};

static void check(cl_int status, const char *doing) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL error %d\n", doing, (int)status);
  exit(1);
}

static float expected(int y, int x) {
  float sum = 0;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      if (y + i >= 0 && y + i < H && x + j >= 0 && x + j < W)
        sum += image[y + i][x + j] * taps[i + 1][j + 1];
  return sum;
}

int main(void) {
  static char source[1 << 20];
  FILE *file = fopen("kernel/kernels.cl", "rb");
  if (!file) return perror("kernel/kernels.cl"), 1;
  size_t length = fread(source, 1, sizeof source - 1, file);
  fclose(file);
  for (int y = 0; y < H; ++y)
    for (int x = 0; x < W; ++x) image[y][x] = (float)((x * x + 3 * y) % 17);

  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "finding a platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "finding a device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "opening the device");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "opening a queue");
  const char *text = source;
  cl_program program = clCreateProgramWithSource(context, 1, &text, &length, &status);
  check(status, "reading the kernels");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "building the kernels");

  /* A buffer for each line of the plan; those of the program have its names for their roles. */
  cl_mem memory[BUFFERS];
  int output = 0;
  for (int b = 0; b < BUFFERS; ++b) {
    memory[b] = clCreateBuffer(context, CL_MEM_READ_WRITE, buffers[b].bytes, NULL, &status);
    check(status, buffers[b].name);
    const void *given = buffers[b].role == INPUT ? (void *)image
                        : buffers[b].role == CONST ? (void *)taps : NULL;
    if (given)
      check(clEnqueueWriteBuffer(queue, memory[b], CL_TRUE, 0, buffers[b].bytes, given, 0, NULL,
                                 NULL), "copying an input");
    if (buffers[b].role == OUTPUT) output = b;
  }
  /* Kernels that prepare constants run first, and once; then those of every run, in their order. */
  for (int prepack = 1; prepack >= 0; --prepack)
    for (int k = 0; k < KERNELS; ++k) {
      if (kernels[k].prepack != prepack) continue;
      cl_kernel kernel = clCreateKernel(program, kernels[k].name, &status);
      check(status, kernels[k].name);
      for (int a = 0; a < kernels[k].argument_count; ++a)
        check(clSetKernelArg(kernel, (cl_uint)a, sizeof(cl_mem), &memory[kernels[k].arguments[a]]),
              "setting an argument");
      check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, kernels[k].global_size,
                                   kernels[k].local_size, 0, NULL, NULL), kernels[k].name);
    }
  check(clEnqueueReadBuffer(queue, memory[output], CL_TRUE, 0, buffers[output].bytes, result, 0,
                            NULL, NULL), "copying the result");

  double worst = 0;
  for (int y = 0; y < H; ++y)
    for (int x = 0; x < W; ++x) worst = fmax(worst, fabs(result[y][x] - expected(y, x)));
  printf("result[1][1] = %g, expected %g, largest difference %g\n", result[1][1], expected(1, 1),
         worst);
  return worst > 1e-3;
}
