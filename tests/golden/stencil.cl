// LIFT's Listings 1 and 2: a three-point stencil, one work-item a result

// 64 x 1 x 1 groups of 64 x 1 x 1
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void stencil_(
    __global const float *restrict xs_,
    __global float *restrict out_)
{
  const int gid0 = get_global_id(0);
  float acc_ = 0.0f;
  #pragma unroll
  for (int i_x = 0; i_x < 3; ++i_x) {
    acc_ = acc_ + xs_[min(4095, max(0, gid0 + i_x - 1))];
  }
  out_[gid0] = acc_;
}
