"""Mutants made by hand: a family, what is wrong with it, and how that is written. And the configurations that take the
broken paths: K is shared within blocks, clusters and through the workspace; rows of C and B begin anywhere. Those of wgmma
and split, and some of simt_ws and simt, take the configuration that they name of spaces.py.

142 of them on an H200 (mutants.py --handmade --device 0 --then soft:h200), by what rejected them there, and those that pass
there and only the software GPU rejects. The first 55 are those of simt, simt_ws, simt_cluster and batched, and 11 of wgmma.

                values  out of bounds  hangs or crashes  code  software GPU alone
the first 55        36              6                 6     1                   6
wgmma's others      22              1                 6     0                   5
split               38              1                 1     0                   5
split_mma            8              0                 0     0                   0
all                104              8                13     1                  16

The software GPU alone: simt waits for one copy too few, batched stages sums over a tile that is being read; wgmma multiplies
without a fence, commits no products, gives a stage back that is being multiplied, stores sums that are not there yet, copies
before the mbarriers are made, tells no other block of a stage, sends sums that the copy engine does not see, ends before its
stores, reads bias beyond C; split gives stages back too early, does not meet before it reads a sample, multiplies parts that
tensor cores do not see, or that have not all come, and makes parts of what has not come."""
from edits import Edit
from handmade_rare import RARE
from mutant import Mutant
from sources import Source
from spaces import HOSTS, configurations

SPACES = {
    "simt": """SELECT 32 AS bm, 64 AS bn, 16 AS bk, 16 AS wm, 32 AS wn, 4 AS tm, 4 AS tn, 3 AS stages, 2 AS split_k,
               1 AS "group", 1 AS load, 1 AS occ, 3 AS ptxas, 128 AS threads, 19200 AS smem_bytes, 128 AS regs,
               2 * 32 * 64 * 4 AS ws_tile, 1 AS epilogue""",
    "simt_ws": """SELECT 64 AS bm, 128 AS bn, 32 AS bk, 32 AS wm, 64 AS wn, 8 AS tm, 8 AS tn, 3 AS stages, 0 AS kmajor,
                  1 AS stream_k, 1 AS "group", 2 AS occ, 2 AS repack, 1 AS ptxas, 20 AS blocks, 256 AS threads,
                  75264 AS smem_bytes, 128 AS regs, 64 * 128 * 4 AS ws_tile, 1 AS dependent_launch,
                  1 AS epilogue""",
    "simt_cluster": """SELECT 32 AS bm, 64 AS bn, 64 AS bk, 32 AS wm, 32 AS wn, 4 AS tm, 8 AS tn, 4 AS slices, 3 AS stages,
                       2 AS kmajor, 2 AS cluster_k, 4 AS split_k, 0 AS repack, 1 AS occ, 1 AS ptxas, 384 AS threads,
                       76800 AS smem_bytes, 2 AS cluster_y, 168 AS regs, 2 * 32 * 64 * 4 AS ws_tile,
                       1 AS epilogue""",
    "batched": """SELECT 40 AS bm, 20 AS bn, 13 AS bk, 8 AS tm, 4 AS tn, 3 AS products, 75 AS threads, 9984 AS smem_bytes,
                  64 AS regs, 1 AS dependent_launch, 1 AS epilogue""",
    "vector": """SELECT 1 AS bm, 28 AS bn, 1 AS cols, 4 AS lanes_k, 1 AS warps_n, 2 AS warps_k, 2 AS unroll, 2 AS split_k,
                 1 AS hint, 64 AS threads, 8 * 28 * 4 AS smem_bytes, 64 AS regs, 2 * 28 * 4 AS ws_tile, 1 AS any_split,
                 1 AS dependent_launch, 1 AS epilogue""",
}

MUTANTS = [
    ("simt", "reads a stage before all have filled it",
     "                    wait_copies<STAGES - 2>();\n                    __syncthreads();\n",
     "                    wait_copies<STAGES - 2>();\n"),
    ("simt", "waits for one copy too few", "                    wait_copies<STAGES - 2>();\n",
     "                    wait_copies<STAGES - 1>();\n"),
    ("simt", "leaves out a part of K", "for (unsigned s = 1; s < count; s++)", "for (unsigned s = 2; s < count; s++)"),
    ("simt", "leaves its counter", "        g.counters[tile] = 0;", "        g.counters[tile] = 1;"),
    ("simt_ws", "leaves out a block's part", "for (unsigned block = first; block < blockIdx.x; block++) {",
     "for (unsigned block = first + 1; block < blockIdx.x; block++) {"),
    ("simt_ws", "leaves its flags", "*flag_of(g, block) = 0;", "*flag_of(g, block) = 2;"),
    ("simt_ws", "does a step twice", "return all / BLOCKS * block + (block < rest ? block : rest);",
     "return all / BLOCKS * block + (block < rest ? block : rest) - (block == 3);"),
    ("simt_ws", "drops the end of a tile", "s.end = turn == 0 ? end - s.tile * steps : steps;",
     "s.end = turn == 0 ? end - s.tile * steps : steps - 1;"),
    ("simt_ws", "reads a stage that is not full",
     "                if (!ready)\n                    gt_mbarrier_wait(full + at.stage * GT_MBARRIER_BYTES, at.phase);\n", ""),
    ("simt_ws", "fills a stage that is being read",
     "        gt_mbarrier_wait(r.empty + at.stage * GT_MBARRIER_BYTES, at.phase);\n", ""),
    ("simt_ws", "stops short of the end of K", "BK) + UNROLLED - 1) / UNROLLED", "BK)) / UNROLLED"),
    ("simt_ws", "mistakes its neighbour's sum", "(threadIdx.x % 32 ^ EXCHANGED)",
     "(threadIdx.x % 32 ^ 1)"),
    ("simt_ws", "copies B without the last of its columns", "* WIDTH < whole)\n                    gt_store_vector(",
     "* WIDTH < whole - 1)\n                    gt_store_vector("),
    ("simt_ws", "never waits for what came before", "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n", ""),
    ("simt_cluster", "overwrites stages that are being read", "    consumers_sync(); // nobody reads stages any more\n", ""),
    ("simt_cluster", "reads K-slice groups' partial sums before they are there",
     "piece(sum, p));\n    consumers_sync();\n", "piece(sum, p));\n"),
    ("simt_cluster", "reads blocks' partial sums before they are there",
     "    cluster_arrive<WROTE>();\n    cluster_wait();\n", ""),
    ("simt_cluster", "overwrites partial sums that are being read",
     "(SLICES > 1 ? FOUR_BYTES * SLICES * PIECES * SLICE_THREADS : 0)", "0"),
    ("simt_cluster", "mistakes the order of a pair", "(k + e % STEPS) % HELD", "(k + (e + 1) % STEPS) % HELD"),
    ("simt_cluster", "mistakes its place in the cluster", "return blockIdx.y % CLUSTER_K;",
     "return (blockIdx.y + 1) % CLUSTER_K;"),
    ("simt_cluster", "loses partial sums", "for (int l = 1; l < COUNT; l++)", "for (int l = 2; l < COUNT; l++)"),
    ("simt_cluster", "drops the last step of K", "/ BK, part);", "/ BK, part) - (part == gridDim.y);"),
    ("simt_cluster", "leaves its counter", "        *counter = 0;", "        *counter = 1;"),
    ("batched", "multiplies a tile before all have brought it", "settle(tile_b, thread);\n        meet();\n",
     "settle(tile_b, thread);\n"),
    ("batched", "overwrites a tile that is being read", "multiply();\n            meet();\n", "multiply();\n"),
    ("batched", "stages sums over a tile that is being read", "    meet(); // tiles have been read\n", ""),
    ("batched", "takes the first of a row for the last of the one before", "(columns > 0 ? columns : 1) + 1;",
     "(columns > 0 ? columns : 1);"),
    ("batched", "takes rows for one that lie apart", "g.ldc == columns", "g.ldc >= columns"),
    ("batched", "multiplies matrices beyond the last", "product < args.batch", "product <= args.batch"),
    ("batched", "drops the last step of K", "k < args.k; k += BK", "k + 1 < args.k; k += BK"),
    ("vector", "takes all rows to begin as the first does", "(unsigned long long)from / GT_AB_BYTES",
     "(unsigned long long)(g.b + first) / GT_AB_BYTES"),
    ("vector", "reads before the first column", "column < 0 ? (int)-column : 0", "0"),
    ("vector", "reads beyond the last column", "high = gt_clip(g.n - column, V);", "high = V;"),
    ("vector", "reads beyond the last row", "high == V && k + (UNROLL - 1) * PHASES < end", "high == V && k < end"),
    ("vector", "leaves sums in its neighbour's place", "at + s >= 0 && at + s < BN", "at + s < BN"),
    ("vector", "loses the last lanes over K", "SHARERS : PARTS)>(partial", "SHARERS : PARTS - 1)>(partial"),
    ("vector", "loses what the last threads add", "add_rows<GROUPS>(partial", "add_rows<GROUPS - 1>(partial"),
    ("vector", "loses the last part of K", "first + p * GROUPS < count ?", "first + p * GROUPS < count - 1 ?"),
    ("simt", "stores a row too many", "down < to.rows", "down <= to.rows"),
    ("simt", "stores plain sums without alpha", "GT_C(g.alpha.value * one[n])", "GT_C(one[n])"),
    ("simt", "is wrong where C is square", "result[n] = g.alpha.value * sum;\n",
     "result[n] = g.alpha.value * (g.m == g.n ? -sum : sum);\n"),
    ("simt", "is wrong where A is B", "result[n] = g.alpha.value * sum;\n",
     "result[n] = g.alpha.value * (g.a == g.b ? -sum : sum);\n"),
    ("simt", "takes the matrices of a batch to lie apart", "result[n] = g.alpha.value * sum;\n",
     "result[n] = g.alpha.value * (gridDim.z > 1 && g.stride_a < g.lda ? -sum : sum);\n"),
    ("simt", "is wrong where all strides are the same", "result[n] = g.alpha.value * sum;\n",
     "result[n] = g.alpha.value * (g.lda == g.ldb && g.ldb == g.ldc ? -sum : sum);\n"),
    ("simt", "takes the bias by rows", "gt_bias(g, column + along + beside(n))", "gt_bias(g, row + down + below(n))"),
    ("simt", "scales the bias, too", "result[n] += GT_ACC(gt_bias(", "result[n] += g.alpha.value * GT_ACC(gt_bias("),
    ("simt", "applies relu to parts of sums", "    if (SPLIT_K > 1 && !add_parts(g, sum, stages))\n",
     "    if (gt_has_epilogue(g))\n        for (int p = 0; p < TM * TN; p++)\n"
     "            sum[p / TN][p % TN] = sum[p / TN][p % TN] < 0 ? 0 : sum[p / TN][p % TN];\n"
     "    if (SPLIT_K > 1 && !add_parts(g, sum, stages))\n"),
    ("simt", "drops NaN in relu", "= results[u] < GT_ACC(0) ? GT_ACC(0)", "= !(results[u] > GT_ACC(0)) ? GT_ACC(0)"),
    ("simt", "reads D where C is meant", "return result + g.apart;", "return result;"),
    ("simt", "writes behind rows of D", "i < g.m ? gt_clip(g.n - j, WIDTH) : 0;", "i < g.m ? gt_clip(g.n + 1 - j, WIDTH) : 0;"),
    ("simt", "takes 32 bits for a step of K", "from += ALONG_K ? (gt_int)BK : BK * ld;",
     "from += ALONG_K ? (gt_int)BK : (int)(BK * ld);"),
    ("simt_ws", "takes 32 bits for a row's offset in whole tiles of C", "GT_C *to = g.c + away + (row + down) * g.ldc",
     "GT_C *to = g.c + away + (int)((row + down) * g.ldc)"),
    ("simt_ws", "waits for one producer fewer", "gt_mbarrier_init(gt_shared_address(&full[s]), PRODUCERS);",
     "gt_mbarrier_init(gt_shared_address(&full[s]), PRODUCERS - 1);"),
    ("simt_ws", "reads what other lanes have staged before it has met them",
     "        __syncwarp();\n#pragma unroll\n        for (int n = batch; n < batch + BATCH && n < COUNT; n += LINE)\n",
     "#pragma unroll\n        for (int n = batch; n < batch + BATCH && n < COUNT; n += LINE)\n"),
    ("simt_cluster", "gives a stage back before the lanes of a warp have met",
     "        __syncwarp();\n        if (GT_CHECKED || elected)\n", "        if (GT_CHECKED || elected)\n"),
    ("simt", "stops short of the end of K", "done < steps; done += LAST", "done + LAST <= steps; done += LAST"),
]

WGMMA = [
    ("split", "moves no descriptor along K",
     "k / LINE * BOX_BYTES + k % LINE * GT_AB_BYTES + outer * 128", "k / LINE * BOX_BYTES + outer * 128"),
    ("split", "multiplies without a fence", '    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");\n', ""),
    ("split", "commits no products", '    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");\n', ""),
    ("cluster", "gives a stage back that is being multiplied",
     "                multiply_wait<1>();\n                release(read);\n", "                release(read);\n"),
    ("cluster", "moves sums that are being added to", "            multiply_stage(r, stages, at, f[i], d, step);\n",
     "            multiply_stage(r, stages, at, f[i], d, step);\n            asm volatile(\"mov.b32 %0, %0;\" : \"+f\"(d[0][0]));\n"),
    ("cluster", "stores sums that are not there yet", "    multiply_wait<0>();\n    if (steps > 0)\n", "    if (steps > 0)\n"),
    ("split", "adds to what registers held", "multiply_stage(r, stages, at, f[i], d, step);",
     "multiply_stage(r, stages, at, f[i], d, 1);"),
    ("split", "drops the tail of K", "k_steps(LOAD == 2 ? ((unsigned)g.k + BK - 1) / BK", "k_steps(LOAD == 2 ? (unsigned)g.k / BK"),
    ("split", "drops alpha", "v.e[u] = T(alpha * (", "v.e[u] = T(("),
    ("swapped", "drops alpha of one of two", "alpha * d[n / 2 + i + 1]);", "d[n / 2 + i + 1]);"),
    ("split", "lays C out as it is not read", "byte / 16 ^ row * C_LINE / 128 % (C_LINE / 16)", "byte / 16"),
    ("split", "expects less than comes", "gt_mbarrier_expect(r.full_of(at), STAGE);", "gt_mbarrier_expect(r.full_of(at), STAGE - 128);"),
    ("cluster", "shares B with one block only", "mask |= 1u << (first + other * apart);", "mask |= 1u << first;"),
    ("cluster", "begins before all blocks have their barriers",
     "constexpr bool CLUSTER_MEETS = SHARING > 1;", "constexpr bool CLUSTER_MEETS = false;"),
    ("split", "copies before the mbarriers have been made", "            await_barriers<OF_COPIES, 32>();\n            if (elect_one()) {",
     "            if (elect_one()) {"),
    ("split", "multiplies before the mbarriers have been made",
     "        await_barriers<OF_CONSUMERS, CONSUMERS>();\n        asm volatile(\"setmaxnreg.inc",
     "        asm volatile(\"setmaxnreg.inc"),
    ("split", "gives a part of K a step too few", "end = first + (int)(share + (part < rest));", "end = first + (int)share;"),
    ("cluster", "takes rows of a last group for others", "place_tile(first + rest % (rows - first), rest / (rows - first), row, column);",
     "place_tile(first + rest % GROUP, rest / GROUP, row, column);"),
    ("swapped", "tells no other block that a stage was read", "        gt_mbarrier_arrive_remote(empty, threadIdx.x % 32);",
     "        gt_mbarrier_arrive(empty);"),
    ("split", "reads other blocks' sums before they came", "    gt_mbarrier_wait_cluster<CLUSTER_K>(met, 0);\n", ""),
    ("split", "forgets the last block's sums", "for (unsigned block = 0; block < CLUSTER_K; block++) {",
     "for (unsigned block = 0; block < CLUSTER_K - 1; block++) {"),
    ("split", "sends sums that the copy engine does not see", "    gt_fence_async();\n    consumers_sync();\n    cluster_wait();\n",
     "    consumers_sync();\n    cluster_wait();\n"),
    ("cluster", "overwrites what the copy engine still reads", "  wait_read<BUFFERS - 1>();", "  wait_read<BUFFERS>();"),
    ("cluster", "stores what the copy engine does not see", "            if (MAP_C)\n                gt_fence_async();\n", ""),
    ("promoted", "ends before its stores", "        if (MAP_C && speaks())\n            gt_stores_wait_read<0>();\n", ""),
    ("split", "stores past the end of a row", "(g.n % STORED_AT_ONCE != 0 && left + SUBTILE_COLUMNS > g.n)", "false"),
    ("registers", "mistakes one of four rows", "a[0][half * 2 + 1] = __byte_perm(low01, low23, 0x7632);",
     "a[0][half * 2 + 1] = __byte_perm(low01, low23, 0x5410);"),
    ("registers", "mistakes the second half of K", "const int line = k + half * 16 + lane % 4 * 4 + j;",
     "const int line = k + lane % 4 * 4 + j;"),
    ("promoted", "promotes no sums", "        if (GT_PROMOTED > 0) {\n            multiply_promoted", "        if (false) {\n            multiply_promoted"),
    ("pingpong", "multiplies out of turn", "        if (TURNS > 1 && !first)\n            await_turn();\n", ""),
    ("pingpong", "takes the other's stages for its own", "            at.skip((TURNS - 1) * steps);", "            at.skip(0);"),
    ("cluster", "waits for other blocks without having arrived", "        __syncwarp();\n        cluster_arrive();\n    }\n    if (SHARING",
     "        __syncwarp();\n    }\n    if (SHARING"),
    ("copied", "cuts sums to 20 bits", "T(alpha * (apart ? sum[(column ^ APART) / 2] : sum[column / 2]));",
     "T(alpha * __uint_as_float(__float_as_uint(apart ? sum[(column ^ APART) / 2] : sum[column / 2]) & ~0u << 4));"),
    ("cluster", "stores sums of the wrong columns", "T(alpha * (apart ? sum[(column ^ APART) / 2]", "T(alpha * (apart ? sum[column / 2]"),
    ("swapped", "cuts sums to 16 bits, of which C keeps 8", "alpha * d[n / 2 + i + 1]);",
     "alpha * __uint_as_float(__float_as_uint(d[n / 2 + i + 1]) & ~0u << 8));"),
    ("copied", "copies a line without its last element", "piece + e < end)", "piece + e < end - 1)"),
    ("copied", "copies a line without its first element", "own[i] = read_some(piece_of(element + i * ld), line + i * ld,",
     "own[i] = read_some(piece_of(element + i * ld), line + i * ld + 1,"),
    ("words", "stores the first element of a row beyond C", "if (high < low && high < columns)", "if (high < low)"),
    ("words", "stores words where none begin", "x + (unsigned)(unsigned long long)c % 4 / 2,", "x,"),
    ("words", "leaves out the first element of a row between words", "                c[high] = e[1];\n", "                c[high] = c[high];\n"),
    ("copied", "takes all rows of C for aligned", "if (GT_WIDE_C < WIDEST && is_aligned(g))", "if (GT_WIDE_C < WIDEST)"),
    ("copied", "takes C for aligned where its rows are", "((unsigned long long)g.c | g.ldc * GT_C_BYTES |", "(g.ldc * GT_C_BYTES |"),
    ("copied", "takes a batch for aligned where its first matrix is", " | g.stride_c * GT_C_BYTES) % 16", ") % 16"),
    ("threads", "multiplies what instructions do not see",
     "    if (LOAD == 1)\n        gt_fence_async(); // instructions read what threads have copied\n", ""),
    ("threads", "does not wait for copies by threads", "gt_mbarrier_arrive_after_copies(r.full_of(at));",
     "gt_mbarrier_arrive(r.full_of(at));"),
    ("swapped", "takes one column's bias for two", "held[i * 2 + e / 2]", "held[i * 2]"),
    ("cluster", "takes the neighbours' bias", "n % 64 / 2 + threadIdx.x % 4)", "n % 64 / 2 + (threadIdx.x + 1) % 4)"),
    ("cluster", "takes the first columns' bias for those 64 further", "{held[n / 64 * 2], held[n / 64 * 2 + 1]}", "{held[0], held[1]}"),
    ("split", "takes the first part's bias", "(int)part * OWN_N + (int)threadIdx.x % 32 * 2;", "(int)threadIdx.x % 32 * 2;"),
    ("split", "activates nothing", "            gt_activate(g, *(GT_ACC(*)[OWN])d);\n", ""),
    ("swapped", "scales twice where there is a bias", "            gt_activate(g, *(GT_ACC(*)[OWN])d);\n            alpha = 1;\n",
     "            gt_activate(g, *(GT_ACC(*)[OWN])d);\n"),
    ("cluster", "adds C before it has come", "            if (s + 1 < SUBTILES)\n                gt_wait_copies<BUFFERS - 1>();\n            else\n                gt_wait_copies<0>();\n", ""),
    ("cluster", "overwrites C that others still read", "                warp_group_sync(); // all have read it\n", ""),
    ("cluster", "adds the first of C's subtiles again", "at.top(s + BUFFERS), at.left(s + BUFFERS));", "at.top(s), at.left(s));"),
    ("swapped", "reads the bias of columns that are not there", "if (g.epilogue & GT_BIAS && j < g.n)", "if (g.epilogue & GT_BIAS)"),
    ("short", "reads lines of 64 bytes as if they were of 32", "LINE_BYTES == 64 ? 2ull : 3ull", "3ull"),
    ("short", "moves along K by whole lines where they are short", ": k * LINE_BYTES + outer", ": k * 128 + outer"),
    ("short", "leaves room for whole lines between parts of short ones", "+ line * LINE_BYTES;", "+ line * 128;"),
    ("short", "takes the next eight short lines from where those of whole ones lie", "EIGHT = 8 * LINE_BYTES /", "EIGHT = 1024 /"),
    ("strips", "takes strips of short lines to be as far apart as whole ones", "line_descriptor<LINE_BYTES>(tile, BOX_BYTES)",
     "line_descriptor<LINE_BYTES>(tile, LINES * 128)"),
    ("strips", "copies a side's first strip again", "(ALONG_K ? k : outer) + box * LINE, row",
     "(ALONG_K ? k : outer) + (ALONG_K || SIDE % 64 == 0 ? box * LINE : 0), row"),
    ("eight", "tells only blocks that share A that a stage was read", " || block / CLUSTER_M == rank_n();", ";"),
    ("eight", "overwrites a stage that a block still reads", "PEERS = CLUSTER_M + CLUSTER_N - 1;", "PEERS = CLUSTER_M + CLUSTER_N - 2;"),
    ("eight", "waits for blocks that share nothing with it", "PEERS = CLUSTER_M + CLUSTER_N - 1;", "PEERS = CLUSTER_M * CLUSTER_N;"),
    ("eight", "asks for lines of other blocks", "line = WHOLE ? 0 : (int)part * BOX_ROWS;", "line = WHOLE ? 0 : (int)part * 8;"),
    ("eight", "asks for lines beyond the tile", "        if (ASKING < PARTS && part >= ASKING)\n            return;\n", ""),
    ("eight", "gives A to blocks of other rows", "full_of(at), rank_n(), rank_m(), CLUSTER_M, of.a)", "full_of(at), rank_n(), 0, CLUSTER_M, of.a)"),
    ("eight", "adds up the sums of other tiles", "slot = tile * CLUSTER_K + blockIdx.y", "slot = tile / SHARING * CLUSTER_K + blockIdx.y"),
    ("eight", "has the same part of K in all clusters", "part = blockIdx.y, share", "part = SHARING > 1 ? 0 : blockIdx.y, share"),
    ("promoted", "gives the wrong stage back", "            add(0, read);\n            start(0);\n", "            add(0, reading);\n            start(0);\n"),
]

SPLIT = [
    ("turns", "counts no low elements", "if (__uint_as_float(least) * up * up < 0x1p-4f)", "if (false)"),
    ("turns", "undoes no row's scale", "const float both = undo[i / 2][i % 2] * other.undo;", "const float both = other.undo;"),
    ("alone", "undoes columns' scales for rows", "const line_known line = at < height ? rows[at] : nothing;",
     "const line_known line = at < width ? columns[at] : nothing;"),
    ("alone", "undoes twice as much as there was", "return __int_as_float((127 - half) << 23);",
     "return __int_as_float((126 - half) << 23);"),
    ("alone", "scales beyond the largest number", "(scaled >= 11 && scaled <= 14)", "scaled >= 11"),
    ("turns", "leaves lo hi out", "                    multiply<true, true>(some[i], rows + LO, columns, 1);\n", ""),
    ("shared", "cuts offsets of what is computed strictly to 32 bits",
     "from += ALONG_K ? (gt_int)STRICT_K : STRICT_K * ld;", "from += ALONG_K ? (gt_int)STRICT_K : (int)(STRICT_K * ld);"),
    ("turns", "leaves hi lo out", "multiply<true, true>(some[i], rows, columns + LO, stage > 0 || k > 0);",
     "multiply<true, true>(some[i], rows + LO, columns, stage > 0 || k > 0);"),
    ("alone", "adds los as if they were his", "*= 1 / LO_SCALE;", "*= 1;"),
    ("alone", "promotes no sums", "multiply_parts<false>(r, at, some);", "multiply_parts<false>(r, at, d);"),
    ("alone", "gives back what nobody cut off", "line.what >> FINE_AT & 1 ? cut : 0;", "16 * cut;"),
    ("alone", "takes no notice of deep elements", "if (deep == 0 || deep * 8 <= (int)ALL_LOW - (int)(a.low + b.low))", "if (true)"),
    ("alone", "sees no deep elements", "counted.deep += v < 0x1p-14f && elements[e] != 0;", "counted.deep += 0;"),
    ("turns", "counts no low elements", "(seen.counted.low - behind) * ALL_LOW", "0 * ALL_LOW"),
    ("turns", "takes elements for three parts that these do not hold", "deepest |= line.undo < 0;", "deepest &= line.undo < 0;"),
    ("turns", "gives stages back that are being multiplied", "        multiply_wait<0>();\n        give_back(r, at, INTERVAL);\n",
     "        give_back(r, at, INTERVAL);\n"),
    ("turns", "mistakes a neighbour's part", "lo = gt_pack(gt_half(), v, w);", "lo = gt_pack(gt_half(), w, v);"),
    ("turns", "stores a strip's line in another order", "parts[line][place_of(which, line)];", "parts[line][which];"),
    ("turns", "forgets what one warp has seen", "            if (w < warps)\n                largest",
     "            if (w > 0 && w < warps)\n                largest"),
    ("turns", "forgets what other blocks have seen", "return told::find_largest(sampled, 0, blocks());", "return own;"),
    ("turns", "reads what other blocks have seen before they tell", "tell(sampled[rank()][threadIdx.x], own);\n        meet();\n",
     "tell(sampled[rank()][threadIdx.x], own);\n        __syncthreads();\n"),
    ("turns", "does lines again only by chance", "            if (!__syncthreads_or(!scale.fits(seen.largest))) {\n                if (others",
     "            if (true) {\n                if (others"),
    ("alone", "looks at a part of the lines", "there = gt_clip(lines - first, count);",
     "there = gt_clip(lines - first, count - 16);"),
    ("turns", "leaves out the end of a line", "if (p - lane % 8 * 4 < k) {", "if (p + 32 - lane % 8 * 4 <= k) {"),
    ("turns", "stops strict sums short of the end of K", "left > 0; left -= STRICT_K", "left > STRICT_K / 2; left -= STRICT_K"),
    ("turns", "lays strict results over a step that is being read", "    consumers_sync(); // the last step has been read\n", ""),
    ("alone", "stores strict sums of the next tile", "        g.n = column + BN; // the next tile's are not this one's\n",
     "        g.n = g.n;\n"),
    ("turns", "mistakes the end of K for more of it in strict sums", "next_a.load(left - STRICT_K);", "next_a.load(left);"),
    ("shared", "undoes a cluster's first columns' scales in all blocks", "undo_scales(g, row, column + rank * OWN_N,", "undo_scales(g, row, column,"),
    ("shared", "undoes scales before all sums are there", "        if (CLUSTERS > 1 && !add_parts(g, &shared.last, own))\n",
     "        undo_scales(g, row, column + rank * OWN_N, 1, CUT, own);\n        if (CLUSTERS > 1 && !add_parts(g, &shared.last, own))\n"),
    ("shared", "adds one block's sums twice", "block == 0 ? part[i * CONSUMERS].e[e] : own", "block == 0 ? 2 * part[i * CONSUMERS].e[e] : own"),
    ("shared", "adds up before all clusters have come", "*last = before == parts - 1;", "*last = before == parts - 2;"),
    ("shared", "reads other blocks' sums before they came", "    gt_mbarrier_wait_cluster<CLUSTER_K>(met, 0);\n", ""),
    ("shared", "computes strictly in one block of all", "for (int subtile = blockIdx.y; subtile < BM / STRICT_M",
     "for (int subtile = blockIdx.y * SPLIT_K; subtile < BM / STRICT_M"),
    ("shared", "has all of K in every block", "first = (int)(part * share + (part < rest ? part : rest));", "first = 0;"),
    ("turns", "leaves mid mid out", "        multiply_all(a + MID, b + MID, 1);\n", ""),
    ("alone", "leaves hi lo out of three parts", "multiply_all(a, b_lo, KEPT);", "multiply_all(a_lo, b_lo, KEPT);"),
    ("alone", "undoes the scale of two parts for three", "wide ? 1 / WIDE_SCALE : 1", "1"),
    ("turns", "lays three parts out as they are not read", "(which ^ line % 8) * 16", "which * 16"),
    ("turns", "reads a step into the one that is multiplied", "place(turn, line, which) = hi;", "place(turn ^ 1, line, which) = hi;"),
    ("turns", "multiplies parts that tensor cores do not see", "        gt_fence_async(); // for tensor cores\n", ""),
    ("turns", "multiplies parts that have not all come", "        consumers_sync(); // this step is there, and the one before it has been multiplied\n", ""),
    ("shared", "has all of K of three parts in every block", "column, intervals.first * INTERVAL,", "column, 0,"),
    ("alone", "reads beyond the end of K in three parts", "const int left = line < lines ? gt_clip(k - at, PIECE) : 0;", "const int left = line < lines ? PIECE : 0;"),
    ("turns", "makes parts of what has not come", "        gt_wait_copies<0>(); // this thread's\n", ""),
    ("turns", "takes a line's scale for its neighbour's", "__float_as_uint(known[first + line].undo) : 127u << 23", "__float_as_uint(known[first + (line ^ 1)].undo) : 127u << 23"),
    ("turns", "drops the last interval of K", "(g.k + STEP * INTERVAL - 1) / (STEP * INTERVAL)", "(g.k + STEP - 1) / (STEP * INTERVAL)"),
    ("turns", "computes offsets of strict tiles in 32 bits", "+ k : k * ld + first + line))", "+ k : (int)(k * ld) + first + line))"),
    ("shared", "drops C where beta is 1", "return g.beta.value == GT_ACC(0) && (FINISHES_STORED",
     "return g.beta.value == GT_ACC(1) && (FINISHES_STORED"),
]

SPLIT_MMA = [
    ("parted", "undoes no column's scale", "const float both = undo * (beside < g.n ? columns[beside].undo : 0);",
     "const float both = undo;"),
    ("parted", "leaves lo hi out", "                multiply_parts(k + STEPS, k);\n", ""),
    ("parted", "adds los as if they were his", "*= 1 / LO_SCALE;", "*= 1;"),
    ("parted", "adds sums again that were promoted", "(&some[0][0][0])[i] = 0;", "(&some[0][0][0])[i] *= 1;"),
    ("parted", "multiplies what has not come", "            gt_wait_copies<STAGES - 2>();\n", ""),
    ("parted", "has all of K in every block", "first = gt_first_step<SPLIT_K>(all, blockIdx.y);", "first = 0;"),
    ("parted", "multiplies by parts whatever they are", "if (how != BY_PARTS) {", "if (how == IN_ORDER) {"),
    ("parted", "stores strict sums of the next tile", "        g.n = column + BN; // the next tile's are not this one's\n", "        g.n = g.n;\n"),
    ("parted", "promotes no strict sums", "== 0 && how != IN_ORDER)", "== 0 && how == IN_ORDER)"),
    ("parted", "loses the last of 63 in strict sums", "for (gt_int left = g.k; left > 0;", "for (gt_int left = g.k - (g.k % 64 == 63); left > 0;"),
    ("parted", "takes B's first lines for A's", "number >= blocks_b : number < blocks_a;", "number >= blocks_b : number <= blocks_a;"),
]

SIMT_WS = [
    ("pairs", "goes on from a part that it stored itself", "*part = part_of(g, first);", "*part = part_of(g, blockIdx.x);"),
    ("pairs", "stores a vector beyond the last column", "column + last_column < g.n)", "column + last_column < g.n + 4)"),
    ("batch", "takes a tile of a batch for one of its matrix", "(unsigned)(number - matrix * one)", "(unsigned)number"),
    ("batch", "has the first matrices in every group", "(gt_int)blockIdx.z * (PRODUCTS - 1) + matrix", "matrix"),
    ("batch", "multiplies by the first B of a group", "its.b += away * g.stride_b;",
     "its.b += (away - matrix) * g.stride_b;"),
    ("batch", "has tiles of matrices beyond the last", "gt_clip(g.batch - (gt_int)blockIdx.z * PRODUCTS, PRODUCTS)",
     "PRODUCTS"),
]

SIMT = [
    ("fours", "takes lines for neighbours that lie apart", "i / TOGETHER * THREADS_ / LINE * TOGETHER + i % TOGETHER;",
     "i * THREADS_ / LINE;"),
    ("fours", "stores lines over each other", "threadIdx.x / LINE * TOGETHER,", "threadIdx.x / LINE,"),
]

# Rows along K that begin anywhere; more rows than a block has on their way.
VECTOR = [
    ("apart", "takes all columns to begin as the first does", "(unsigned long long)line[0] / GT_AB_BYTES",
     "(unsigned long long)g.b / GT_AB_BYTES"),
    ("apart", "has columns side by side", "column + c * APART < g.n ? column + c * APART : column",
     "column + c < g.n ? column + c : column"),
    ("apart", "reads before the first step", "(!ANYWHERE || k >= 0) && k + STEP <= last", "k + STEP <= last"),
    ("apart", "counts the steps before a part twice", "last = end < g.k ? end - shift : end;", "last = end;"),
    ("apart", "loses the last steps", "last = end < g.k ? end - shift : end;", "last = end - shift;"),
    ("apart", "multiplies what is not before the first step", "if (e >= low && e < high)\n            v.e[e] = *gt_at_a",
     "if (e < high)\n            v.e[e] = *gt_at_a"),
    ("turns", "goes on to the next rows in 32 bits", "from += UNROLL * PHASES * g.ldb;", "from += UNROLL * (int)(PHASES * g.ldb);"),
    ("apart", "leaves sums in its neighbour's place", "at + s * (ALONG_K ? APART : 1)", "at + s"),
]

OUTER = [
    ("shifted", "takes the old C to lie as the new one does", "whole && (unsigned long long)old % sizeof stored == 0", "whole"),
    ("shifted", "takes rows to begin alike", "(unsigned long long)(g.c + row * g.ldc)", "(unsigned long long)g.c"),
    ("rounded", "stores what the next tile has", "at < BN || first + BN >= g.n ? gt_clip", "true ? gt_clip"),
    ("rounded", "stores before the first column", "column < 0 ? (int)-column : 0", "0"),
    ("rounded", "rounds sums before they are scaled", "GT_C(g.alpha.value * sum[i][e])",
     "GT_C(g.alpha.value * GT_ACC(GT_C(sum[i][e])))"),
    ("rounded", "reads bias for columns that are not its own", "is_mine(e) ? gt_bias(g, column + e) : GT_C()",
     "gt_bias(g, column + e)"),
]

LOW_RANK = [
    ("shifted", "takes the old C to lie as the new one does", "low == 0 && high == V && (unsigned long long)old % sizeof part == 0",
     "low == 0 && high == V"),
    ("rounded", "takes rows to begin alike", "(unsigned long long)(g.c + (top + down) * g.ldc)", "(unsigned long long)g.c"),
    ("rounded", "leaves out what is behind a row's last tile", "SHIFTED && first + BN >= g.n ? REST : 0", "0"),
    ("shifted", "stores before the first column", "low = column < 0 ? (int)-column : 0", "low = 0"),
    ("shifted", "reads before the first column", "first == 0 ? BEFORE : 0, BEFORE + width", "0, BEFORE + width"),
    ("shifted", "reads behind the last column", "BEFORE + width, steps", "COLUMNS, steps"),
    ("shifted", "reads behind the last row", "g.lda, 0, height, steps", "g.lda, 0, BM, steps"),
    ("shifted", "forgets steps that are not in shared memory", "for (gt_int k = BK; k < g.k; k++)",
     "for (gt_int k = g.k; k < g.k; k++)"),
    ("aligned", "reads steps behind the last", "steps = gt_clip(g.k, BK)", "steps = BK"),
    ("aligned", "multiplies before all is in shared memory", "__syncthreads();", "__syncwarp();"),
    ("rounded", "reads the old C of rows that are not its own", "v.low, done + i < v.rows ? v.high : 0", "v.low, v.high"),
    ("rounded", "rounds sums before they are scaled", "GT_C(g.alpha.value * sum[e]);\n    if constexpr",
     "GT_C(g.alpha.value * GT_ACC(GT_C(sum[e])));\n    if constexpr"),
    ("rounded", "exchanges neighbours", '"h"(stored.e[e].bits), "h"(stored.e[e + 1].bits)',
     '"h"(stored.e[e + 1].bits), "h"(stored.e[e].bits)'),
    ("rounded", "reads bias for columns that are not its own", "is_mine(e) ? gt_bias(g, column + e) : GT_C()",
     "gt_bias(g, column + e)"),
]

MMA = [
    ("three warps", "leaves out a part's first piece", "int n = BEGIN; n < END; n++", "int n = BEGIN + 1; n < END; n++"),
    ("three warps", "leaves out a part's last piece", "int n = BEGIN; n < END; n++", "int n = BEGIN; n + 1 < END; n++"),
    ("three warps", "takes a line's next piece for the next line's first", "PASS * ld - steps(SEGMENTS - 1)", "PASS * ld"),
    ("three warps", "copies lines behind a stage", "lines(n) + PASS <= stage::LINES ||", "lines(n) <= stage::LINES ||"),
    ("tile rows", "takes rows to begin alike", "shift_of(tile + row_of(first, line) * g.ldc)", "shift_of(tile)"),
    ("tile rows", "stores before all results are there", "__syncthreads();\n            // Whole vectors", "// Whole vectors"),
    ("tile rows", "leaves results where others are read",
     "__syncthreads(); // what lay there has been read\n#pragma unroll\n            for (int i = 0; i < BLOCKS_M; i++)",
     "#pragma unroll\n            for (int i = 0; i < BLOCKS_M; i++)"),
    ("tile rows", "stores what is before a row", "shift > 0 && at >= shift", "shift > 0"),
    ("tile rows", "leaves out what is behind the last vector", "behind > 0 || shift == 0;", "false;"),
    ("tile rows", "stores behind the last column", "at + V <= columns + shift", "at < columns + shift"),
    ("tile rows", "stores behind the last row", "if (down < rows && at + V", "if (at + V"),
    ("tile rows", "loses the old C", "if (STORE == 2 && gt_is_plain(g))", "if (STORE == 2)"),
]

NAMED = {"wgmma": WGMMA, "split": SPLIT, "split_mma": SPLIT_MMA, "simt_ws": SIMT_WS, "simt": SIMT,
         "vector": VECTOR, "outer": OUTER, "low_rank": LOW_RANK, "mma": MMA}


class Written:
    """A configuration whose space is written out."""

    def __init__(self, family):
        self.family, self.name, self.product, self.key = family, "by hand", ("64x127x512", "nn", "f32"), (family, "by hand")

    def space(self):
        return SPACES[self.family]


class HandMade:
    """All mutants made by hand, in the place of a generator. The class of each is its family."""

    def __init__(self, templates, only=None):
        families = dict.fromkeys((*SPACES, *NAMED, *(family for family, *_ in RARE)))
        self.sources = {family: Source(templates, HOSTS.get(family, family)) for family in families}
        written = {family: Written(family) for family in SPACES}
        named = {c.key: c for family in families for c in configurations(family)}
        made = [(written[family], *edit) for family, *edit in MUTANTS]
        made += [(named[family, name], *edit) for family, mutants in NAMED.items() for name, *edit in mutants]
        made += [(named[family, name], *edit) for family, name, *edit in RARE]
        self.mutants = [self.make(number, *words) for number, words in enumerate(made, 1) if not only or number in only]
        self.configurations = list(dict.fromkeys(mutant.configuration for mutant in self.mutants))

    def make(self, number, configuration, wrong, right_text, wrong_text):
        family, source = configuration.family, self.sources[configuration.family]
        if source.text.count(right_text) != 1:
            raise ValueError(f"{family} has changed: find again what {wrong}")
        start = source.text.index(right_text)
        edit = Edit(start, start + len(right_text), wrong_text)
        return Mutant(number, family, family, configuration, source, edit, wrong)

    def __iter__(self):
        return iter(self.mutants)
