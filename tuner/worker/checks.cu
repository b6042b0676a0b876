// What verification needs on the device: random data, matrix-vector products in f64, sampled elements recomputed in
// f64, and counts of memory that should not have changed. Shares nothing with the templates but the compiler.

typedef long long gt_int;
typedef unsigned long long gt_bits;

#ifndef LANES // a warp; 1 where the kernels are run one thread at a time
#define LANES 32
#endif

// The element types. load widens to f64, exactly; draw turns 64 random bits into an element whose sign is fair.
struct f32 {
    typedef float storage;
    static __device__ double load(float x) { return x; }
    static __device__ float draw(gt_bits h);
};
struct s32 {
    typedef int storage;
    static __device__ double load(int x) { return x; }
    static __device__ int draw(gt_bits h) { return (int)(h % 17) - 8; }
};
struct f16 {
    typedef unsigned short storage;
    static __device__ double load(unsigned short x)
    {
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
        return f;
    }
    static __device__ unsigned short draw(gt_bits h)
    {
        unsigned short x;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f32::draw(h)));
        return x;
    }
};

struct s8 {
    typedef signed char storage;
    static __device__ double load(signed char x) { return x; }
    static __device__ signed char draw(gt_bits h) { return (signed char)(h >> 56); }
};
struct f64 {
    typedef double storage;
    static __device__ double load(double x) { return x; }
    static __device__ double draw(gt_bits h);
};
struct bf16 {
    typedef unsigned short storage;
    static __device__ double load(unsigned short x) { return __uint_as_float((unsigned)x << 16); }
    static __device__ unsigned short draw(gt_bits h)
    {
        const unsigned x = __float_as_uint(f32::draw(h)); // finite: rounded to nearest, ties to even
        return (unsigned short)((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
};

// 8-bit floats, by their bits of fraction and their bias.
template <int FRACTION, int BIAS, unsigned NAN_FROM> struct f8 {
    typedef unsigned char storage;
    static __device__ double load(unsigned char x)
    {
        const int body = x & 0x7f, exponent = body >> FRACTION, rest = body & ((1 << FRACTION) - 1);
        const int shown = exponent > 0 ? exponent : 1; // subnormal numbers have the first one's
        double value = (exponent > 0 ? (1 << FRACTION) + rest : rest) * exp2(double(shown - BIAS - FRACTION));
        if (body >= NAN_FROM)
            value = __longlong_as_double(0x7fffffffffffffffll);
        else if (exponent == 31) // of five bits: an infinity
            value = __longlong_as_double(0x7ff0000000000000ll);
        return x & 0x80 ? -value : value;
    }
    static __device__ unsigned char draw(gt_bits h)
    {
        const double x = f32::draw(h), magnitude = x < 0 ? -x : x; // below 4: no overflow
        int exponent = magnitude > 0 ? ilogb(magnitude) : 1 - BIAS;
        exponent = exponent < 1 - BIAS ? 1 - BIAS : exponent;
        // Units of the last place, ties to even; a carry moves into the exponent.
        const int units = (int)rint(magnitude * exp2(double(FRACTION - exponent)));
        return (unsigned char)((x < 0 ? 0x80 : 0) | (units + ((exponent + BIAS - 1) << FRACTION)));
    }
};
typedef f8<3, 7, 0x7f> e4m3;
typedef f8<2, 15, 0x7d> e5m2;

// The sum of four 16-bit uniforms, centred and scaled to variance 1: close to normal, exactly symmetric, and the same
// bits on every machine.
__device__ double f64::draw(gt_bits h)
{
    const int sum = (int)(h & 65535) + (int)(h >> 16 & 65535) + (int)(h >> 32 & 65535) + (int)(h >> 48);
    return (sum - 2 * 65535) * 2.642899793810e-05; // sqrt(12 / 4) / 65536
}
__device__ float f32::draw(gt_bits h)
{
    return (float)f64::draw(h);
}

// Steele, Lea and Flood's splitmix64: element `index` of the stream `seed`.
__device__ gt_bits random_bits(gt_bits seed, gt_bits index)
{
    gt_bits z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

__device__ double warp_sum(double x)
{
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        x += __shfl_down_sync(0xffffffffu, x, step);
    return x;
}

__device__ gt_int thread_index()
{
    return (gt_int)blockIdx.x * blockDim.x + threadIdx.x;
}

// A matrix as it is stored, row-major.
struct matrix {
    void *data;
    gt_int rows, columns, ld;
};

// Random elements; what lies between the rows and between the matrices is left alone.
template <typename T> __device__ void fill(const matrix &m, gt_int batch, gt_int stride, gt_bits seed)
{
    typename T::storage *const data = (typename T::storage *)m.data;
    const gt_int each = m.rows * m.columns, count = each * batch, step = (gt_int)gridDim.x * blockDim.x;
    for (gt_int at = thread_index(); at < count; at += step) {
        const gt_int product = at / each, within = at - product * each;
        const gt_int row = within / m.columns, column = within - row * m.columns;
        data[product * stride + row * m.ld + column] = T::draw(random_bits(seed, (gt_bits)at));
    }
}

// out += M v, or with squares (M o M) v; v may be NULL for ones. A warp takes `chunk` columns of one row.
template <typename T>
__device__ void rows(const matrix &m, const double *v, double *out, gt_int chunk, int squares)
{
    const gt_int row = thread_index() / LANES, first = blockIdx.y * chunk;
    const gt_int end = first + chunk < m.columns ? first + chunk : m.columns;
    if (row >= m.rows)
        return;
    const typename T::storage *const data = (const typename T::storage *)m.data + row * m.ld;
    double sum = 0;
#pragma unroll 4
    for (gt_int column = first + threadIdx.x % LANES; column < end; column += LANES) {
        const double x = T::load(data[column]);
        sum += (squares ? x * x : x) * (v ? v[column] : 1.0);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % LANES == 0)
        atomicAdd(&out[row], sum);
}

// out += v' M, the same for columns. A thread takes `chunk` rows of one column.
template <typename T>
__device__ void columns(const matrix &m, const double *v, double *out, gt_int chunk, int squares)
{
    const gt_int column = thread_index(), first = blockIdx.y * chunk;
    const gt_int end = first + chunk < m.rows ? first + chunk : m.rows;
    if (column >= m.columns)
        return;
    const typename T::storage *const data = (const typename T::storage *)m.data + column;
    double sum = 0;
#pragma unroll 4
    for (gt_int row = first; row < end; row++) {
        const double x = T::load(data[row * m.ld]);
        sum += (squares ? x * x : x) * (v ? v[row] : 1.0);
    }
    atomicAdd(&out[column], sum);
}

// op(A) and op(B) by strides: (i, p) of A is a[i * a_row + p * a_step], (p, j) of B is b[p * b_step + j * b_column].
struct product {
    const void *a, *b;
    gt_int a_row, a_step, b_step, b_column, k;
};

// For each sampled (i, j), a warp each: the sum of the products, of their squares, of their magnitudes.
template <typename A, typename B>
__device__ void sample(const product &g, const gt_int *places, gt_int count, double *out)
{
    const gt_int at = thread_index() / LANES;
    if (at >= count)
        return;
    const typename A::storage *const a = (const typename A::storage *)g.a + places[2 * at] * g.a_row;
    const typename B::storage *const b = (const typename B::storage *)g.b + places[2 * at + 1] * g.b_column;
    double sum = 0, square = 0, magnitude = 0;
#pragma unroll 4
    for (gt_int p = threadIdx.x % LANES; p < g.k; p += LANES) {
        const double x = A::load(a[p * g.a_step]) * B::load(b[p * g.b_step]);
        sum += x;
        square += x * x;
        magnitude += x < 0 ? -x : x;
    }
    sum = warp_sum(sum);
    square = warp_sum(square);
    magnitude = warp_sum(magnitude);
    if (threadIdx.x % LANES == 0) {
        out[3 * at] = sum;
        out[3 * at + 1] = square;
        out[3 * at + 2] = magnitude;
    }
}

template <typename T>
__device__ void gather(const matrix &m, const gt_int *places, gt_int count, double *out)
{
    const gt_int at = thread_index();
    if (at < count)
        out[at] = T::load(((const typename T::storage *)m.data)[places[2 * at] * m.ld + places[2 * at + 1]]);
}

// found[0] counts the elements that are NaN or infinite, found[1] becomes the smallest index row * columns + column.
template <typename T> __device__ void nonfinite(const matrix &m, gt_bits *found)
{
    const gt_int count = m.rows * m.columns, step = (gt_int)gridDim.x * blockDim.x;
    for (gt_int at = thread_index(); at < count; at += step) {
        const gt_int row = at / m.columns, column = at - row * m.columns;
        const double x = T::load(((const typename T::storage *)m.data)[row * m.ld + column]);
        if (!(x - x == 0)) {
            atomicAdd(&found[0], 1ull);
            atomicMin(&found[1], (gt_bits)at);
        }
    }
}

#define SAMPLE(A, B)                                                                                         \
    extern "C" __global__ void sample_##A##_##B(product g, const gt_int *places, gt_int count, double *out)  \
    {                                                                                                        \
        sample<A, B>(g, places, count, out);                                                                 \
    }

#define KERNELS(T)                                                                                           \
    extern "C" __global__ void fill_##T(matrix m, gt_int batch, gt_int stride, gt_bits seed)                 \
    {                                                                                                        \
        fill<T>(m, batch, stride, seed);                                                                     \
    }                                                                                                        \
    extern "C" __global__ void rows_##T(matrix m, const double *v, double *out, gt_int chunk, int squares)   \
    {                                                                                                        \
        rows<T>(m, v, out, chunk, squares);                                                                  \
    }                                                                                                        \
    extern "C" __global__ void columns_##T(matrix m, const double *v, double *out, gt_int chunk, int squares) \
    {                                                                                                        \
        columns<T>(m, v, out, chunk, squares);                                                               \
    }                                                                                                        \
    extern "C" __global__ void gather_##T(matrix m, const gt_int *places, gt_int count, double *out)         \
    {                                                                                                        \
        gather<T>(m, places, count, out);                                                                    \
    }                                                                                                        \
    extern "C" __global__ void nonfinite_##T(matrix m, gt_bits *found)                                       \
    {                                                                                                        \
        nonfinite<T>(m, found);                                                                              \
    }                                                                                                        \
    SAMPLE(T, T)

#ifdef SOME_TYPES // KERNELS of each type that is wanted, SAMPLE of each pair: all of them take seconds to compile
SOME_TYPES
#else
KERNELS(f32)
KERNELS(s32)
KERNELS(f16)
KERNELS(bf16)
KERNELS(f64)
KERNELS(s8)
KERNELS(e4m3)
KERNELS(e5m2)
SAMPLE(e4m3, e5m2)
SAMPLE(e5m2, e4m3)
#endif

// Adds up random numbers that the units of elements and their places stand for: two matrices with the same sum have the
// same bits, but once in 2^64. Rows of `width`, `pitch` apart, all in units: bytes or halfwords.
template <typename UNIT>
__device__ void add_bits(const UNIT *region, gt_int rows, gt_int width, gt_int pitch, gt_bits *sum)
{
    const gt_int count = rows * width, step = (gt_int)gridDim.x * blockDim.x;
    gt_bits own = 0;
    for (gt_int at = thread_index(); at < count; at += step)
        own += random_bits(region[at / width * pitch + at % width], (gt_bits)at);
    atomicAdd(sum, own);
}
extern "C" __global__ void checksum_1(const unsigned char *region, gt_int rows, gt_int width, gt_int pitch,
                                      gt_bits *sum)
{
    add_bits(region, rows, width, pitch, sum);
}
extern "C" __global__ void checksum_2(const unsigned short *region, gt_int rows, gt_int width, gt_int pitch,
                                      gt_bits *sum)
{
    add_bits(region, rows, width, pitch, sum);
}

// Counts the bytes of a region (rows of `width`, `pitch` apart, all in bytes) that are not those of `pattern`, a
// halfword at every even address.
extern "C" __global__ void count_changed(const unsigned char *region, gt_int rows, gt_int width, gt_int pitch,
                                         unsigned pattern, unsigned *changed)
{
    const gt_int count = rows * width, step = (gt_int)gridDim.x * blockDim.x;
    for (gt_int at = thread_index(); at < count; at += step) {
        const unsigned char *byte = region + at / width * pitch + at % width;
        if (*byte != (unsigned char)((gt_bits)byte & 1 ? pattern >> 8 : pattern))
            atomicAdd(changed, 1u);
    }
}
