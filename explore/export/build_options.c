/* The options to build the kernels with, by which their text learns what a device has: the features
   of OpenCL C 3.0, and dot products of Arm's and NVIDIA's. */
static char *told(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  clGetDeviceInfo(device, what, 0, NULL, &size);
  char *text = calloc(size + 1, 1);
  if (text) clGetDeviceInfo(device, what, size, text, NULL);
  return text;
}

static const char *build_options(cl_device_id device, int features) {
  static const char *const every[2][3] = {
      {"", "-DHAS_ARM_DOT_ACC", "-DHAS_DP4A"},
      {"-cl-std=CL3.0", "-cl-std=CL3.0 -DHAS_ARM_DOT_ACC", "-cl-std=CL3.0 -DHAS_DP4A"}};
  cl_uint major = 0, minor = 0; /* of NVIDIA's compute capability; others do not know them */
  char *version = told(device, CL_DEVICE_OPENCL_C_VERSION);
  char *extensions = told(device, CL_DEVICE_EXTENSIONS);
  int third = version && strlen(version) > 9 && atof(version + 9) >= 3.0;
  int arm = extensions && strstr(extensions, "cl_arm_integer_dot_product_accumulate_int8") != NULL;
  clGetDeviceInfo(device, 0x4000, sizeof major, &major, NULL);
  clGetDeviceInfo(device, 0x4001, sizeof minor, &minor, NULL);
  int nvidia = extensions && strstr(extensions, "cl_nv_device_attribute_query") != NULL &&
               (major > 6 || (major == 6 && minor >= 1));
  free(version);
  free(extensions);
  return every[features && third][arm ? 1 : nvidia ? 2 : 0];
}
