/* Builds OpenCL texts by the first device's compiler and prints what it says of their kernels.

   Each line of standard input is the path of a text. Nothing is ever launched: the device is not
   there. Lines on standard output: `device NAME`; then for each text `built`, or `failed STATUS`
   with the log after it, for each of its kernels `kernel NAME private BYTES local BYTES group
   ITEMS`, and at last `end`. What the compiler prints itself comes in between.

   With an argument, what is compiled is kept in the compiler's cache. Without one nothing is
   written to files: nothing is printed of code that comes from the cache. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Mesa copies a kernel's tables of constants to the device, and asks this function of libdrm for a
   file by which it waits for that. The library that plays the device has none: Mesa crashes without.
   So it gets a file that is ready at once. */
int drmSyncobjExportSyncFile(int device, unsigned handle, int *file) {
  (void)device, (void)handle;
  *file = open("/dev/null", O_RDWR);
  return *file < 0;
}

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

static void no_more_files(void) {
  struct rlimit none = {0, 0};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &none);
}

static void tell(cl_program program, cl_device_id device) {
  char name[256] = "";
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
    clReleaseKernel(kernels[i]);
  }
}

static int build(cl_context context, cl_device_id device, const char *path) {
  static char log[1 << 16];
  cl_int error;
  char *text = text_of(path);
  if (!text) return 2;
  const char *given = text;
  cl_program program = clCreateProgramWithSource(context, 1, &given, NULL, &error);
  free(text);
  if (error) return 6;
  error = clBuildProgram(program, 1, &device, "", NULL, NULL);
  if (error) {
    memset(log, 0, sizeof log);
    printf("failed %d\n", error);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    puts(log);
  } else {
    puts("built");
    tell(program, device);
  }
  clReleaseProgram(program);
  return 0;
}

int main(int count, char **words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits any more */
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  char name[256] = "", line[4096];
  if (clGetPlatformIDs(1, &platform, NULL)) return 3;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 4;
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  printf("device %s\n", name);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  if (error) return 5;
  if (count < 2) no_more_files();
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    int status = build(context, device, line);
    if (status) return status;
    puts("end");
    fflush(NULL);
  }
  clReleaseContext(context);
  return 0; /* an end of its own: what the compiler keeps on disk is written until then */
}
