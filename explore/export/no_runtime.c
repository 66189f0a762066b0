/* Tells what to do where the OpenCL loader finds no platform, and ends the program. */
static void no_runtime(const char *program, int error) {
  const char *found = getenv("VIRTUAL_ENV"), *env = found ? found : "ENV";
  fprintf(stderr,
          "finding platforms: OpenCL error %d: the loader knows of no runtime. One that pip "
          "installed%s is named so:\n"
          "  LD_LIBRARY_PATH=%s/lib OCL_ICD_FILENAMES=%s/lib/libintelocl.so "
          "OCL_ICD_VENDORS=%s/lib/libintelocl.so %s\n",
          error, found ? "" : " in the Python environment ENV", env, env, env, program);
  exit(1);
}
