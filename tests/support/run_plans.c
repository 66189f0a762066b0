/* Runs plans on the first OpenCL device and writes their results to files.

   Each line of standard input is the path of a plan, a file of words: the number of buffers, and for
   each its bytes and the file that it holds at first (`-`: no numbers, bytes of 255); the number of launches, and for
   each the kernel's name, the file of its text, its global and its local sizes, the number of its
   arguments and the numbers of these buffers; the number of results, and for each the number of its
   buffer and the file to write it to. Printed is `device NAME`; then for each plan `done`, or a line
   that begins with `failed`, and at last `end`. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MOST = 64 };
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *data = calloc(*size + 1, 1);
  size_t read = data ? fread(data, 1, *size, file) : 0;
  fclose(file);
  return read == *size ? data : NULL;
}

static int failed(const char *where, cl_int status) {
  if (status) printf("failed %s %d\n", where, status);
  return status;
}

static cl_mem buffer(FILE *plan) {
  size_t bytes = 0, size = 0;
  char file[4096];
  cl_int status;
  if (fscanf(plan, "%zu %4095s", &bytes, file) != 2) return NULL;
  void *data = strcmp(file, "-") ? contents(file, &size) : memset(malloc(bytes), 255, bytes);
  cl_mem made = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, data, &status);
  free(data);
  return failed("a buffer", status) ? NULL : made;
}

static int launch(FILE *plan, const cl_mem *buffers) {
  static char log[1 << 16];
  char name[256], file[4096];
  size_t size, global[3], local[3];
  int arguments, number;
  cl_int status;
  if (fscanf(plan, "%255s %4095s %zu %zu %zu %zu %zu %zu %d", name, file, global, global + 1,
             global + 2, local, local + 1, local + 2, &arguments) != 9)
    return failed("a launch", 1);
  char *text = contents(file, &size);
  const char *given = text;
  cl_program program = clCreateProgramWithSource(context, 1, &given, NULL, &status);
  if (failed(name, status)) return status;
  free(text);
  if ((status = clBuildProgram(program, 1, &device, "", NULL, NULL))) {
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    puts(log);
    return failed(name, status);
  }
  cl_kernel kernel = clCreateKernel(program, name, &status);
  for (int i = 0; !status && i < arguments; ++i) {
    if (fscanf(plan, "%d", &number) != 1) return failed("an argument", 1);
    status = clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &buffers[number]);
  }
  if (!status)
    status = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
  if (!status) status = clFinish(queue);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  return failed(name, status);
}

static int result(FILE *plan, const cl_mem *buffers) {
  char file[4096];
  int number;
  size_t bytes;
  if (fscanf(plan, "%d %4095s", &number, file) != 2) return failed("a result", 1);
  clGetMemObjectInfo(buffers[number], CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
  void *data = malloc(bytes);
  cl_int status = clEnqueueReadBuffer(queue, buffers[number], CL_TRUE, 0, bytes, data, 0, NULL, NULL);
  FILE *out = fopen(file, "wb");
  if (!out || fwrite(data, 1, bytes, out) != bytes) return failed("writing", 1);
  fclose(out);
  free(data);
  return failed("reading", status);
}

static int run(FILE *plan) {
  cl_mem buffers[MOST] = {NULL};
  int count, launches, results, bad = 0;
  if (fscanf(plan, "%d", &count) != 1 || count > MOST) return failed("a plan", 1);
  for (int i = 0; i < count; ++i) bad |= !(buffers[i] = buffer(plan));
  if (bad || fscanf(plan, "%d", &launches) != 1) return failed("a plan's buffers", 1);
  for (int i = 0; !bad && i < launches; ++i) bad = launch(plan, buffers);
  if (bad || fscanf(plan, "%d", &results) != 1) return failed("a plan's launches", 1);
  for (int i = 0; !bad && i < results; ++i) bad = result(plan, buffers);
  for (int i = 0; i < count; ++i) clReleaseMemObject(buffers[i]);
  return bad;
}

int main(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits any more */
  cl_platform_id platform;
  cl_int status;
  char name[256] = "", line[4096];
  if (clGetPlatformIDs(1, &platform, NULL)) return 3;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 4;
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  printf("device %s\n", name);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  if (!status) queue = clCreateCommandQueue(context, device, 0, &status);
  if (status) return 5;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    FILE *plan = fopen(line, "r");
    if (!plan) return 2;
    if (!run(plan)) puts("done");
    fclose(plan);
    puts("end");
    fflush(NULL);
  }
  return 0;
}
