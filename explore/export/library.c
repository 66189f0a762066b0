/* @NAME@: its kernels, built and run. @NAME@.h says how to use it; nothing here needs to be read. */

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "@NAME@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

@TABLES@

static const char *const text[] = {
@TEXT@};

enum { LINES = sizeof text / sizeof *text };

@OPTIONS@

@LARGE_PAGES@

struct @NAME@_kernels {
  cl_program program;
  cl_kernel made[KERNELS];
  cl_mem held[BUFFERS], arena; /* NULL in the place of inputs and output */
};

static int enqueued(struct @NAME@_kernels *own, cl_command_queue queue, const cl_mem *memory,
                    int prepack) {
  for (int k = 0; k < KERNELS; ++k) {
    if (kernels[k].prepack != prepack) continue;
    for (int a = 0; a < kernels[k].argument_count; ++a) {
      int b = kernels[k].arguments[a];
      const cl_mem *given = own->held[b] ? &own->held[b] : &memory[b];
      cl_int status = clSetKernelArg(own->made[k], (cl_uint)a, sizeof *given, given);
      if (status) return status;
    }
    cl_int status = clEnqueueNDRangeKernel(queue, own->made[k], 3, NULL, kernels[k].global_size,
                                           kernels[k].local_size, 0, NULL, NULL);
    if (status) return status;
  }
  return @NAME@_OK;
}

/* True if a kernel of an inference uses a buffer: constants that are packed may be let go. */
static int is_used(int buffer) {
  for (int k = 0; k < KERNELS; ++k)
    for (int a = 0; a < kernels[k].argument_count && !kernels[k].prepack; ++a)
      if (kernels[k].arguments[a] == buffer) return 1;
  return 0;
}

/* What is wrong with the buffers of a run: one is missing, or too small, or an output is given as
   another one as well. */
static int mistaken(const cl_mem *memory) {
  for (int b = 0; b < BUFFERS; ++b) {
    if (buffers[b].role != INPUT && buffers[b].role != OUTPUT) continue;
    size_t bytes;
    if (!memory[b]) return @NAME@_BAD_ARGUMENT;
    cl_int status = clGetMemObjectInfo(memory[b], CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (status) return status;
    if (bytes < buffers[b].bytes) return @NAME@_TOO_SMALL;
    for (int other = 0; other < BUFFERS && buffers[b].role == OUTPUT; ++other)
      if (other != b && memory[other] == memory[b]) return @NAME@_BAD_ARGUMENT;
  }
  return @NAME@_OK;
}

/* What is wrong with a queue: its kernels must run one after the other. */
static int disordered(cl_command_queue queue) {
  cl_command_queue_properties how;
  cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof how, &how, NULL);
  if (status) return status;
  return how & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? @NAME@_BAD_ARGUMENT : @NAME@_OK;
}

static cl_mem new_buffer(cl_context context, cl_command_queue queue, size_t bytes, cl_int *status) {
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, status);
  if (!*status) *status = in_large_pages(queue, memory, bytes);
  return memory;
}

static int allocated(struct @NAME@_kernels *own, cl_context context, cl_command_queue queue) {
  cl_int status = CL_SUCCESS;
  if (ARENA_BYTES) own->arena = new_buffer(context, queue, ARENA_BYTES, &status);
  for (int b = 0; b < BUFFERS && !status; ++b) {
    cl_buffer_region part = {buffers[b].offset, buffers[b].bytes};
    if (buffers[b].role == TEMPORARY)
      own->held[b] = clCreateSubBuffer(own->arena, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                       &part, &status);
    else if (buffers[b].role != INPUT && buffers[b].role != OUTPUT)
      own->held[b] = new_buffer(context, queue, buffers[b].bytes, &status);
  }
  return status;
}

static int begun(struct @NAME@_kernels *own, cl_command_queue queue, const void *const *constants) {
  cl_context context;
  cl_device_id device;
  cl_int status = disordered(queue);
  if (!status)
    status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (!status) status = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (status) return status;
  own->program = clCreateProgramWithSource(context, LINES, (const char **)text, NULL, &status);
  if (status) return status;
  if (build(&own->program, device, @FEATURES@)) return @NAME@_BUILD_FAILED;
  for (int k = 0; k < KERNELS && !status; ++k)
    own->made[k] = clCreateKernel(own->program, kernels[k].name, &status);
  if (!status) status = allocated(own, context, queue);
  for (int b = 0; b < BUFFERS && !status; ++b)
    if (buffers[b].role == CONST)
      status = clEnqueueWriteBuffer(queue, own->held[b], CL_TRUE, 0, buffers[b].bytes,
                                    constants[b], 0, NULL, NULL);
  if (!status) status = enqueued(own, queue, own->held, 1);
  if (!status) status = clFinish(queue);
  for (int b = 0; b < BUFFERS && !status; ++b)
    if (buffers[b].role == CONST && !is_used(b)) {
      clReleaseMemObject(own->held[b]);
      own->held[b] = NULL;
    }
  return status;
}

int @NAME@_create(struct @NAME@_kernels **made, cl_command_queue queue@CONSTANTS@) {
  const void *constants[BUFFERS] = {@GIVEN@};
  if (!made) return @NAME@_BAD_ARGUMENT;
  *made = NULL;
  for (int b = 0; b < BUFFERS; ++b)
    if (buffers[b].role == CONST && !constants[b]) return @NAME@_BAD_ARGUMENT;
  struct @NAME@_kernels *own = calloc(1, sizeof *own);
  if (!own) return @NAME@_NO_MEMORY;
  int status = begun(own, queue, constants);
  if (status) @NAME@_destroy(own);
  else *made = own;
  return status;
}

int @NAME@_run(struct @NAME@_kernels *own, cl_command_queue queue@BUFFERS@) {
  const cl_mem memory[BUFFERS] = {@MEMORY@};
  int status = own ? mistaken(memory) : @NAME@_BAD_ARGUMENT;
  if (!status) status = disordered(queue);
  return status ? status : enqueued(own, queue, memory, 0);
}

void @NAME@_destroy(struct @NAME@_kernels *own) {
  if (!own) return;
  for (int k = 0; k < KERNELS; ++k)
    if (own->made[k]) clReleaseKernel(own->made[k]);
  /* Parts of the arena last made first: NVIDIA's driver crashes in the other order where a part
     overlaps two later ones. */
  for (int b = BUFFERS - 1; b >= 0; --b)
    if (own->held[b]) clReleaseMemObject(own->held[b]);
  if (own->arena) clReleaseMemObject(own->arena);
  if (own->program) clReleaseProgram(own->program);
  free(own);
}
