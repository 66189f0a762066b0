"""The macro by which a kernel's text says how many work-items form a sub-group."""

# Who does not run in lock-step by itself is told; Arm's compiler has no attribute for it.
SUB_GROUP = """
#if defined(__NV_CL_C_VERSION) || defined(cl_arm_matrix_multiply)
#define SUB_GROUP_OF(lanes)
#else
#define SUB_GROUP_OF(lanes) __attribute__((intel_reqd_sub_group_size(lanes)))
#endif
""".strip()
