// LIFT's measured variant: a work-group shares a tile of the input and a group of kernels

// 4 x 2 x 1 groups of 10 x 10 x 1
__attribute__((reqd_work_group_size(10, 10, 1)))
__kernel void convolve_(
    __global const float *restrict weights_,
    __global const float *restrict image_,
    __global float *restrict out_)
{
  __local float image_tile_[100] __attribute__((aligned(64))); // 10 x 10
  __local float weights_tile_[36] __attribute__((aligned(64))); // 4 x 9
  const int lid0 = get_local_id(0);
  const int lid1 = get_local_id(1);
  const int grp0 = get_group_id(0);
  const int grp1 = get_group_id(1);
  const int image_tile_base = lid1 * 10 + lid0;
  const int weights_base = lid1 * 9 + lid0;
  const int out_base = grp1 * 2048 + grp0 * 512 + lid1 * 32 + lid0 * 4;
  float image_0 = (grp0 * 8 + lid0 >= 1 && grp1 * 8 + lid1 >= 1 && grp0 * 8 + lid0 < 33 && grp1 * 8 + lid1 < 17 ? image_[grp1 * 256 + lid1 * 32 + grp0 * 8 + lid0 - 33] : 0.0f);
  image_tile_[image_tile_base] = image_0;
  for (int i_group = 0; i_group < 2; ++i_group) {
    const int out_at = i_group * 256 + out_base;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid1 < 4) {
      if (lid0 < 9) {
        weights_tile_[weights_base] = weights_[i_group * 36 + weights_base];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid1 < 8) {
      if (lid0 < 8) {
        for (int i_kernel = 0; i_kernel < 4; ++i_kernel) {
          float acc_ = 0.0f;
          #pragma unroll
          for (int i_x = 0; i_x < 9; ++i_x) {
            acc_ = fma(image_tile_[i_x / 3 * 7 + i_x + image_tile_base], weights_tile_[i_kernel * 9 + i_x], acc_);
          }
          out_[i_kernel + out_at] = acc_;
        }
      }
    }
  }
}
