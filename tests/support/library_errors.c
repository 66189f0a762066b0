/* Prints the codes that a library exported as `best_conv` returns for mistakes: a line for each, and
   then that of a right call. It has constants of two names, one input and one output. */
#include "best_conv.h"

#include <stdio.h>

static float weights[8][3][3][4], biases[8];
static cl_context context;

static cl_mem buffer(size_t bytes) {
  return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, NULL)) return 2;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 2;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
  cl_command_queue_properties any_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  cl_command_queue disordered = clCreateCommandQueue(context, device, any_order, NULL);
  cl_mem image = buffer(8 * 8 * 4 * 4), out = buffer(8 * 8 * 8 * 4), small = buffer(64);
  struct best_conv_kernels *kernels = NULL, *none = NULL;
  const float *w = &weights[0][0][0][0];
  printf("no constants %d\n", best_conv_create(&none, queue, w, NULL));
  printf("no queue %d\n", best_conv_create(&none, NULL, w, biases) < 0);
  if (disordered) printf("any order %d\n", best_conv_create(&none, disordered, w, biases));
  printf("made nothing %d\n", none == NULL);
  printf("made %d\n", best_conv_create(&kernels, queue, w, biases));
  printf("no kernels %d\n", best_conv_run(NULL, queue, image, out));
  printf("no input %d\n", best_conv_run(kernels, queue, NULL, out));
  printf("small input %d\n", best_conv_run(kernels, queue, small, out));
  printf("small output %d\n", best_conv_run(kernels, queue, image, small));
  printf("one for both %d\n", best_conv_run(kernels, queue, out, out));
  if (disordered) printf("any order %d\n", best_conv_run(kernels, disordered, image, out));
  printf("right %d\n", best_conv_run(kernels, queue, image, out));
  printf("end %d\n", clFinish(queue));
  best_conv_destroy(kernels);
  best_conv_destroy(NULL);
  return 0;
}
