// C = transpose(A) B: tiles in local memory loaded one step ahead, 8 x 8 registers a work-item

// 2 x 2 x 1 groups of 8 x 16 x 1
__attribute__((reqd_work_group_size(8, 16, 1)))
__kernel void matmul_(
    __global const float *restrict a_,
    __global const float *restrict b_,
    __global float *restrict out_)
{
  __local float a_tile_[2048] __attribute__((aligned(64))); // 2 x 8 x 128
  __local float b_tile_[1024] __attribute__((aligned(64))); // 2 x 8 x 64
  const int lid0 = get_local_id(0);
  const int lid1 = get_local_id(1);
  const int grp0 = get_group_id(0);
  const int grp1 = get_group_id(1);
  const int a_base = lid1 / 4 * 128 + grp1 * 128 + lid1 * 32 + lid0 * 4;
  const int a_tile_base = lid1 * 32 + lid0 * 4;
  const int b_base = lid1 / 2 * 64 + grp0 * 64 + lid1 * 32 + lid0 * 4;
  const int out_base = grp1 * 16384 + lid1 * 1024 + grp0 * 64 + lid0 * 8;
  // acc_0_0 to acc_7_1: 8 x 2 of float4
  float4 acc_0_0 = (float4)(0.0f), acc_0_1 = (float4)(0.0f), acc_1_0 = (float4)(0.0f), acc_1_1 = (float4)(0.0f);
  float4 acc_2_0 = (float4)(0.0f), acc_2_1 = (float4)(0.0f), acc_3_0 = (float4)(0.0f), acc_3_1 = (float4)(0.0f);
  float4 acc_4_0 = (float4)(0.0f), acc_4_1 = (float4)(0.0f), acc_5_0 = (float4)(0.0f), acc_5_1 = (float4)(0.0f);
  float4 acc_6_0 = (float4)(0.0f), acc_6_1 = (float4)(0.0f), acc_7_0 = (float4)(0.0f), acc_7_1 = (float4)(0.0f);
  for (int i_part = 0; i_part < 2; ++i_part) {
    *(__local float4 *)(a_tile_ + i_part * 512 + a_tile_base) = *(const __global float4 *)&a_[i_part * 1024 + a_base];
  }
  *(__local float4 *)(b_tile_ + a_tile_base) = *(const __global float4 *)&b_[b_base];
  for (int i_a_chunk = 0; i_a_chunk < 8; ++i_a_chunk) {
    const int i_a_chunk_mod_2 = i_a_chunk % 2;
    const int part = (i_a_chunk + 1) % 2;
    const int a_at = i_a_chunk * 2048 + a_base;
    const int a_tile_at = i_a_chunk_mod_2 * 1024 + lid1 * 8;
    const int b_tile_at = i_a_chunk_mod_2 * 512 + lid0 * 8;
    const int a_tile_at3 = part * 1024 + a_tile_base;
    float4 next_a_0, next_a_1;
    float4 next_b_0;
    if (i_a_chunk < 7) {
      next_a_0 = *(const __global float4 *)&a_[a_at + 2048];
      next_a_1 = *(const __global float4 *)&a_[a_at + 3072];
      next_b_0 = *(const __global float4 *)&b_[i_a_chunk * 1024 + b_base + 1024];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int i_a_k = 0; i_a_k < 8; ++i_a_k) {
      const int a_tile_at2 = i_a_k * 128 + a_tile_at;
      const int b_tile_at2 = i_a_k * 64 + b_tile_at;
      float4 a_0 = *(__local float4 *)(a_tile_ + a_tile_at2);
      float4 a_1 = *(__local float4 *)(a_tile_ + a_tile_at2 + 4);
      float4 b_0 = *(__local float4 *)(b_tile_ + b_tile_at2);
      float4 b_1 = *(__local float4 *)(b_tile_ + b_tile_at2 + 4);
      acc_0_0 = fma((float4)(a_0.s0), b_0, acc_0_0);
      acc_0_1 = fma((float4)(a_0.s0), b_1, acc_0_1);
      acc_1_0 = fma((float4)(a_0.s1), b_0, acc_1_0);
      acc_1_1 = fma((float4)(a_0.s1), b_1, acc_1_1);
      acc_2_0 = fma((float4)(a_0.s2), b_0, acc_2_0);
      acc_2_1 = fma((float4)(a_0.s2), b_1, acc_2_1);
      acc_3_0 = fma((float4)(a_0.s3), b_0, acc_3_0);
      acc_3_1 = fma((float4)(a_0.s3), b_1, acc_3_1);
      acc_4_0 = fma((float4)(a_1.s0), b_0, acc_4_0);
      acc_4_1 = fma((float4)(a_1.s0), b_1, acc_4_1);
      acc_5_0 = fma((float4)(a_1.s1), b_0, acc_5_0);
      acc_5_1 = fma((float4)(a_1.s1), b_1, acc_5_1);
      acc_6_0 = fma((float4)(a_1.s2), b_0, acc_6_0);
      acc_6_1 = fma((float4)(a_1.s2), b_1, acc_6_1);
      acc_7_0 = fma((float4)(a_1.s3), b_0, acc_7_0);
      acc_7_1 = fma((float4)(a_1.s3), b_1, acc_7_1);
    }
    if (i_a_chunk < 7) {
      *(__local float4 *)(a_tile_ + a_tile_at3) = next_a_0;
      *(__local float4 *)(a_tile_ + a_tile_at3 + 512) = next_a_1;
      *(__local float4 *)(b_tile_ + part * 512 + a_tile_base) = next_b_0;
    }
  }
  *(__global float4 *)&out_[out_base] = acc_0_0;
  *(__global float4 *)&out_[out_base + 4] = acc_0_1;
  *(__global float4 *)&out_[out_base + 128] = acc_1_0;
  *(__global float4 *)&out_[out_base + 132] = acc_1_1;
  *(__global float4 *)&out_[out_base + 256] = acc_2_0;
  *(__global float4 *)&out_[out_base + 260] = acc_2_1;
  *(__global float4 *)&out_[out_base + 384] = acc_3_0;
  *(__global float4 *)&out_[out_base + 388] = acc_3_1;
  *(__global float4 *)&out_[out_base + 512] = acc_4_0;
  *(__global float4 *)&out_[out_base + 516] = acc_4_1;
  *(__global float4 *)&out_[out_base + 640] = acc_5_0;
  *(__global float4 *)&out_[out_base + 644] = acc_5_1;
  *(__global float4 *)&out_[out_base + 768] = acc_6_0;
  *(__global float4 *)&out_[out_base + 772] = acc_6_1;
  *(__global float4 *)&out_[out_base + 896] = acc_7_0;
  *(__global float4 *)&out_[out_base + 900] = acc_7_1;
}
