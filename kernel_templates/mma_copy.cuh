// The way of operands from global memory into stages: copies in the background; through registers, where they stay
// while products are made; or element by element, at once.
//
// Needs: LOAD, THREADS_ of the block, and COPIERS, those of them that copy: the last ones.
#ifndef GT_MMA_COPY_CUH
#define GT_MMA_COPY_CUH

#include "async_copy.cuh"
#include "mma_fragment.cuh"
#include "repack.cuh"

// 16 bytes that begin at any element, on their way: the words around them, of which only these bytes are read. Nothing
// looks at what is loaded before it is stored, so that all pieces of a thread are on their way at the same time.
struct gt_words {
    static constexpr int OF_WORD = GT_AB_BYTES < 4 ? 4 / GT_AB_BYTES : 1; // elements
    unsigned word[5];

    static __device__ __forceinline__ unsigned bits(const GT_AB *element)
    {
        return GT_AB_BYTES == 1 ? *(const unsigned char *)element : *(const unsigned short *)element;
    }
    static __device__ __forceinline__ unsigned shift(const GT_AB *from)
    {
        return (unsigned)(size_t)from % 4 * 8;
    }

    // The first `count` elements; zeros stand for the others. Of a word that lies inside in part elements are read; one
    // of 16 bits stays in the lower half of its word, though in the first word it belongs into the upper one.
    __device__ __forceinline__ void load(const GT_AB *from, int count)
    {
        const int before = (int)((size_t)from % 4) / GT_AB_BYTES; // elements of the first word
#pragma unroll
        for (int i = 0; i < 5; i++) {
            const int first = i * OF_WORD - before;
            word[i] = 0;
            if (first >= 0 && first + OF_WORD <= count)
                word[i] = *(const unsigned *)(from + first);
            else
#pragma unroll
                for (int u = 0; u < (i == 0 || OF_WORD > 2 ? OF_WORD : 1); u++)
                    if (first + u >= 0 && first + u < count)
                        word[i] = OF_WORD == 2 ? bits(from + first + u) : word[i] | bits(from + first + u) << u * 8;
        }
    }
    __device__ __forceinline__ void store(void *to, unsigned shift) const
    {
        uint4 v;
        v.x = __funnelshift_r(OF_WORD == 2 ? word[0] << shift : word[0], word[1], shift);
        v.y = __funnelshift_r(word[1], word[2], shift);
        v.z = __funnelshift_r(word[2], word[3], shift);
        v.w = __funnelshift_r(word[3], word[4], shift);
        *(uint4 *)to = v;
    }
};

template <int OUTER, bool ALONG_K, bool COPY, gt_l2 L2 = GT_L2_USUAL> struct operand {
    typedef gt_stage<OUTER, ALONG_K> stage;
    static constexpr int ALIGN = COPY ? 16 : GT_ACCESS;
    // HELD: pieces stay in registers. ANYWHERE: they are chunks that begin at any element.
    static constexpr bool ASYNC = LOAD == 1, HELD = LOAD == 0, ANYWHERE = HELD && ALIGN < 4;
    static_assert(!ASYNC || ALIGN >= 4, "copies in the background are of four bytes or more");
    static_assert(LOAD < 2 || GT_AB_BYTES < 4, "elements make words");
    static constexpr int VEC = (ANYWHERE ? CHUNK : LOAD == 2 ? 4 : ALIGN) / GT_AB_BYTES; // elements that go together
    static constexpr int AT_ONCE = 8; // pieces of elements on their way
    static constexpr int L2_LINE = 128 / GT_AB_BYTES;
    // Threads side by side along a line, lines that all threads take at once, and what is left for further rounds.
    static constexpr int PIECES = stage::LINE / VEC;
    static constexpr int MOST = COPIERS & -COPIERS, POWER = PIECES & -PIECES, ABREAST = POWER < MOST ? POWER : MOST;
    static constexpr int PASS = COPIERS / ABREAST, SEGMENTS = PIECES / ABREAST;
    static constexpr int COUNT = (stage::LINES + PASS - 1) / PASS * SEGMENTS;

    const GT_AB *from; // this thread's first piece of the next tile
    gt_int ld;
    int outer_count; // the tile's rows or columns inside the matrix
    bool plain; // all of them, and of rows that are no shorter than a line of L2
    unsigned long long policy; // of L2, where it has one
    gt_vector<GT_AB, VEC> held[HELD && !ANYWHERE ? COUNT : 1];
    gt_words words[ANYWHERE ? COUNT : 1];

    static __device__ __forceinline__ int line()
    {
        return (threadIdx.x - (THREADS_ - COPIERS)) / ABREAST;
    }
    static __device__ __forceinline__ int along()
    {
        return (threadIdx.x - (THREADS_ - COPIERS)) % ABREAST * VEC;
    }
    // From the first to the n-th piece: lines, and elements along the line.
    static constexpr __device__ int lines(int n)
    {
        return n / SEGMENTS * PASS;
    }
    static constexpr __device__ int steps(int n)
    {
        return n % SEGMENTS * ABREAST * VEC;
    }
    // In the last round some threads may have no line.
    static __device__ __forceinline__ bool mine(int n)
    {
        return stage::LINES % PASS == 0 || lines(n) + PASS <= stage::LINES || line() + lines(n) < stage::LINES;
    }
    static __device__ __forceinline__ int target(int n)
    {
        return stage::at(line() + lines(n), (along() + steps(n)) * GT_AB_BYTES);
    }
    __device__ __forceinline__ const GT_AB *source(int n) const
    {
        return from + lines(n) * ld + steps(n);
    }

    __device__ __forceinline__ operand(gt_operand matrix, gt_int outer_first, gt_int outer_end, gt_int k_first,
                                       unsigned long long policy_ = 0)
    {
        ld = matrix.ld;
        policy = policy_;
        outer_count = gt_clip(outer_end - outer_first, OUTER);
        plain = outer_count == OUTER && ld >= L2_LINE;
        from = matrix.at + along() +
               (ALONG_K ? (outer_first + line()) * ld + k_first : (k_first + line()) * ld + outer_first);
    }

    // How many elements of the n-th piece lie inside the matrix.
    __device__ __forceinline__ int inside(int n, int k_count) const
    {
        const int of_line = (ALONG_K ? k_count : outer_count) - along() - steps(n);
        const int of_lines = (ALONG_K ? outer_count : k_count) - line() - lines(n);
        return of_lines <= 0 || of_line <= 0 ? 0 : VEC == 1 || of_line >= VEC ? VEC : of_line;
    }

    // Starts bringing the n-th piece, which begins at `at`; `valid` elements of it are read, through L1 where asked for.
    template <bool IN_L1> __device__ __forceinline__ void bring(char *to, int n, int valid, const GT_AB *at)
    {
        if (ASYNC)
            gt_copy_async<VEC * GT_AB_BYTES, IN_L1, L2>(gt_shared_address(to + target(n)), at, valid * GT_AB_BYTES, policy);
        else if (!ANYWHERE)
            held[n] = gt_load_vector<VEC>(at, valid);
        else
            words[n].load(at, valid);
    }
    // Starts bringing the pieces from the BEGIN-th to the END-th, of which valid(n) elements are read.
    template <int BEGIN, int END, bool IN_L1, typename VALID>
    __device__ __forceinline__ void bring_some(char *to, const VALID &valid)
    {
        const GT_AB *at = source(BEGIN); // of the next piece, found from the one before it: a sum, and no product
#pragma unroll
        for (int n = BEGIN; n < END; n++) {
            if (mine(n))
                bring<IN_L1>(to, n, valid(n), at);
            at += (n + 1) % SEGMENTS ? (gt_int)(ABREAST * VEC) : PASS * ld - steps(SEGMENTS - 1);
        }
    }
    // Brings pieces of elements, up to AT_ONCE from the BEGIN-th on. Rows begin and end at any element: one question for
    // each, whether it lies inside, and no other.
    template <int BEGIN, int END> __device__ __forceinline__ void bring_elements(char *to, int k_count) const
    {
        constexpr int SOME = END - BEGIN < AT_ONCE ? END - BEGIN : AT_ONCE;
        unsigned bits[SOME][VEC];
#pragma unroll
        for (int i = 0; i < SOME; i++) {
            const int valid = mine(BEGIN + i) ? inside(BEGIN + i, k_count) : 0;
#pragma unroll
            for (int u = 0; u < VEC; u++) {
                bits[i][u] = 0;
                if (u < valid)
                    bits[i][u] = gt_words::bits(source(BEGIN + i) + u);
            }
        }
#pragma unroll
        for (int i = 0; i < SOME; i++) {
            unsigned word = 0;
#pragma unroll
            for (int u = 0; u < VEC; u++)
                word |= bits[i][u] << u * GT_AB_BYTES * 8;
            if (mine(BEGIN + i))
                *(unsigned *)(to + target(BEGIN + i)) = word;
        }
    }
    // Starts bringing the pieces from the BEGIN-th to the END-th, of a tile of which k_left or more steps of K lie in the
    // matrix. Numbers are constants, so that most of what tells where a piece lies is, too. Tiles wholly inside, nearly
    // all, are spared the questions, unless a question is cheaper than another way through the code. The others go through
    // L1, as do rows of which a line of L2 has several. On an H200 24x7664x88 of bf16 tt takes 2.3 us so, else 2.5 or 5.9, as the
    // lines lie.
    template <int BEGIN, int END> __device__ __forceinline__ void fetch(char *to, gt_int k_left)
    {
        const bool whole = k_left >= BK && plain;
        const int k_count = gt_clip(k_left, BK);
        if constexpr (LOAD == 2 && BEGIN < END) {
            bring_elements<BEGIN, END>(to, k_count);
            fetch<(END - BEGIN < AT_ONCE ? END : BEGIN + AT_ONCE), END>(to, k_left);
        } else if ((!ASYNC || VEC > 1) && whole) {
            bring_some<BEGIN, END, false>(to, [](int) { return VEC; });
        } else {
            bring_some<BEGIN, END, true>(to, [&](int n) { return inside(n, k_count); });
        }
    }
    __device__ __forceinline__ void advance()
    {
        from += ALONG_K ? (gt_int)BK : BK * ld;
    }

    // Puts what fetch left in registers into its stage. A tile later every piece begins as many bytes into a word.
    __device__ __forceinline__ void settle(char *to) const
    {
#pragma unroll
        for (int n = 0; n < (HELD ? COUNT : 0); n++)
            if (mine(n)) {
                if (ANYWHERE)
                    words[n].store(to + target(n), gt_words::shift(source(n)));
                else
                    *(gt_vector<GT_AB, VEC> *)(to + target(n)) = held[n];
            }
    }
};

#endif
