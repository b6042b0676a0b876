// One product of a warp group: wgmma.mma_async, 64 x INSTRUCTION_N x 32 bytes of K. Its B lies in shared memory, its A
// there or in registers.
//
// Needs: INSTRUCTION_N, a multiple of 16 up to 256; SWAP, whether the instruction's A is op(B).
// Offers: INSTRUCTION_K, elements of K that an instruction takes; `sums`, a thread's share of the result; multiply and
// what stands around it; line_descriptor, which tells it where an operand lies.
#ifndef GT_WGMMA_INSTRUCTION_CUH
#define GT_WGMMA_INSTRUCTION_CUH

#include "gemm.cuh"

constexpr int INSTRUCTION_K = 32 / GT_AB_BYTES;
constexpr int LINE = 128 / GT_AB_BYTES; // elements of a swizzled line in shared memory

// Row lane / 4 of the warp's sixteen and the one eight below: columns 2 * (lane % 4) and the next of every eight.
typedef GT_ACC sums[INSTRUCTION_N / 2];

// The names of a thread's sums, which are an instruction's first operands, and those of the six that follow.
#define GT_NAMES_16   "%0, %1, %2, %3, %4, %5, %6, %7"
#define GT_NAMES_32   GT_NAMES_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define GT_NAMES_48   GT_NAMES_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define GT_NAMES_64   GT_NAMES_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define GT_NAMES_80   GT_NAMES_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define GT_NAMES_96   GT_NAMES_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define GT_NAMES_112  GT_NAMES_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define GT_NAMES_128  GT_NAMES_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define GT_NAMES_144  GT_NAMES_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define GT_NAMES_160  GT_NAMES_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define GT_NAMES_176  GT_NAMES_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define GT_NAMES_192  GT_NAMES_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define GT_NAMES_208  GT_NAMES_192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define GT_NAMES_224  GT_NAMES_208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define GT_NAMES_240  GT_NAMES_224 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define GT_NAMES_256  GT_NAMES_240 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define GT_INPUTS_16   "%8", "%9", "%10", "%11", "%12", "%13"
#define GT_INPUTS_32   "%16", "%17", "%18", "%19", "%20", "%21"
#define GT_INPUTS_48   "%24", "%25", "%26", "%27", "%28", "%29"
#define GT_INPUTS_64   "%32", "%33", "%34", "%35", "%36", "%37"
#define GT_INPUTS_80   "%40", "%41", "%42", "%43", "%44", "%45"
#define GT_INPUTS_96   "%48", "%49", "%50", "%51", "%52", "%53"
#define GT_INPUTS_112  "%56", "%57", "%58", "%59", "%60", "%61"
#define GT_INPUTS_128  "%64", "%65", "%66", "%67", "%68", "%69"
#define GT_INPUTS_144  "%72", "%73", "%74", "%75", "%76", "%77"
#define GT_INPUTS_160  "%80", "%81", "%82", "%83", "%84", "%85"
#define GT_INPUTS_176  "%88", "%89", "%90", "%91", "%92", "%93"
#define GT_INPUTS_192  "%96", "%97", "%98", "%99", "%100", "%101"
#define GT_INPUTS_208  "%104", "%105", "%106", "%107", "%108", "%109"
#define GT_INPUTS_224  "%112", "%113", "%114", "%115", "%116", "%117"
#define GT_INPUTS_240  "%120", "%121", "%122", "%123", "%124", "%125"
#define GT_INPUTS_256  "%128", "%129", "%130", "%131", "%132", "%133"
#define GT_EIGHT_SUMS(as, d, i)                                                                                        \
    as(d[i]), as(d[i + 1]), as(d[i + 2]), as(d[i + 3]), as(d[i + 4]), as(d[i + 5]), as(d[i + 6]), as(d[i + 7])
#define GT_SUMS_16(as, d)    GT_EIGHT_SUMS(as, d, 0)
#define GT_SUMS_32(as, d)    GT_SUMS_16(as, d), GT_EIGHT_SUMS(as, d, 8)
#define GT_SUMS_48(as, d)    GT_SUMS_32(as, d), GT_EIGHT_SUMS(as, d, 16)
#define GT_SUMS_64(as, d)    GT_SUMS_48(as, d), GT_EIGHT_SUMS(as, d, 24)
#define GT_SUMS_80(as, d)    GT_SUMS_64(as, d), GT_EIGHT_SUMS(as, d, 32)
#define GT_SUMS_96(as, d)    GT_SUMS_80(as, d), GT_EIGHT_SUMS(as, d, 40)
#define GT_SUMS_112(as, d)   GT_SUMS_96(as, d), GT_EIGHT_SUMS(as, d, 48)
#define GT_SUMS_128(as, d)   GT_SUMS_112(as, d), GT_EIGHT_SUMS(as, d, 56)
#define GT_SUMS_144(as, d)   GT_SUMS_128(as, d), GT_EIGHT_SUMS(as, d, 64)
#define GT_SUMS_160(as, d)   GT_SUMS_144(as, d), GT_EIGHT_SUMS(as, d, 72)
#define GT_SUMS_176(as, d)   GT_SUMS_160(as, d), GT_EIGHT_SUMS(as, d, 80)
#define GT_SUMS_192(as, d)   GT_SUMS_176(as, d), GT_EIGHT_SUMS(as, d, 88)
#define GT_SUMS_208(as, d)   GT_SUMS_192(as, d), GT_EIGHT_SUMS(as, d, 96)
#define GT_SUMS_224(as, d)   GT_SUMS_208(as, d), GT_EIGHT_SUMS(as, d, 104)
#define GT_SUMS_240(as, d)   GT_SUMS_224(as, d), GT_EIGHT_SUMS(as, d, 112)
#define GT_SUMS_256(as, d)   GT_SUMS_240(as, d), GT_EIGHT_SUMS(as, d, 120)
#define GT_JOIN_(a, b)   a##b
#define GT_JOIN(a, b)    GT_JOIN_(a, b)
#define GT_TEXT_(a)      #a
#define GT_TEXT(a)       GT_TEXT_(a)
#define GT_APPLY(f, ...) f(__VA_ARGS__)
#if SWAP
#define GT_PTX_OPERANDS GT_PTX_B "." GT_PTX_A
#else
#define GT_PTX_OPERANDS GT_PTX_A "." GT_PTX_B
#endif

// `kind` is K and the type of sums, "k16.f32."; `tail` the signs of operands and, for 16 bits, how they are stored.
#define GT_PRODUCT(kind, tail, a, b, adds)                                                                            \
    "{\n.reg .pred adds;\nsetp.ne.b32 adds, " adds ", 0;\n"                                                           \
    "wgmma.mma_async.sync.aligned.m64n" GT_TEXT(INSTRUCTION_N) kind GT_PTX_OPERANDS                                   \
    " {" GT_JOIN(GT_NAMES_, INSTRUCTION_N) "}, " a ", " b ", adds" tail ";\n}"
#define GT_PRODUCT_SHARED(kind, tail, i0, i1, i2, i3, i4, i5) GT_PRODUCT(kind, tail, i0, i1, i2)
#define GT_PRODUCT_REGISTERS(kind, tail, i0, i1, i2, i3, i4, i5)                                                      \
    GT_PRODUCT(kind, tail, "{" i0 ", " i1 ", " i2 ", " i3 "}", i4, i5)
#define GT_AS_FLOAT(x) "+f"(x)
#define GT_AS_INT(x)   "+r"(x)
#define GT_WGMMA_SHARED(kind, tail, as)                                                                               \
    asm volatile(GT_APPLY(GT_PRODUCT_SHARED, kind, tail, GT_JOIN(GT_INPUTS_, INSTRUCTION_N))                          \
                 : GT_JOIN(GT_SUMS_, INSTRUCTION_N)(as, d)                                                            \
                 : "l"(a), "l"(b), "r"(adds))
#define GT_WGMMA_REGISTERS(kind, tail, as)                                                                            \
    asm volatile(GT_APPLY(GT_PRODUCT_REGISTERS, kind, tail, GT_JOIN(GT_INPUTS_, INSTRUCTION_N))                       \
                 : GT_JOIN(GT_SUMS_, INSTRUCTION_N)(as, d)                                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds))

template <typename T> struct is_integer {
    static constexpr bool value = false;
};
template <> struct is_integer<int> {
    static constexpr bool value = true;
};

// Starts d = a b, or d += a b. Descriptors say where a and b lie. Only elements of 16 bits may lie along M or N.
template <bool A_ALONG_K, bool B_ALONG_K, typename ACC>
__device__ __forceinline__ void multiply(ACC (&d)[INSTRUCTION_N / 2], unsigned long long a, unsigned long long b,
                                         int adds)
{
    static_assert(GT_AB_BYTES == 2 || (A_ALONG_K && B_ALONG_K), "along K");
    if constexpr (is_integer<ACC>::value)
        GT_WGMMA_SHARED("k32.s32.", "", GT_AS_INT);
    else if constexpr (INSTRUCTION_K == 32)
        GT_WGMMA_SHARED("k32.f32.", ", 1, 1", GT_AS_FLOAT);
    else if constexpr (INSTRUCTION_K == 8)
        GT_WGMMA_SHARED("k8.f32.", ", 1, 1", GT_AS_FLOAT);
    else if constexpr (A_ALONG_K && B_ALONG_K)
        GT_WGMMA_SHARED("k16.f32.", ", 1, 1, 0, 0", GT_AS_FLOAT);
    else if constexpr (A_ALONG_K)
        GT_WGMMA_SHARED("k16.f32.", ", 1, 1, 0, 1", GT_AS_FLOAT);
    else if constexpr (B_ALONG_K)
        GT_WGMMA_SHARED("k16.f32.", ", 1, 1, 1, 0", GT_AS_FLOAT);
    else
        GT_WGMMA_SHARED("k16.f32.", ", 1, 1, 1, 1", GT_AS_FLOAT);
}
// The same with a in registers: row lane / 4 of the warp's sixteen, the one eight below, and both again for the second
// half of K, of which a thread has the (lane % 4)-th four bytes.
template <typename ACC>
__device__ __forceinline__ void multiply(ACC (&d)[INSTRUCTION_N / 2], const unsigned (&a)[4], unsigned long long b,
                                         int adds)
{
    static_assert(GT_AB_BYTES != 2, "others can lie in shared memory");
    if constexpr (is_integer<ACC>::value)
        GT_WGMMA_REGISTERS("k32.s32.", "", GT_AS_INT);
    else if constexpr (INSTRUCTION_K == 32)
        GT_WGMMA_REGISTERS("k32.f32.", ", 1, 1", GT_AS_FLOAT);
    else
        GT_WGMMA_REGISTERS("k8.f32.", ", 1, 1", GT_AS_FLOAT);
}

// Before the first of some products: what registers and shared memory hold is there for them.
__device__ __forceinline__ void multiply_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// The products since the last one become a group.
__device__ __forceinline__ void multiply_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits for all groups but the PENDING newest.
template <int PENDING> __device__ __forceinline__ void multiply_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// The descriptor of an operand that begins at an address of shared memory, a multiple of 1024: lines of 128, 64 or 32
// bytes, swizzled, and the next eight behind eight of them. Where lines run along M or N there is one for each step of K,
// and those of the next elements along M or N begin `block` bytes further. Addresses are in units: to move on, add.
constexpr int GT_DESCRIPTOR_UNIT = 16;
template <int LINE_BYTES> __device__ __forceinline__ unsigned long long line_descriptor(unsigned address, int block)
{
    constexpr unsigned long long SWIZZLED = (LINE_BYTES == 128 ? 1ull : LINE_BYTES == 64 ? 2ull : 3ull) << 62,
                                 EIGHT = 8 * LINE_BYTES / GT_DESCRIPTOR_UNIT;
    const unsigned within = address & 0x3ffff; // in a cluster an address begins with its block's number
    return SWIZZLED | EIGHT << 32 | (unsigned long long)(block / GT_DESCRIPTOR_UNIT) << 16 |
           within / GT_DESCRIPTOR_UNIT;
}

#endif
