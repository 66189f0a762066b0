/* What host programs share: files, devices, numbers, the clock and the floor. The plan's header
   comes before it: it names the scalars, their sizes, and the device that kernels were made for. */

enum { MOST_DEVICES = 32, LAUNCHES = 1024 };

static void check(cl_int status, const char *doing) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: OpenCL error %d\n", doing, (int)status);
    exit(1);
  }
}

static char *contents(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  long end = ftell(file);
  rewind(file);
  *size = end > 0 ? (size_t)end : 0;
  char *text = malloc(*size + 1);
  if (end < 0 || !text || fread(text, 1, *size, file) != *size) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  text[*size] = 0;
  fclose(file);
  return text;
}

/* Bytes of a file that must have just `whole` of them, from `at` on. */
static void *part(const char *path, size_t at, size_t bytes, size_t whole) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  long found = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  if (found < 0 || (size_t)found != whole) {
    fprintf(stderr, "%s has %ld bytes, expected %zu: export the variant again\n", path, found,
            whole);
    exit(1);
  }
  char *data = malloc(bytes + 1);
  if (!data || fseek(file, (long)at, SEEK_SET) || fread(data, 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  return data;
}

struct device {
  cl_device_id id;
  char title[600]; /* name (platform) */
};

static char *trimmed(char *text) {
  while (*text == ' ') ++text;
  for (size_t n = strlen(text); n && text[n - 1] == ' ';) text[--n] = 0;
  return text;
}

static void describe(struct device *device, cl_platform_id platform) {
  char name[256] = "", of[256] = "";
  clGetDeviceInfo(device->id, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
  clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof of - 1, of, NULL);
  snprintf(device->title, sizeof device->title, "%s (%s)", trimmed(name), trimmed(of));
}

static unsigned all_devices(struct device *found) {
  cl_platform_id platforms[MOST_DEVICES];
  cl_uint platform_count = 0;
  unsigned total = 0;
  cl_int status = clGetPlatformIDs(MOST_DEVICES, platforms, &platform_count);
  if (status != CL_SUCCESS || !platform_count) no_runtime(PROGRAM, status);
  for (cl_uint p = 0; p < platform_count && p < MOST_DEVICES; ++p) {
    cl_device_id devices[MOST_DEVICES];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count)) continue;
    for (cl_uint d = 0; d < count && d < MOST_DEVICES && total < MOST_DEVICES; ++d) {
      found[total].id = devices[d];
      describe(&found[total++], platforms[p]);
    }
  }
  return total;
}

/* The device that is wanted, or the first; with `say`, stderr hears that it is not the one meant. */
static struct device chosen(const char *wanted, int say) {
  static struct device found[MOST_DEVICES];
  unsigned count = all_devices(found);
  char *end = NULL;
  unsigned long number = wanted ? strtoul(wanted, &end, 10) : 0;
  if (wanted && *wanted && !*end && number < count) return found[number];
  for (unsigned d = 0; d < count; ++d)
    if (wanted ? strstr(found[d].title, wanted) != NULL
               : !strcmp(found[d].title, MADE_FOR))
      return found[d];
  if (!wanted && count) {
    const char *how = "README.md: how to name its runtime";
    if (say) fprintf(stderr, "made for %s, which is not here (%s)\n", MADE_FOR, how);
    return found[0];
  }
  fprintf(stderr, "no device %s; there are:\n", wanted ? wanted : "is here");
  for (unsigned d = 0; d < count; ++d) fprintf(stderr, "%u  %s\n", d, found[d].title);
  exit(1);
}

static double bfloat_value(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static double half_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = exponent == 0    ? ldexp(fraction, -24)
                 : exponent == 31 ? (fraction ? NAN : INFINITY)
                                  : ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 ? -value : value;
}

static double element(const void *data, enum scalar scalar, size_t i) {
  switch (scalar) {
    case FLOAT: return ((const float *)data)[i];
    case HALF: return half_value(((const uint16_t *)data)[i]);
    case BFLOAT: return bfloat_value(((const uint16_t *)data)[i]);
    case LONG: return (double)((const int64_t *)data)[i];
    case SHORT: return ((const int16_t *)data)[i];
    case USHORT: return ((const uint16_t *)data)[i];
    case CHAR: return ((const int8_t *)data)[i];
    case UCHAR: return ((const uint8_t *)data)[i];
    default: return ((const int32_t *)data)[i];
  }
}

static cl_mem allocated(cl_context context, cl_command_queue queue, size_t bytes) {
  cl_int status;
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
  check(status, "allocating a buffer");
  check(in_large_pages(queue, memory, bytes), "allocating a buffer");
  return memory;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The floor: nanoseconds of an empty launch, of many back to back. */
static double empty_launch(cl_context context, cl_device_id device, cl_command_queue queue) {
  const char *source = "kernel void empty(global float *x) {}";
  cl_int status;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  check(status, "creating an empty program");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "building an empty kernel");
  cl_kernel kernel = clCreateKernel(program, "empty", &status);
  check(status, "an empty kernel");
  cl_mem x = allocated(context, queue, 64);
  check(clSetKernelArg(kernel, 0, sizeof x, &x), "setting an argument");
  size_t one[3] = {1, 1, 1};
  double begun = 0;
  for (int i = -1; i < LAUNCHES; ++i) {
    check(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, one, one, 0, NULL, NULL), "empty");
    if (i >= 0) continue;
    clFinish(queue); /* the first launch may cost more */
    begun = now();
  }
  clFinish(queue);
  return (now() - begun) / LAUNCHES;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
