// A 3 x 3 convolution for a CPU: 7 pixels x 16 output channels in registers, weights in lane order

// 1 x 1 x 1 groups of 2 x 1 x 1
__attribute__((reqd_work_group_size(2, 1, 1)))
__kernel void convolution_packed_(
    __global const float *restrict weights_,
    __global float *restrict packed_)
{
  const int gid0 = get_global_id(0);
  for (int i_dy = 0; i_dy < 3; ++i_dy) {
    const int weights_at = gid0 * 1152 + i_dy * 24;
    const int packed_at = gid0 * 1152 + i_dy * 384;
    for (int i_dx = 0; i_dx < 3; ++i_dx) {
      const int weights_at2 = i_dx * 8 + weights_at;
      const int packed_at2 = i_dx * 128 + packed_at;
      for (int i_c = 0; i_c < 8; ++i_c) {
        const int packed_at3 = i_c * 16 + packed_at2;
        for (int i_m = 0; i_m < 16; ++i_m) {
          packed_[i_m + packed_at3] = weights_[i_m * 72 + i_c + weights_at2];
        }
      }
    }
  }
}

// 1 x 2 x 1 groups of 16 x 4 x 1
__attribute__((reqd_work_group_size(16, 4, 1)))
__kernel void convolution_padded_(
    __global const float *restrict image_,
    __global float *restrict padded_)
{
  const int gid0 = get_global_id(0);
  const int gid1 = get_global_id(1);
  const int image_base = gid1 * 112 + gid0 * 8;
  const int padded_base = gid1 * 128 + gid0 * 8;
  for (int i_x = 0; i_x < 8; ++i_x) {
    float image_0 = (gid0 >= 1 && gid1 >= 1 && gid0 < 15 && gid1 < 7 ? image_[i_x + image_base - 120] : 0.0f);
    padded_[i_x + padded_base] = image_0;
  }
}

// 1 x 1 x 1 groups of 2 x 6 x 1
__attribute__((reqd_work_group_size(2, 6, 1)))
__kernel void convolution_(
    __global const float *restrict packed_,
    __global const float *restrict padded_,
    __global float *restrict out_)
{
  const int gid0 = get_global_id(0);
  const int gid1 = get_global_id(1);
  const int out_base = gid1 * 448 + gid0 * 16;
  for (int i_strip = 0; i_strip < 2; ++i_strip) {
    const int padded_at = gid1 * 128 + i_strip * 56;
    const int out_at = i_strip * 224 + out_base;
    float16 acc_0 = (float16)(0.0f), acc_1 = (float16)(0.0f), acc_2 = (float16)(0.0f), acc_3 = (float16)(0.0f);
    float16 acc_4 = (float16)(0.0f), acc_5 = (float16)(0.0f), acc_6 = (float16)(0.0f);
    for (int i_line = 0; i_line < 3; ++i_line) {
      const int packed_at = gid0 * 1152 + i_line * 384;
      const int padded_at2 = i_line * 128 + padded_at;
      for (int i_pixels = 0; i_pixels < 3; ++i_pixels) {
        const int packed_at2 = i_pixels * 128 + packed_at;
        const int padded_at3 = i_pixels * 8 + padded_at2;
        for (int i_column = 0; i_column < 8; ++i_column) {
          float16 packed_0 = *(const __global float16 *)&packed_[i_column * 16 + packed_at2];
          acc_0 = fma((float16)(padded_[i_column + padded_at3]), packed_0, acc_0);
          acc_1 = fma((float16)(padded_[i_column + padded_at3 + 8]), packed_0, acc_1);
          acc_2 = fma((float16)(padded_[i_column + padded_at3 + 16]), packed_0, acc_2);
          acc_3 = fma((float16)(padded_[i_column + padded_at3 + 24]), packed_0, acc_3);
          acc_4 = fma((float16)(padded_[i_column + padded_at3 + 32]), packed_0, acc_4);
          acc_5 = fma((float16)(padded_[i_column + padded_at3 + 40]), packed_0, acc_5);
          acc_6 = fma((float16)(padded_[i_column + padded_at3 + 48]), packed_0, acc_6);
        }
      }
    }
    *(__global float16 *)&out_[out_at] = acc_0;
    *(__global float16 *)&out_[out_at + 32] = acc_1;
    *(__global float16 *)&out_[out_at + 64] = acc_2;
    *(__global float16 *)&out_[out_at + 96] = acc_3;
    *(__global float16 *)&out_[out_at + 128] = acc_4;
    *(__global float16 *)&out_[out_at + 160] = acc_5;
    *(__global float16 *)&out_[out_at + 192] = acc_6;
  }
}
