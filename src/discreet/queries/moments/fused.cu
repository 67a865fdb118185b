// Kernels of fused.py, which says what they compute, how they are launched, and why their sums and floats are bounded.
//
// Constants that are set when this is compiled:
//   D, K             columns and components
//   SECOND           second moments: 0 none, 1 their sum over columns, 2 the diagonal, 3 the upper triangle
//   OWN              whether rows are in each component's own coordinates, clipped to a radius
//   DIAGONAL         whether P is diagonal, so that only its diagonal is passed
//   BOX              whether rows are in the units of a box, else in the unit ball
//   FROM, TO         which of the sums of a component are computed ("soft")
//   LANE_ROWS        rows that a lane has at a time ("soft")
//   AHEAD            whether a warp loads its next rows while it computes ("soft")
//   WARPS            warps of a block
//   RESIDENT         blocks that a multiprocessor should have room for ("soft")
//   WIDTH, SPLIT     numbers of a row of a component with padding, and columns of z that come first ("many")
//
// The public numbers, one after the other: P as [entries][K], o as [D][K], then K logarithms l ("soft", "shares") or
// the means as [K][D] and the metric ("hard"), then of a box low, high, center, half-width and its inverse, [D] each, and
// 1/√d; last the square of the radius, and the cap.

#define THREADS (32 * WARPS)
#define TRIANGLE (D * (D + 1) / 2)
#define ENTRIES (DIAGONAL ? D : TRIANGLE)
#define SECONDS (SECOND == 3 ? TRIANGLE : SECOND == 2 ? D : SECOND)
#define SUMS (1 + D + SECONDS)
#define STRIDE (D | 1)  // of rows in shared memory: an odd one, so that neighbouring rows lie in other banks

// The number of a warp in its block, from one lane, so that the compiler knows that all lanes have the same and go the
// same way: else it guards every shuffle.
__device__ __forceinline__ int warp_number() { return __shfl_sync(~0u, (int)threadIdx.x / 32, 0); }

// One number of a row in the unit ball, as Box.to_unit computes it, to the same bits. The quotient is the correctly
// rounded one (fused.py): from the half-width and its correctly rounded reciprocal, without branches.
__device__ __forceinline__ double to_unit(double x, int column, const double* box) {
#if BOX
  const double low = box[column], high = box[D + column], center = box[2 * D + column], half = box[3 * D + column];
  const double inverse = box[4 * D + column];
  const double inside = x != x ? center : x < low ? low : x > high ? high : x;
  const double from = __dsub_rn(inside, center);
#ifdef HARD
  double t = __ddiv_rn(from, half);
#else
  double t = __dmul_rn(from, inverse);
  t = fma(fma(-half, t, from), inverse, t);
  t = fma(fma(-half, t, from), inverse, t);
#endif
  return __dmul_rn(t < -1.0 ? -1.0 : t > 1.0 ? 1.0 : t, box[5 * D]);
#else
  return x;
#endif
}

// 1/a for a from 1/2 to 64, 1/√a for normal a, and exp(x) for x from −700 to 1, off by at most 1.01u, 1.6u and 3u. They
// have no branches, so that the compiler can interleave rows; fused.py has the proofs.
__device__ __forceinline__ double reciprocal(double a) {
  float start;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(start) : "f"((float)a));
  double x = start;
  x = fma(x, fma(-a, x, 1.0), x);
  return fma(x, fma(-a, x, 1.0), x);
}
__device__ __forceinline__ double inverse_root(double a) {
  const int high = __double2hiint(a), even = ((high >> 20) - 1023) & ~1;  // a = m·2^even with m from 1 to 4
  const double m = __hiloint2double(high - (even << 20), __double2loint(a));
  float start;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(start) : "f"((float)m));
  double x = start;
  const double lacks = fma(-m * x, x, 1.0);
  x = fma(x * lacks, fma(0.375, lacks, 0.5), x);
  return __hiloint2double(__double2hiint(x) - (even << 19), __double2loint(x));
}
__device__ __forceinline__ double exponential(double x) {
  const double shift = 6755399441055744.0;  // 1.5·2^52: adding it rounds to a whole number, in the low bits
  const double rounded = fma(x, 1.4426950408889634, shift), whole = rounded - shift;
  const double r = fma(whole, -2.3190468138462996e-17, fma(whole, -0.6931471805599453, x)), r2 = r * r;
  double even = 1.0 / 479001600.0, odd = 1.0 / 6227020800.0;  // Taylor's series up to r^13
  odd = fma(odd, r2, 1.0 / 39916800.0);
  even = fma(even, r2, 1.0 / 3628800.0);
  odd = fma(odd, r2, 1.0 / 362880.0);
  even = fma(even, r2, 1.0 / 40320.0);
  odd = fma(odd, r2, 1.0 / 5040.0);
  even = fma(even, r2, 1.0 / 720.0);
  odd = fma(odd, r2, 1.0 / 120.0);
  even = fma(even, r2, 1.0 / 24.0);
  odd = fma(odd, r2, 1.0 / 6.0);
  even = fma(even, r2, 0.5);
  odd = fma(odd, r2, 1.0);
  even = fma(even, r2, 1.0);
  const double result = fma(odd, r, even);
  return __hiloint2double(__double2hiint(result) + (__double2loint(rounded) << 20), __double2loint(result));
}

// A warp loads COUNT rows from row `first` on, into registers; and puts them into shared memory, in the unit ball.
template <int COUNT>
struct Tile {
  static constexpr int CELLS = COUNT * D, EACH = (CELLS + 31) / 32;
  double held[EACH];
  __device__ __forceinline__ void fetch(const double* x, long long first, long long n, int lane) {
    const double* from = x + first * D;
    const long long left = (n - first) * D;
#pragma unroll
    for (int q = 0; q < EACH; q++) {
      const int cell = lane + 32 * q;
      held[q] = cell < CELLS && cell < left ? __ldcs(from + cell) : 0.0;
    }
  }
  __device__ __forceinline__ void place(double* rows, const double* box, int lane) const {
#pragma unroll
    for (int q = 0; q < EACH; q++) {
      const int cell = lane + 32 * q, column = cell % D;
      if (cell < CELLS) rows[cell / D * STRIDE + column] = to_unit(held[q], column, box);
    }
  }
};

#ifdef SOFT
// A lane has one component and LANE_ROWS rows at a time; the lanes of a row are beside each other.
#define GROUPS (32 / K)
#define ROWS (GROUPS * LANE_ROWS)
#define AT_ONCE 16  // sums that a block adds up at a time
#define ADD(a, x, y) { if ((a) >= FROM && (a) < TO) sums[(a) - FROM] = fma(x, y, sums[(a) - FROM]); }

// The sum, or the largest, over the K lanes of a row. Lane k has those of k, k + 1, … in the order of their powers of 2.
__device__ __forceinline__ int turn(int base, int k, int by) { return base + (k + by < K ? k + by : k + by - K); }
__device__ __forceinline__ double sum_over_components(double own, int base, int k) {
  double total = 0.0, run = own;
  int done = 0;
#pragma unroll
  for (int bit = 1; bit <= K; bit *= 2) {
    if (K & bit) {
      total = done ? total + __shfl_sync(~0u, run, turn(base, k, done)) : run;
      done += bit;
    }
    if (2 * bit <= K) run += __shfl_sync(~0u, run, turn(base, k, bit));
  }
  return total;
}
__device__ __forceinline__ float largest_over_components(float own, int base, int k) {
#pragma unroll
  for (int bit = 1; bit < K; bit *= 2) own = fmaxf(own, __shfl_sync(~0u, own, turn(base, k, bit)));
  return own;
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
soft(const double* __restrict__ x, long long n, const double* __restrict__ numbers, double* __restrict__ partial) {
  extern __shared__ double memory[];
  constexpr int PARAMETERS = (ENTRIES + D) * K, BOXED = BOX ? 5 * D + 1 : 0;
  double *table = memory, *box = table + PARAMETERS, *tiles = box + BOXED;
  const int tid = threadIdx.x, lane = tid % 32, warp = warp_number();
  const int group = lane < GROUPS * K ? lane / K : GROUPS - 1, k = lane < GROUPS * K ? lane % K : K - 1;
  const int base = group * K;
  for (int i = tid; i < PARAMETERS; i += THREADS) table[i] = numbers[i];
  for (int i = tid; i < BOXED; i += THREADS) box[i] = numbers[PARAMETERS + K + i];
  const double constant = numbers[PARAMETERS + k];
  const double radius2 = numbers[PARAMETERS + K + BOXED], cap = numbers[PARAMETERS + K + BOXED + 1];
  __syncthreads();
  double sums[TO - FROM];
#pragma unroll
  for (int a = 0; a < TO - FROM; a++) sums[a] = 0.0;
  double* rows = tiles + warp * ROWS * STRIDE;
  const long long stride = (long long)gridDim.x * WARPS * ROWS;
  long long first = ((long long)blockIdx.x * WARPS + warp) * ROWS;
  Tile<ROWS> tile;
  if (AHEAD && first < n) tile.fetch(x, first, n, lane);
  for (; first < n; first += stride) {
    if (!AHEAD) tile.fetch(x, first, n, lane);
    __syncwarp();  // all lanes have read the tile before
    tile.place(rows, box, lane);
    __syncwarp();
    if (AHEAD && first + stride < n) tile.fetch(x, first + stride, n, lane);
    double z[LANE_ROWS][D], squared[LANE_ROWS], share[LANE_ROWS], whole[LANE_ROWS];
    float largest[LANE_ROWS];
#pragma unroll
    for (int i = 0; i < D; i++) {
#pragma unroll
      for (int r = 0; r < LANE_ROWS; r++) z[r][i] = -table[(ENTRIES + i) * K + k];
    }
#pragma unroll
    for (int j = 0; j < D; j++) {  // column after column, so that the sums of all z go on side by side
      double y[LANE_ROWS];
#pragma unroll
      for (int r = 0; r < LANE_ROWS; r++) y[r] = rows[(r * GROUPS + group) * STRIDE + j];
#pragma unroll
      for (int i = j; i < (DIAGONAL ? j + 1 : D); i++) {
        const double factor = table[(DIAGONAL ? i : i * (i + 1) / 2 + j) * K + k];
#pragma unroll
        for (int r = 0; r < LANE_ROWS; r++) z[r][i] = fma(factor, y[r], z[r][i]);
      }
    }
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
      double even = 0.0, odd = 0.0;
#pragma unroll
      for (int i = 0; i < D; i += 2) even = fma(z[r][i], z[r][i], even);
#pragma unroll
      for (int i = 1; i < D; i += 2) odd = fma(z[r][i], z[r][i], odd);
      squared[r] = even + odd;
    }
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
      share[r] = fma(-0.5, squared[r] < cap ? squared[r] : cap, constant);
      largest[r] = largest_over_components((float)share[r], base, k);
    }
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
      const double logit = share[r] - (double)largest[r];
      share[r] = exponential(logit > -700.0 ? logit : -700.0);
      whole[r] = sum_over_components(share[r], base, k);
    }
#pragma unroll
    for (int r = 0; r < LANE_ROWS; r++) {
      const double gamma = first + r * GROUPS + group < n ? share[r] * reciprocal(whole[r]) : 0.0;
      double once = gamma, twice = gamma;
      if (OWN) {
        const double shrink = inverse_root(squared[r] > radius2 ? squared[r] : radius2);
        once = gamma * shrink;
        twice = once * shrink;
      }
      double own[D];
#pragma unroll
      for (int i = 0; i < D; i++) own[i] = OWN ? z[r][i] : rows[(r * GROUPS + group) * STRIDE + i];
      ADD(0, gamma, 1.0)
#pragma unroll
      for (int i = 0; i < D; i++) {
        ADD(1 + i, once, own[i])
        const double part = twice * own[i];
        if (SECOND == 1) ADD(1 + D, part, own[i])
        if (SECOND == 2) ADD(1 + D + i, part, own[i])
        if (SECOND == 3) {
#pragma unroll
          for (int j = i; j < D; j++) ADD(1 + D + i * (2 * D - i + 1) / 2 + j - i, part, own[j])
        }
      }
    }
  }
  double* shared = tiles;  // [AT_ONCE][THREADS]
#pragma unroll
  for (int start = 0; start < TO - FROM; start += AT_ONCE) {
    __syncthreads();
#pragma unroll
    for (int a = start; a < start + AT_ONCE && a < TO - FROM; a++) shared[(a - start) * THREADS + tid] = sums[a];
    __syncthreads();
    for (int q = tid; q < AT_ONCE * K; q += THREADS) {
      const int a = q / K, own = q % K;
      if (start + a < TO - FROM) {
        double total = 0.0;
#pragma unroll 8
        for (int other = 0; other < WARPS * GROUPS; other++)
          total += shared[a * THREADS + other / GROUPS * 32 + other % GROUPS * K + own];
        partial[((long long)blockIdx.x * K + own) * (TO - FROM) + start + a] = total;
      }
    }
  }
}
#endif

#ifdef HARD
// A lane has a row and finds its nearest mean; then the warp adds its rows one after the other, a lane for each sum.
extern "C" __global__ void __launch_bounds__(THREADS)
hard(const double* __restrict__ x, long long n, const double* __restrict__ numbers, double* __restrict__ partial) {
  extern __shared__ double memory[];
  constexpr int PARAMETERS = (ENTRIES + D) * K + K * D + D, BOXED = BOX ? 5 * D + 1 : 0, OWN_STRIDE = D + 1 | 1;
  double *table = memory, *box = table + PARAMETERS, *all_sums = box + BOXED;
  double* all_rows = all_sums + WARPS * K * SUMS;  // [WARPS][32][OWN_STRIDE]
  const double *means = table + (ENTRIES + D) * K, *metric = means + K * D;
  const int tid = threadIdx.x, lane = tid % 32, warp = warp_number();
  for (int i = tid; i < PARAMETERS + BOXED; i += THREADS) table[i] = numbers[i];
  for (int i = tid; i < WARPS * K * SUMS; i += THREADS) all_sums[i] = 0.0;
  const double radius2 = numbers[PARAMETERS + BOXED];
  __syncthreads();
  double *sums = all_sums + warp * K * SUMS, *rows = all_rows + warp * 32 * OWN_STRIDE;
  int* labels = reinterpret_cast<int*>(all_rows + WARPS * 32 * OWN_STRIDE) + warp * 32;
  const long long stride = (long long)gridDim.x * WARPS * 32;
  for (long long first = ((long long)blockIdx.x * WARPS + warp) * 32; first < n; first += stride) {
    const int count = n - first < 32 ? (int)(n - first) : 32;
    __syncwarp();
    for (int cell = lane; cell < 32 * D; cell += 32) {
      const int row = cell / D, column = cell % D;
      const double value = row < count ? __ldcs(x + first * D + cell) : 0.0;
      rows[row * OWN_STRIDE + column] = to_unit(value, column, box);
    }
    __syncwarp();
    double* mine = rows + lane * OWN_STRIDE;
    double y[D];
#pragma unroll
    for (int j = 0; j < D; j++) y[j] = __dmul_rn(mine[j], metric[j]);
    int label = 0;
    double least = __longlong_as_double(0x7ff0000000000000);
    for (int k = 0; k < K; k++) {  // the same roundings as in the array form: nothing is fused
      double distance = 0.0;
#pragma unroll
      for (int j = 0; j < D; j++) {
        const double difference = __dsub_rn(y[j], means[k * D + j]);
        distance = __dadd_rn(distance, __dmul_rn(difference, difference));
      }
      if (distance < least) {
        least = distance;
        label = k;
      }
    }
    double squared = 0.0;
    if (OWN) {
#pragma unroll
      for (int j = 0; j < D; j++) y[j] = mine[j];
#pragma unroll
      for (int i = D - 1; i >= 0; i--) {
        double z = -table[(ENTRIES + i) * K + label];
#pragma unroll
        for (int j = DIAGONAL ? i : 0; j <= i; j++)
          z = fma(table[(DIAGONAL ? i : i * (i + 1) / 2 + j) * K + label], y[j], z);
        y[i] = z;
        squared = fma(z, z, squared);
      }
      const double shrink = inverse_root(squared > radius2 ? squared : radius2);
#pragma unroll
      for (int j = 0; j < D; j++) mine[j] = y[j] * shrink;
    }
    if (SECOND == 1) {
      double size = 0.0;
#pragma unroll
      for (int j = 0; j < D; j++) size = fma(mine[j], mine[j], size);
      mine[D] = size;
    }
    labels[lane] = label;
    __syncwarp();
    for (int a = lane; a < SUMS; a += 32) {
      int i = 0, j = a - 1 - D;  // which product it is, if it is one
      if (SECOND == 2) i = j;
      if (SECOND == 3)
        for (; i < D && j >= D - i; i++) j -= D - i;
      if (SECOND == 3) j += i;
      for (int row = 0; row < count; row++) {
        const double* own = rows + row * OWN_STRIDE;
        const double term = a == 0 ? 1.0 : a <= D ? own[a - 1] : SECOND == 1 ? own[D] : own[i] * own[j];
        sums[labels[row] * SUMS + a] += term;
      }
    }
  }
  __syncthreads();
  for (int q = tid; q < K * SUMS; q += THREADS) {
    double total = 0.0;
    for (int other = 0; other < WARPS; other++) total += all_sums[other * K * SUMS + q];
    partial[(long long)blockIdx.x * K * SUMS + q] = total;
  }
}
#endif

#ifdef MANY
// Rows in the unit ball with a 1 before them and zeros after them, WIDTH numbers each; rows from n on are zeros.
extern "C" __global__ void widen(const double* __restrict__ x, long long n, long long padded,
                                 const double* __restrict__ box, double* __restrict__ wide) {
  const long long step = (long long)gridDim.x * 8;
  for (long long row = (long long)blockIdx.x * 8 + warp_number(); row < padded; row += step)
    for (int cell = threadIdx.x % 32; cell < WIDTH; cell += 32) {
      double value = cell == 0 ? 1.0 : 0.0;
      if (row < n && cell > 0 && cell <= D) value = to_unit(x[row * D + cell - 1], cell - 1, box);
      wide[row * WIDTH + cell] = row < n ? value : 0.0;
    }
}
// A warp has a row: from z, its first SPLIT columns as [padded][K][SPLIT] and then the others, it makes √γ·y_k and √γ,
// [K][padded][WIDTH], with zeros for rows from n on.
extern "C" __global__ void __launch_bounds__(256)
shares(const double* __restrict__ z, long long n, long long padded, const double* __restrict__ wide,
       const double* __restrict__ numbers, double* __restrict__ result) {
  constexpr int EACH = (D + 31) / 32;
  constexpr bool KEPT = K * EACH <= 48;  // whether a row's z stays in registers
  constexpr int UNROLLED = KEPT ? K : 1;
  double kept[KEPT ? K * EACH : 1];
  const int lane = threadIdx.x % 32;
  const double constant = numbers[lane < K ? lane : K - 1], radius2 = numbers[K], cap = numbers[K + 1];
  const double* others = z + padded * K * SPLIT;
  const long long step = (long long)gridDim.x * 8;
  for (long long row = (long long)blockIdx.x * 8 + warp_number(); row < padded; row += step) {
    const double *here = z + row * K * SPLIT, *there = others + row * K * (D - SPLIT);
    double squared = 0.0;
#pragma unroll UNROLLED
    for (int k = 0; k < K; k++) {
      double part = 0.0;
#pragma unroll
      for (int q = 0; q < EACH; q++) {
        const int i = lane + 32 * q;
        const double value = i < SPLIT ? here[k * SPLIT + i] : i < D ? there[k * (D - SPLIT) + i - SPLIT] : 0.0;
        if (KEPT) kept[KEPT ? k * EACH + q : 0] = value;
        part = fma(value, value, part);
      }
#pragma unroll
      for (int half = 16; half > 0; half /= 2) part += __shfl_xor_sync(~0u, part, half);
      if (lane == k) squared = part;
    }
    const double logit = lane < K ? fma(-0.5, squared < cap ? squared : cap, constant) : -1e300;
    double largest = logit;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) largest = fmax(largest, __shfl_xor_sync(~0u, largest, half));
    const double apart = logit - largest;
    double share = lane < K ? exponential(apart > -700.0 ? apart : -700.0) : 0.0, whole = share;
#pragma unroll
    for (int half = 16; half > 0; half /= 2) whole += __shfl_xor_sync(~0u, whole, half);
    const double root = row < n ? sqrt(share * reciprocal(whole)) : 0.0;
    const double factor = OWN ? root * inverse_root(squared > radius2 ? squared : radius2) : root;
#pragma unroll UNROLLED
    for (int k = 0; k < K; k++) {
      double* own = result + (k * padded + row) * WIDTH;
      const double by = __shfl_sync(~0u, factor, k), weight = __shfl_sync(~0u, root, k);
#pragma unroll
      for (int q = 0; q <= EACH; q++) {
        const int i = lane + 32 * q;
        double value = i == D ? weight : 0.0;
        if (i < D && !OWN) value = by * wide[row * WIDTH + 1 + i];
        if (i < D && OWN && KEPT) value = by * kept[KEPT ? k * EACH + q % EACH : 0];
        if (i < D && OWN && !KEPT) value = by * (i < SPLIT ? here[k * SPLIT + i] : there[k * (D - SPLIT) + i - SPLIT]);
        if (i < WIDTH) own[i] = value;
      }
    }
  }
}
#endif
