// A sum split over work-items, finished by a second kernel

// 16 x 1 x 1 groups of 64 x 1 x 1
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void sum_all_partial_(
    __global const float *restrict xs_,
    __global float *restrict partial_)
{
  const int gid0 = get_global_id(0);
  float acc_ = 0.0f;
  for (int i_x = 0; i_x < 64; ++i_x) {
    acc_ = acc_ + xs_[i_x * 1024 + gid0];
  }
  partial_[gid0] = acc_;
}

// 1 x 1 x 1 groups of 1 x 1 x 1
__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void sum_all_(
    __global const float *restrict partial_,
    __global float *restrict out_)
{
  float acc_ = 0.0f;
  for (int i_x = 0; i_x < 1024; ++i_x) {
    acc_ = acc_ + partial_[i_x];
  }
  out_[0] = acc_;
}
