/* STREAM's copy and triad, and read-only sums, as one would write them by hand in C:
 * OpenMP, the widest vectors of the machine, several independent sums, with and without
 * non-temporal stores. Built by measure_bandwidth.py with gcc -O3 -march=native -fopenmp.
 *
 * Each thread walks its own part of the arrays `reps` times; the time of the whole parallel
 * region is returned, so starting and joining the threads is inside, as in STREAM. */
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef double vec __attribute__((vector_size(WIDTH), aligned(WIDTH)));
#define LANES (WIDTH / 8)

static inline void stream_store(double *to, vec x) {
#if defined(__AVX512F__)
  _mm512_stream_pd(to, (__m512d)x);
#elif defined(__AVX__)
  _mm256_stream_pd(to, (__m256d)x);
#elif defined(__x86_64__)
  _mm_stream_pd(to, (__m128d)x);
#else
  *(vec *)to = x;
#endif
}

void touch(double *a, size_t n, double value) {
#pragma omp parallel
  {
    size_t each = n / omp_get_num_threads(), from = each * omp_get_thread_num();
    for (size_t i = from; i < from + each; i++) a[i] = value;
  }
}

/* One stream of 8 sums a thread. */
double read1(const double *a, size_t n, long reps, double *sum) {
  double total = 0, start = omp_get_wtime();
#pragma omp parallel reduction(+ : total)
  {
    size_t each = n / omp_get_num_threads() / (8 * LANES) * (8 * LANES);
    const double *mine = a + n / omp_get_num_threads() * omp_get_thread_num();
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
    for (long r = 0; r < reps; r++) {
      const vec *p = (const vec *)mine, *end = (const vec *)(mine + each);
      for (; p < end; p += 8) {
        s0 += p[0]; s1 += p[1]; s2 += p[2]; s3 += p[3];
        s4 += p[4]; s5 += p[5]; s6 += p[6]; s7 += p[7];
      }
      __asm__ volatile("" ::: "memory");
    }
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;
    for (int i = 0; i < LANES; i++) total += s0[i];
  }
  *sum = total;
  return omp_get_wtime() - start;
}

/* Four streams of 2 sums a thread. */
double read4(const double *a, size_t n, long reps, double *sum) {
  double total = 0, start = omp_get_wtime();
#pragma omp parallel reduction(+ : total)
  {
    size_t quarter = n / omp_get_num_threads() / 4 / (2 * LANES) * (2 * LANES);
    const double *mine = a + n / omp_get_num_threads() * omp_get_thread_num();
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
    for (long r = 0; r < reps; r++) {
      const vec *p = (const vec *)mine, *end = (const vec *)(mine + quarter);
      size_t step = quarter / LANES;
      for (; p < end; p += 2) {
        s0 += p[0]; s1 += p[1];
        s2 += p[step]; s3 += p[step + 1];
        s4 += p[2 * step]; s5 += p[2 * step + 1];
        s6 += p[3 * step]; s7 += p[3 * step + 1];
      }
      __asm__ volatile("" ::: "memory");
    }
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;
    for (int i = 0; i < LANES; i++) total += s0[i];
  }
  *sum = total;
  return omp_get_wtime() - start;
}

#define MOVE(NAME, VALUE, STORE)                                                   \
  double NAME(double *restrict a, const double *restrict b, const double *restrict c, \
              size_t n, long reps) {                                               \
    double start = omp_get_wtime();                                                \
    _Pragma("omp parallel") {                                                      \
      size_t each = n / omp_get_num_threads() / LANES * LANES;                     \
      size_t from = each * omp_get_thread_num();                                   \
      for (long r = 0; r < reps; r++) {                                            \
        for (size_t i = from; i < from + each; i += LANES) {                       \
          vec y = *(const vec *)(b + i), x = y;                                    \
          (void)c;                                                                 \
          x = VALUE;                                                               \
          STORE;                                                                   \
        }                                                                          \
        __asm__ volatile("" ::: "memory");                                         \
      }                                                                            \
    }                                                                              \
    return omp_get_wtime() - start;                                                \
  }

MOVE(copy_plain, y, *(vec *)(a + i) = x)
MOVE(copy_nt, y, stream_store(a + i, x))
MOVE(triad_plain, y + 3.0 * *(const vec *)(c + i), *(vec *)(a + i) = x)
MOVE(triad_nt, y + 3.0 * *(const vec *)(c + i), stream_store(a + i, x))
