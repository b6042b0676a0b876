// One product of a warp group: wgmma.mma_async, 64 x INSTRUCTION_N x 32 bytes of K, both operands in shared memory.
//
// Needs: INSTRUCTION_N, a multiple of 8 up to 256.
// Offers: INSTRUCTION_K, elements of K that an instruction takes; `sums`, a thread's share of the result; multiply and
// what stands around it; line_descriptor, which tells it where an operand lies.
#ifndef GT_WGMMA_INSTRUCTION_CUH
#define GT_WGMMA_INSTRUCTION_CUH

#include "gemm.cuh"

constexpr int INSTRUCTION_K = 32 / GT_AB_BYTES;
constexpr int LINE = 128 / GT_AB_BYTES; // elements of a swizzled line in shared memory

// Row lane / 4 of the warp's sixteen and the one eight below: columns 2 * (lane % 4) and the next of every eight.
typedef GT_ACC sums[INSTRUCTION_N / 2];

// The names and operands of a thread's sums. Three operands come before them.
#define GT_FOUR_SUMS(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GT_NAMES_8   "%3, %4, %5, %6"
#define GT_NAMES_16   GT_NAMES_8 ", %7, %8, %9, %10"
#define GT_NAMES_24   GT_NAMES_16 ", %11, %12, %13, %14"
#define GT_NAMES_32   GT_NAMES_24 ", %15, %16, %17, %18"
#define GT_NAMES_40   GT_NAMES_32 ", %19, %20, %21, %22"
#define GT_NAMES_48   GT_NAMES_40 ", %23, %24, %25, %26"
#define GT_NAMES_56   GT_NAMES_48 ", %27, %28, %29, %30"
#define GT_NAMES_64   GT_NAMES_56 ", %31, %32, %33, %34"
#define GT_NAMES_72   GT_NAMES_64 ", %35, %36, %37, %38"
#define GT_NAMES_80   GT_NAMES_72 ", %39, %40, %41, %42"
#define GT_NAMES_88   GT_NAMES_80 ", %43, %44, %45, %46"
#define GT_NAMES_96   GT_NAMES_88 ", %47, %48, %49, %50"
#define GT_NAMES_104  GT_NAMES_96 ", %51, %52, %53, %54"
#define GT_NAMES_112  GT_NAMES_104 ", %55, %56, %57, %58"
#define GT_NAMES_120  GT_NAMES_112 ", %59, %60, %61, %62"
#define GT_NAMES_128  GT_NAMES_120 ", %63, %64, %65, %66"
#define GT_NAMES_136  GT_NAMES_128 ", %67, %68, %69, %70"
#define GT_NAMES_144  GT_NAMES_136 ", %71, %72, %73, %74"
#define GT_NAMES_152  GT_NAMES_144 ", %75, %76, %77, %78"
#define GT_NAMES_160  GT_NAMES_152 ", %79, %80, %81, %82"
#define GT_NAMES_168  GT_NAMES_160 ", %83, %84, %85, %86"
#define GT_NAMES_176  GT_NAMES_168 ", %87, %88, %89, %90"
#define GT_NAMES_184  GT_NAMES_176 ", %91, %92, %93, %94"
#define GT_NAMES_192  GT_NAMES_184 ", %95, %96, %97, %98"
#define GT_NAMES_200  GT_NAMES_192 ", %99, %100, %101, %102"
#define GT_NAMES_208  GT_NAMES_200 ", %103, %104, %105, %106"
#define GT_NAMES_216  GT_NAMES_208 ", %107, %108, %109, %110"
#define GT_NAMES_224  GT_NAMES_216 ", %111, %112, %113, %114"
#define GT_NAMES_232  GT_NAMES_224 ", %115, %116, %117, %118"
#define GT_NAMES_240  GT_NAMES_232 ", %119, %120, %121, %122"
#define GT_NAMES_248  GT_NAMES_240 ", %123, %124, %125, %126"
#define GT_NAMES_256  GT_NAMES_248 ", %127, %128, %129, %130"
#define GT_SUMS_8(d)   GT_FOUR_SUMS(d, 0)
#define GT_SUMS_16(d)  GT_SUMS_8(d), GT_FOUR_SUMS(d, 4)
#define GT_SUMS_24(d)  GT_SUMS_16(d), GT_FOUR_SUMS(d, 8)
#define GT_SUMS_32(d)  GT_SUMS_24(d), GT_FOUR_SUMS(d, 12)
#define GT_SUMS_40(d)  GT_SUMS_32(d), GT_FOUR_SUMS(d, 16)
#define GT_SUMS_48(d)  GT_SUMS_40(d), GT_FOUR_SUMS(d, 20)
#define GT_SUMS_56(d)  GT_SUMS_48(d), GT_FOUR_SUMS(d, 24)
#define GT_SUMS_64(d)  GT_SUMS_56(d), GT_FOUR_SUMS(d, 28)
#define GT_SUMS_72(d)  GT_SUMS_64(d), GT_FOUR_SUMS(d, 32)
#define GT_SUMS_80(d)  GT_SUMS_72(d), GT_FOUR_SUMS(d, 36)
#define GT_SUMS_88(d)  GT_SUMS_80(d), GT_FOUR_SUMS(d, 40)
#define GT_SUMS_96(d)  GT_SUMS_88(d), GT_FOUR_SUMS(d, 44)
#define GT_SUMS_104(d) GT_SUMS_96(d), GT_FOUR_SUMS(d, 48)
#define GT_SUMS_112(d) GT_SUMS_104(d), GT_FOUR_SUMS(d, 52)
#define GT_SUMS_120(d) GT_SUMS_112(d), GT_FOUR_SUMS(d, 56)
#define GT_SUMS_128(d) GT_SUMS_120(d), GT_FOUR_SUMS(d, 60)
#define GT_SUMS_136(d) GT_SUMS_128(d), GT_FOUR_SUMS(d, 64)
#define GT_SUMS_144(d) GT_SUMS_136(d), GT_FOUR_SUMS(d, 68)
#define GT_SUMS_152(d) GT_SUMS_144(d), GT_FOUR_SUMS(d, 72)
#define GT_SUMS_160(d) GT_SUMS_152(d), GT_FOUR_SUMS(d, 76)
#define GT_SUMS_168(d) GT_SUMS_160(d), GT_FOUR_SUMS(d, 80)
#define GT_SUMS_176(d) GT_SUMS_168(d), GT_FOUR_SUMS(d, 84)
#define GT_SUMS_184(d) GT_SUMS_176(d), GT_FOUR_SUMS(d, 88)
#define GT_SUMS_192(d) GT_SUMS_184(d), GT_FOUR_SUMS(d, 92)
#define GT_SUMS_200(d) GT_SUMS_192(d), GT_FOUR_SUMS(d, 96)
#define GT_SUMS_208(d) GT_SUMS_200(d), GT_FOUR_SUMS(d, 100)
#define GT_SUMS_216(d) GT_SUMS_208(d), GT_FOUR_SUMS(d, 104)
#define GT_SUMS_224(d) GT_SUMS_216(d), GT_FOUR_SUMS(d, 108)
#define GT_SUMS_232(d) GT_SUMS_224(d), GT_FOUR_SUMS(d, 112)
#define GT_SUMS_240(d) GT_SUMS_232(d), GT_FOUR_SUMS(d, 116)
#define GT_SUMS_248(d) GT_SUMS_240(d), GT_FOUR_SUMS(d, 120)
#define GT_SUMS_256(d) GT_SUMS_248(d), GT_FOUR_SUMS(d, 124)
#define GT_JOIN_(a, b) a##b
#define GT_JOIN(a, b)  GT_JOIN_(a, b)
#define GT_TEXT_(a)    #a
#define GT_TEXT(a)     GT_TEXT_(a)

// `flags` are those of operands that are stored along M or N, which only elements of 16 bits may be.
#define GT_WGMMA(types, flags)                                                                                        \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %2, 0;\n"                                                    \
                 "wgmma.mma_async.sync.aligned.m64n" GT_TEXT(INSTRUCTION_N) types                                     \
                 " {" GT_JOIN(GT_NAMES_, INSTRUCTION_N) "}, %0, %1, adds, 1, 1" flags ";\n}"                          \
                 : "+l"(a), "+l"(b), "+r"(adds), GT_JOIN(GT_SUMS_, INSTRUCTION_N)(d))

template <typename T> struct type_is {
    static constexpr bool half = false, bf16 = false;
};
template <> struct type_is<gt_half> {
    static constexpr bool half = true, bf16 = false;
};
template <> struct type_is<gt_bf16> {
    static constexpr bool half = false, bf16 = true;
};

// Starts d = a b, or d += a b. Descriptors say where a and b lie.
template <bool A_ALONG_K, bool B_ALONG_K>
__device__ __forceinline__ void multiply(sums &d, unsigned long long a, unsigned long long b, int adds)
{
    if constexpr (type_is<GT_AB>::bf16) {
        if constexpr (A_ALONG_K && B_ALONG_K)
            GT_WGMMA("k16.f32.bf16.bf16", ", 0, 0");
        else if constexpr (A_ALONG_K)
            GT_WGMMA("k16.f32.bf16.bf16", ", 0, 1");
        else if constexpr (B_ALONG_K)
            GT_WGMMA("k16.f32.bf16.bf16", ", 1, 0");
        else
            GT_WGMMA("k16.f32.bf16.bf16", ", 1, 1");
    } else {
        if constexpr (A_ALONG_K && B_ALONG_K)
            GT_WGMMA("k16.f32.f16.f16", ", 0, 0");
        else if constexpr (A_ALONG_K)
            GT_WGMMA("k16.f32.f16.f16", ", 0, 1");
        else if constexpr (B_ALONG_K)
            GT_WGMMA("k16.f32.f16.f16", ", 1, 0");
        else
            GT_WGMMA("k16.f32.f16.f16", ", 1, 1");
    }
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

// The descriptor of an operand that begins at an address of shared memory, a multiple of 1024: lines of 128 bytes,
// swizzled, eight of them 1024 bytes from the next eight. Where lines run along M or N there is one for each step of K,
// and those of the next LINE elements along M or N begin `block` bytes further. Addresses are in units: to move on, add.
constexpr int GT_DESCRIPTOR_UNIT = 16;
__device__ __forceinline__ unsigned long long line_descriptor(unsigned address, int block)
{
    constexpr unsigned long long SWIZZLED = 1ull << 62, EIGHT = 1024 / GT_DESCRIPTOR_UNIT;
    const unsigned within = address & 0x3ffff; // in a cluster an address begins with its block's number
    return SWIZZLED | EIGHT << 32 | (unsigned long long)(block / GT_DESCRIPTOR_UNIT) << 16 |
           within / GT_DESCRIPTOR_UNIT;
}

#endif
