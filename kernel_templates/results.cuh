// The step from sums to C: alpha, beta, and the epilogue that a launch asks for, bias, relu or gelu. Included by
// gemm.cuh. What is asked for is known at run time only, so that a kernel is tuned once; mostly it is nothing, and then
// costs a comparison.
#ifndef GT_RESULTS_CUH
#define GT_RESULTS_CUH

#ifndef FINISHES_STORED // whether the bias comes with the sums, and relu and gelu are left to gt_finish_stored
#define FINISHES_STORED false
#endif

// Stores a vector in one access. Left to itself the compiler stores some of 16 bytes in four: it loses sight of their
// alignment.
template <int WIDTH, typename T> __device__ __forceinline__ void gt_store_vector(T *to, const gt_vector<T, WIDTH> &v)
{
    if constexpr (sizeof v == 16) {
        const gt_vector<unsigned, 4> w = *(const gt_vector<unsigned, 4> *)&v;
        asm volatile("{\n\t.reg .u64 global;\n\tcvta.to.global.u64 global, %0;\n\t"
                     "st.global.v4.b32 [global], {%1, %2, %3, %4};\n\t}" ::"l"(to),
                     "r"(w.e[0]), "r"(w.e[1]), "r"(w.e[2]), "r"(w.e[3])
                     : "memory");
    } else {
        *(gt_vector<T, WIDTH> *)to = v;
    }
}

// Stores the first `left` elements of a vector, all of them where there are more.
template <int WIDTH, typename T>
__device__ __forceinline__ void gt_store_first(T *to, const gt_vector<T, WIDTH> &v, int left)
{
    if (left >= WIDTH) {
        gt_store_vector(to, v);
    } else {
#pragma unroll
        for (int u = 0; u < WIDTH - 1; u++)
            if (u < left)
                to[u] = v.e[u];
    }
}

// What is done with a result, bits of gt_args.epilogue: the same as gt_epilogue's in gemmtune.h.
#define GT_BIAS 1u
#define GT_RELU 2u
#define GT_GELU 4u

// gelu with tanh, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as x / (1 + 2^y). It errs by less than 2^-20 |x|.
// Only sums in f32 have it.
__device__ __forceinline__ float gt_gelu(float x)
{
    float y = x * (-2.302208198f - 0.1029432397f * x * x); // 2 / ln 2 times what tanh is of, negative
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(y));
    y += 1;
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(y));
    return x * y;
}
template <typename T> __device__ __forceinline__ T gt_gelu(T x)
{
    return x;
}

// Whether results have any of these.
__device__ __forceinline__ bool gt_has_epilogue(const gt_args &g)
{
#if GT_EPILOGUE
    return g.epilogue != 0;
#else
    return false;
#endif
}

// Whether results pass through relu or gelu.
__device__ __forceinline__ bool gt_has_activation(const gt_args &g)
{
#if GT_EPILOGUE
    return g.epilogue & (GT_RELU | GT_GELU);
#else
    return false;
#endif
}

// Whether alpha times sums, with what comes with them, is all that is stored first, as mostly.
__device__ __forceinline__ bool gt_is_plain(const gt_args &g)
{
    return g.beta.value == GT_ACC(0) && (FINISHES_STORED || !gt_has_epilogue(g));
}

// Where C's old value of a result lies.
__device__ __forceinline__ const GT_C *gt_old(const gt_args &g, const GT_C *result)
{
#if GT_EPILOGUE
    return result + g.apart;
#else
    return result;
#endif
}

// The bias of column j; zero where there is none, and beyond the last column.
__device__ __forceinline__ GT_C gt_bias(const gt_args &g, gt_int j)
{
#if GT_EPILOGUE
    if (g.epilogue & GT_BIAS && j < g.n)
        return g.bias[j];
#endif
    return GT_C();
}

// What comes with the sums of WIDTH columns from j on: the bias, or what changes no number, -0.
#define GT_NO_BIAS (-GT_ACC(0))
template <int WIDTH> __device__ __forceinline__ void gt_load_bias(const gt_args &g, gt_int j, GT_ACC *bias)
{
#pragma unroll
    for (int u = 0; u < WIDTH; u++)
        bias[u] = GT_NO_BIAS;
#if GT_EPILOGUE
    if (g.epilogue & GT_BIAS) {
        const int left = gt_clip(g.n - j, WIDTH);
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            if (u < left)
                bias[u] = GT_ACC(g.bias[j + u]);
    }
#endif
}

// relu or gelu of results, all at once. relu keeps NaN.
template <int COUNT> __device__ __forceinline__ void gt_activate(const gt_args &g, GT_ACC (&results)[COUNT])
{
#if GT_EPILOGUE
    if (g.epilogue & GT_GELU) {
#pragma unroll
        for (int u = 0; u < COUNT; u++)
            results[u] = gt_gelu(results[u]);
    } else if (g.epilogue & GT_RELU) {
#pragma unroll
        for (int u = 0; u < COUNT; u++)
            results[u] = results[u] < GT_ACC(0) ? GT_ACC(0) : results[u];
    }
#endif
}

// Bias, relu and gelu of results, neighbours from column j on; what lies beyond the last column has no bias.
template <int COUNT> __device__ __forceinline__ void gt_finish(const gt_args &g, gt_int j, GT_ACC (&results)[COUNT])
{
#if GT_EPILOGUE
    if (g.epilogue & GT_BIAS) {
        const int left = gt_clip(g.n - j, COUNT);
#pragma unroll
        for (int u = 0; u < COUNT; u++)
            if (u < left)
                results[u] += GT_ACC(g.bias[j + u]);
    }
    gt_activate(g, results);
#endif
}

// alpha times a sum, and the bias where one comes with it: in one instruction where sums are in f32, which the compiler
// would not make of it where alpha times the sum is wanted without the bias, too.
__device__ __forceinline__ float gt_fused(float a, float b, float c)
{
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(a) : "f"(a), "f"(b), "f"(c));
    return a;
}
template <typename T> __device__ __forceinline__ T gt_fused(T a, T b, T c)
{
    return a * b + c;
}
__device__ __forceinline__ GT_ACC gt_scale(const gt_args &g, GT_ACC sum, const GT_ACC *bias)
{
    return bias ? gt_fused(g.alpha.value, sum, *bias) : g.alpha.value * sum;
}

// The same with the old C.
__device__ __forceinline__ GT_ACC gt_add_old(const gt_args &g, GT_ACC sum, GT_C old, const GT_ACC *bias)
{
    const GT_ACC result = g.alpha.value * sum + g.beta.value * GT_ACC(old);
    return bias ? result + *bias : result;
}

// C = alpha * sum + beta * C, and the epilogue, for one element inside the matrix, `away` elements from where the
// arguments point; beta = 0 never reads C. `bias` comes with the sum, if any does.
__device__ __forceinline__ void gt_store_c(const gt_args &g, gt_int i, gt_int j, GT_ACC sum, gt_int away = 0,
                                           const GT_ACC *bias = nullptr)
{
    GT_C *c = g.c + away + i * g.ldc + j;
    GT_ACC result[1] = {gt_scale(g, sum, bias)};
    if (!gt_is_plain(g)) {
        result[0] = g.alpha.value * sum;
        if (g.beta.value != GT_ACC(0))
            result[0] += g.beta.value * GT_ACC(*gt_old(g, c));
        if (bias)
            result[0] += *bias;
        if (!FINISHES_STORED)
            gt_finish(g, j, result);
    }
    *c = GT_C(result[0]);
}

// The same for WIDTH neighbours of a row inside the matrix from column j on, a multiple of WIDTH; those
// beyond the last column are left out.
template <int WIDTH>
__device__ __forceinline__ void gt_store_c_vector(const gt_args &g, gt_int i, gt_int j, const GT_ACC *sums,
                                                  gt_int away = 0, const GT_ACC *bias = nullptr)
{
    const auto its = [&](int u) { return bias ? bias + u : nullptr; };
    if (WIDTH <= GT_WIDE_C && j + WIDTH <= g.n) {
        typedef gt_vector<GT_C, WIDTH> vector;
        GT_C *c = g.c + away + i * g.ldc + j;
        vector stored;
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            stored.e[u] = GT_C(gt_scale(g, sums[u], its(u)));
        if (!gt_is_plain(g)) {
            GT_ACC results[WIDTH];
#pragma unroll
            for (int u = 0; u < WIDTH; u++)
                results[u] = g.alpha.value * sums[u];
            if (g.beta.value != GT_ACC(0)) {
                const vector old = *(const vector *)gt_old(g, c);
#pragma unroll
                for (int u = 0; u < WIDTH; u++)
                    results[u] += g.beta.value * GT_ACC(old.e[u]);
            }
#pragma unroll
            for (int u = 0; u < WIDTH && bias; u++)
                results[u] += bias[u];
            if (!FINISHES_STORED)
                gt_finish(g, j, results);
#pragma unroll
            for (int u = 0; u < WIDTH; u++)
                stored.e[u] = GT_C(results[u]);
        }
        gt_store_vector(c, stored);
    } else if (WIDTH > GT_WIDE_C) {
#pragma unroll
        for (int u = 0; u < WIDTH; u++)
            if (j + u < g.n)
                gt_store_c(g, i, j + u, sums[u], away, its(u));
    } else { // the last columns, with little code
#pragma unroll 1
        for (int u = 0; j + u < g.n; u++) {
            GT_ACC sum = sums[0], added = bias ? bias[0] : GT_NO_BIAS;
#pragma unroll
            for (int v = 1; v < WIDTH; v++) {
                sum = u == v ? sums[v] : sum;
                added = bias && u == v ? bias[v] : added;
            }
            gt_store_c(g, i, j + u, sum, away, bias ? &added : nullptr);
        }
    }
}

// relu or gelu of WIDTH neighbours that this thread has stored without it, which is exact where C is of the type of
// sums; what lies outside the matrix is left out. A loop over memory is short, one over registers must be unrolled: for
// 128 sums a thread it would be a third of the kernel.
template <int WIDTH>
__device__ __forceinline__ void gt_finish_stored(const gt_args &g, gt_int i, gt_int j, gt_int away = 0)
{
    static_assert(!FINISHES_STORED || GT_C_BYTES == GT_ACC_BYTES, "nothing has been rounded");
    GT_C *c = g.c + away + i * g.ldc + j;
    const int left = i < g.m ? gt_clip(g.n - j, WIDTH) : 0;
    gt_vector<GT_C, WIDTH> stored = gt_load_vector<WIDTH>(c, left);
    GT_ACC results[WIDTH];
#pragma unroll
    for (int u = 0; u < WIDTH; u++)
        results[u] = GT_ACC(stored.e[u]);
    gt_activate(g, results);
#pragma unroll
    for (int u = 0; u < WIDTH; u++)
        stored.e[u] = GT_C(results[u]);
    gt_store_first(c, stored, left);
}

#endif
