/* Builds one OpenCL text by the first device's compiler and prints what it says of each kernel.

   Usage: ask_compiler FILE. Nothing is ever launched: the device is not there. Lines on standard
   output: `device NAME`, `built` or `failed STATUS` with the log after it, then for each kernel
   `kernel NAME private BYTES local BYTES group ITEMS`. What the compiler prints itself goes to
   standard error. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static char *text_of(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = calloc(size + 1, 1);
  if (text && fread(text, 1, size, file) != (size_t)size) text = NULL;
  fclose(file);
  return text;
}

int main(int count, char **words) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  char name[256] = "";
  const char *text = count == 2 ? text_of(words[1]) : NULL;
  if (!text) return 2;
  if (clGetPlatformIDs(1, &platform, NULL)) return 3;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 4;
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  printf("device %s\n", name);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  if (error) return 5;
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
  if (error) return 6;
  error = clBuildProgram(program, 1, &device, "", NULL, NULL);
  if (error) {
    static char log[1 << 16];
    printf("failed %d\n", error);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    puts(log);
    fflush(stdout);
    return 0;
  }
  puts("built");
  cl_kernel kernels[64];
  cl_uint found = 0;
  clCreateKernelsInProgram(program, 64, kernels, &found);
  for (cl_uint i = 0; i < found && i < 64; i++) {
    cl_ulong private_bytes = 0, local_bytes = 0;
    size_t group = 0;
    clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_PRIVATE_MEM_SIZE, 8, &private_bytes, NULL);
    clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_LOCAL_MEM_SIZE, 8, &local_bytes, NULL);
    clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL);
    printf("kernel %s private %lu local %lu group %lu\n", name, (unsigned long)private_bytes,
           (unsigned long)local_bytes, (unsigned long)group);
  }
  clReleaseProgram(program);
  clReleaseContext(context);
  return 0; /* an end of its own: what the compiler keeps on disk is written until then */
}
