// The classic tiled matrix product, out = a b, written by hand: tiles of 64 × 128, chunks of 16,
// 16 × 8 work-items with 8 × 8 results each in float4 groups interleaved over the work-items.
// Sizes M, N, K are macros, multiples of the tile.
#define BM 64
#define BN 128
#define BK 16

__attribute__((reqd_work_group_size(16, 8, 1)))
__kernel void matmul_by_hand(__global const float *restrict a, __global const float *restrict b,
                             __global float *restrict out)
{
  __local float as[BK * BM] __attribute__((aligned(64)));
  __local float bs[BK * BN] __attribute__((aligned(64)));
  const int tx = get_local_id(0), ty = get_local_id(1), t = ty * 16 + tx;
  const int n0 = get_group_id(0) * BN, m0 = get_group_id(1) * BM;
  float4 acc[8][2];
#pragma unroll
  for (int i = 0; i < 8; ++i) { acc[i][0] = (float4)(0); acc[i][1] = (float4)(0); }
  for (int k0 = 0; k0 < K; k0 += BK) {
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int r = 0; r < BK * BN / 4 / 128; ++r) {
      const int e = t + r * 128, k = e / (BN / 4), n = e % (BN / 4) * 4;
      *(__local float4 *)&bs[k * BN + n] = *(const __global float4 *)&b[(k0 + k) * N + n0 + n];
    }
#pragma unroll
    for (int r = 0; r < BK * BM / 4 / 128; ++r) {
      const int e = t + r * 128, m = e / (BK / 4), k = e % (BK / 4) * 4;
      const float4 x = *(const __global float4 *)&a[(m0 + m) * K + k0 + k];
      as[k * BM + m] = x.s0;
      as[(k + 1) * BM + m] = x.s1;
      as[(k + 2) * BM + m] = x.s2;
      as[(k + 3) * BM + m] = x.s3;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float4 b0 = *(__local float4 *)&bs[k * BN + tx * 4];
      const float4 b1 = *(__local float4 *)&bs[k * BN + tx * 4 + 64];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float x = as[k * BM + ty + i * 8];
        acc[i][0] = fma((float4)(x), b0, acc[i][0]);
        acc[i][1] = fma((float4)(x), b1, acc[i][1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    *(__global float4 *)&out[(m0 + ty + i * 8) * N + n0 + tx * 4] = acc[i][0];
    *(__global float4 *)&out[(m0 + ty + i * 8) * N + n0 + tx * 4 + 64] = acc[i][1];
  }
}
