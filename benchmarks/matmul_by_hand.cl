// The classic tiled matrix product, out = a b, written by hand: tiles of 64 × 128, chunks of 16,
// 16 × 8 work-items with 8 × 8 results each in float4 groups interleaved over the work-items.
// Sizes M, N, K are macros, multiples of the tile. With HALVES = 2 the local tiles have two halves:
// the next chunk is loaded into registers while one half is multiplied, and then kept in the other.
#define BM 64
#define BN 128
#define BK 16

#define LOAD(k0)                                                                        \
  _Pragma("unroll") for (int r = 0; r < 4; ++r) {                                       \
    const int e = t + r * 128, k = e / (BN / 4), n = e % (BN / 4) * 4;                  \
    next_b[r] = *(const __global float4 *)&b[((k0) + k) * N + n0 + n];                  \
  }                                                                                     \
  _Pragma("unroll") for (int r = 0; r < 2; ++r) {                                       \
    const int e = t + r * 128, m = e / (BK / 4), k = e % (BK / 4) * 4;                  \
    next_a[r] = *(const __global float4 *)&a[(m0 + m) * K + (k0) + k];                  \
  }

#define KEEP(which)                                                                      \
  _Pragma("unroll") for (int r = 0; r < 4; ++r) {                                       \
    const int e = t + r * 128, k = e / (BN / 4), n = e % (BN / 4) * 4;                  \
    *(__local float4 *)&bs[which][k * BN + n] = next_b[r];                               \
  }                                                                                     \
  _Pragma("unroll") for (int r = 0; r < 2; ++r) {                                       \
    const int e = t + r * 128, m = e / (BK / 4), k = e % (BK / 4) * 4;                  \
    as[which][k * BM + m] = next_a[r].s0;                                                \
    as[which][(k + 1) * BM + m] = next_a[r].s1;                                          \
    as[which][(k + 2) * BM + m] = next_a[r].s2;                                          \
    as[which][(k + 3) * BM + m] = next_a[r].s3;                                          \
  }

#define MULTIPLY(which)                                                                  \
  _Pragma("unroll") for (int k = 0; k < BK; ++k) {                                      \
    const float4 b0 = *(__local float4 *)&bs[which][k * BN + tx * 4];                    \
    const float4 b1 = *(__local float4 *)&bs[which][k * BN + tx * 4 + 64];               \
    _Pragma("unroll") for (int i = 0; i < 8; ++i) {                                     \
      const float x = as[which][k * BM + ty + i * 8];                                    \
      acc[i][0] = fma((float4)(x), b0, acc[i][0]);                                      \
      acc[i][1] = fma((float4)(x), b1, acc[i][1]);                                      \
    }                                                                                   \
  }

__attribute__((reqd_work_group_size(16, 8, 1)))
__kernel void matmul_by_hand(__global const float *restrict a, __global const float *restrict b,
                             __global float *restrict out)
{
  __local float as[HALVES][BK * BM] __attribute__((aligned(64)));
  __local float bs[HALVES][BK * BN] __attribute__((aligned(64)));
  const int tx = get_local_id(0), ty = get_local_id(1), t = ty * 16 + tx;
  const int n0 = get_group_id(0) * BN, m0 = get_group_id(1) * BM;
  float4 acc[8][2], next_b[4], next_a[2];
#pragma unroll
  for (int i = 0; i < 8; ++i) { acc[i][0] = (float4)(0); acc[i][1] = (float4)(0); }
#if HALVES == 1
  for (int k0 = 0; k0 < K; k0 += BK) {
    barrier(CLK_LOCAL_MEM_FENCE);
    LOAD(k0)
    KEEP(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    MULTIPLY(0)
  }
#else
  LOAD(0)
  KEEP(0)
  for (int k0 = 0; k0 < K; k0 += BK) {
    const int which = k0 / BK % 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k0 + BK < K) { LOAD(k0 + BK) }
    MULTIPLY(which)
    if (k0 + BK < K) { KEEP(1 - which) }
  }
#endif
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    *(__global float4 *)&out[(m0 + ty + i * 8) * N + n0 + tx * 4] = acc[i][0];
    *(__global float4 *)&out[(m0 + ty + i * 8) * N + n0 + tx * 4 + 64] = acc[i][1];
  }
}
