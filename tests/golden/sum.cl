// A sum split over work-items, finished by a second kernel

// 16 x 1 x 1 groups of 64 x 1 x 1
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void sum_all_partial(
    __global const float *restrict xs,
    __global float *restrict partial)
{
  const int gid0 = get_global_id(0);
  float acc = 0.0f;
  for (int i_x = 0; i_x < 64; ++i_x) {
    acc = acc + xs[i_x * 1024 + gid0];
  }
  partial[gid0] = acc;
}

// 1 x 1 x 1 groups of 1 x 1 x 1
__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void sum_all(
    __global const float *restrict partial,
    __global float *restrict out)
{
  float acc = 0.0f;
  for (int i_x = 0; i_x < 1024; ++i_x) {
    acc = acc + partial[i_x];
  }
  out[0] = acc;
}
