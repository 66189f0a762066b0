/* The options to build the kernels with, by which their text learns what a device has: the features
   of OpenCL C 3.0, dot products of Arm's and NVIDIA's, and NVIDIA's targets, of which its compiler
   knows less. Lines of PTX that need such a target stand in comments behind its name. */
static char *told(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  clGetDeviceInfo(device, what, 0, NULL, &size);
  char *text = calloc(size + 1, 1);
  if (text) clGetDeviceInfo(device, what, size, text, NULL);
  return text;
}

static int has_extension(cl_device_id device, const char *name) {
  char *extensions = told(device, CL_DEVICE_EXTENSIONS);
  int found = extensions && strstr(extensions, name) != NULL;
  free(extensions);
  return found;
}

static int is_nvidia(cl_device_id device) {
  return has_extension(device, "cl_nv_device_attribute_query");
}

static void build_options(cl_device_id device, int features, char options[96]) {
  cl_uint major = 0, minor = 0; /* of NVIDIA's compute capability; others do not know them */
  char *version = told(device, CL_DEVICE_OPENCL_C_VERSION);
  int third = version && strlen(version) > 9 && atof(version + 9) >= 3.0;
  free(version);
  strcpy(options, features && third ? "-cl-std=CL3.0" : "");
  if (has_extension(device, "cl_arm_integer_dot_product_accumulate_int8"))
    strcat(options, " -DHAS_ARM_DOT_ACC");
  if (!is_nvidia(device)) return;
  clGetDeviceInfo(device, 0x4000, sizeof major, &major, NULL);
  clGetDeviceInfo(device, 0x4001, sizeof minor, &minor, NULL);
  if (major > 6 || (major == 6 && minor >= 1)) strcat(options, " -DHAS_DP4A");
  sprintf(options + strlen(options), " -DHAS_PTX_SM_%u%uA", (unsigned)major, (unsigned)minor);
}

/* PTX with the lines opened that stand in comments behind the name of a target, which becomes the
   target of all; NULL if there are none. */
static char *for_target(const char *ptx) {
  const char *mark = strstr(ptx, "//@sm_"), *target = strstr(ptx, "\n.target sm_");
  if (!mark || !target) return NULL;
  int length = (int)strcspn(mark + 3, " ");
  char *made = malloc(strlen(ptx) + (size_t)length + 1), *to = made;
  if (!made) return NULL;
  const char *from = ptx;
  while (*from) {
    if (from == target) {
      to += sprintf(to, "\n.target %.*s", length, mark + 3);
      from += strlen("\n.target ");
      from += strcspn(from, ",\r\n\t ");
    } else if (!strncmp(from, mark, (size_t)length + 4)) {
      from += length + 4;
    } else {
      *to++ = *from++;
    }
  }
  *to = 0;
  return made;
}

/* The program that is built from PTX with such lines opened takes the place of the one built. */
static cl_int for_its_target(cl_program *program, cl_device_id device) {
  cl_context context;
  size_t size = 0;
  cl_int status = clGetProgramInfo(*program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL);
  if (!status)
    status = clGetProgramInfo(*program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  if (status) return status;
  char *ptx = calloc(size + 1, 1);
  if (!ptx) return CL_OUT_OF_HOST_MEMORY;
  status = clGetProgramInfo(*program, CL_PROGRAM_BINARIES, sizeof ptx, &ptx, NULL);
  char *text = status ? NULL : for_target(ptx);
  free(ptx);
  if (!text) return status;
  const unsigned char *binary = (const unsigned char *)text;
  size = strlen(text);
  cl_program made = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, &status);
  free(text);
  if (status) return status;
  clReleaseProgram(*program);
  *program = made;
  return clBuildProgram(made, 1, &device, "", NULL, NULL);
}

/* Builds a program for a device; `features` tells whether its text asks for any. */
static cl_int build(cl_program *program, cl_device_id device, int features) {
  char options[96];
  build_options(device, features, options);
  cl_int status = clBuildProgram(*program, 1, &device, options, NULL, NULL);
  return status || !is_nvidia(device) ? status : for_its_target(program, device);
}
