/* Large pages for a processor's buffers, so that it looks up fewer addresses. The system has them
   declared if _DEFAULT_SOURCE is defined before the first header. */
#ifdef __linux__
#include <stdint.h>
#include <sys/mman.h>
#endif

/* Ask the system to keep a new buffer of a processor in large pages, where whole ones fit: it lies
   in this process, and nothing is written to it yet. A driver that cannot map it, or a system
   without such pages, leaves it as it is. */
static cl_int in_large_pages(cl_command_queue queue, cl_mem memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)1 << 21;
  cl_device_id device;
  cl_device_type type = 0; /* a simulator claims to be a GPU as well */
  cl_int status = CL_SUCCESS;
  if (bytes < page ||
      clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) ||
      clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) ||
      !(type & CL_DEVICE_TYPE_CPU) || (type & CL_DEVICE_TYPE_GPU))
    return CL_SUCCESS;
  void *seen = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, bytes,
                                  0, NULL, NULL, &status);
  if (status) return CL_SUCCESS;
  uintptr_t first = ((uintptr_t)seen + page - 1) / page * page;
  uintptr_t end = ((uintptr_t)seen + bytes) / page * page;
  if (first < end) madvise((void *)first, end - first, MADV_HUGEPAGE);
  return clEnqueueUnmapMemObject(queue, memory, seen, 0, NULL, NULL);
#else
  (void)queue, (void)memory, (void)bytes;
  return CL_SUCCESS;
#endif
}
