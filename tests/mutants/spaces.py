"""Configurations that mutants are tuned with: few threads and small tiles, chosen so that between them every path of a
template is taken. Launch facts follow from the parameters, as in the family's own space."""

FACTS = {
    "simt": """bm / wm * (bn / wn) * 32 AS threads, 128 AS regs,
        stages * bk * ((bm + bn) * 4 + 16 * (1 - :trans_a) + 16 * :trans_b) AS smem_bytes,
        (split_k > 1) * split_k * bm * bn * 4 AS ws_tile, split_k > 1 AS any_split, :cc >= 90 AS dependent_launch""",
    "mma": """bm / wm * (bn / wn) * 32 AS threads, 128 AS regs,
        max(stages * bk * (bm + bn) * :elem_bytes, bm / wm * (bn / wn) * 16 * (wn + 8) * :acc_bytes) AS smem_bytes,
        (split_k > 1) * split_k * bm * bn * 4 AS ws_tile, split_k > 1 AS any_split, :cc >= 90 AS dependent_launch""",
    "mma_ws": """bm / wm * (bn / wn) * 32 + 128 AS threads, 128 AS regs, stages * bk * (bm + bn) * 8 AS smem_bytes,
        (split_k > 1) * split_k * bm * bn * 8 AS ws_tile, split_k > 1 AS any_split, 1 AS dependent_launch""",
    "batched": """products * (bm / tm) * (bn / tn) AS threads, 64 AS regs, products
        * ((max(bk * (bm + bn + 4 * (1 - :trans_a) + 4 * :trans_b) * 4, (tn > :align / 4) * bm * bn * 4) + 15) / 16 * 16)
        AS smem_bytes, 1 AS dependent_launch""",
    "outer": """down * (bn * :c_bytes + 32 * (:align < 16)) / 16 AS threads, 64 AS regs, 0 AS smem_bytes, :cc >= 90 AS dependent_launch""",
    "low_rank": """down * bn * :c_bytes / wide AS threads, 64 AS regs, :cc >= 90 AS dependent_launch,
        (bm * ((bk * 4 + 15) / 16 | 1) * 4 + bk * (bn + 64 / :c_bytes * (:align < 16)) / (wide / :c_bytes) * (wide / :c_bytes + 1)) * 4
        AS smem_bytes""",
    "simt_ws": """bm / wm * (bn / wn) * 32 + 128 AS threads, 128 AS regs,
        stages * (bk * (bm + bn)
            + CASE WHEN :trans_a OR repack & 1 THEN 0 WHEN kmajor = 1 THEN 4 * bm WHEN kmajor = 2 AND :align >= 8 THEN 2 * bk
                   ELSE 4 * bk END
            + CASE WHEN NOT :trans_b OR repack & 2 THEN 0 WHEN kmajor = 1 AND :trans_a THEN 4 * bn ELSE 4 * bk END) * 4
        AS smem_bytes,
        stream_k * bm * bn * 4 AS ws_tile, 1 AS dependent_launch""",
    "simt_cluster": """bm / wm * (bn / wn) * 32 * slices + 128 AS threads, 128 AS regs, cluster_k AS cluster_y,
        max(stages * (bk * (bm + bn)
                + CASE WHEN :trans_a OR repack & 1 THEN 0 WHEN kmajor = 1 THEN 4 * bm
                       WHEN kmajor = 2 AND :align >= 8 THEN 2 * bk ELSE 4 * bk END
                + CASE WHEN NOT :trans_b OR repack & 2 THEN 0 WHEN kmajor = 1 AND :trans_a THEN 4 * bn ELSE 4 * bk END) * 4,
            bm * bn * (slices + (slices > 1 AND cluster_k > 1)) * 4) AS smem_bytes,
        (split_k > cluster_k) * split_k / cluster_k * bm * bn * 4 AS ws_tile, split_k > cluster_k AS any_split, 1 AS dependent_launch""",
    "skinny": """32 * warps_few * warps_many * warps_k AS threads, 128 AS regs, cluster_k AS cluster_y,
        max((2 * CASE side WHEN 1 THEN bn ELSE bm END * (bk + 4)
             + 32 * warps_few * warps_many * warps_k * stages * CASE side WHEN 1 THEN tm ELSE tn END * 4) * :elem_bytes,
            warps_k * CASE side WHEN 1 THEN bn * (bm + 4) ELSE bm * (bn + 4) END * 4)
        + (cluster_k > 1) * bm * bn * 4 AS smem_bytes,
        (split_k > cluster_k) * split_k / cluster_k * bm * bn * 4 AS ws_tile, split_k > cluster_k AS any_split, 1 AS dependent_launch""",
    "vector": """32 * warps_n * warps_k AS threads, 64 AS regs,
        CASE WHEN NOT :trans_b AND :align < 16 THEN warps_k * lanes_k ELSE warps_k END * bn * 4 AS smem_bytes,
        (split_k > 1) * split_k * bn * 4 AS ws_tile, split_k > 1 AS any_split, 1 AS dependent_launch""",
    "split": """warp_groups * 128 + 128 AS threads, 128 AS regs,
        stages * (bm + bn) * 128 + CASE WHEN bn / cluster_k = 32 THEN 1 ELSE 2 END * warp_groups * 64
            * CASE WHEN bn / cluster_k % 32 THEN 16 ELSE 32 END * 4 + 16 * stages + 16 AS smem_bytes,
        cluster_k AS cluster_y, (split_k > cluster_k) * split_k / cluster_k * bm * bn * 4 AS ws_tile,
        split_k > cluster_k AS any_split, bm AS box_a_rows, 64 AS box_a_columns, bn AS box_b_rows, 64 AS box_b_columns, 3 AS swizzle_ab,
        (:align >= 16) * 64 AS box_c_rows, (:align >= 16) * CASE WHEN bn / cluster_k % 32 THEN 16 ELSE 32 END AS box_c_columns,
        (:align >= 16) * CASE WHEN bn / cluster_k % 32 THEN 2 ELSE 3 END AS swizzle_c, :math = 'split' AS dependent_launch""",
}


FACTS["split_mma"] = """bm / wm * (bn / wn) * 32 AS threads, 128 AS regs,
        max(stages * (bm + bn) * 128, bm / wm * (bn / wn) * 16 * (wn + 8) * 4) AS smem_bytes,
        (split_k > 1) * split_k * bm * bn * 4 AS ws_tile, split_k > 1 AS any_split, :math = 'split' AS dependent_launch"""
TYPES = {"mma": "bf16_f32", "mma_ws": "f64", "wgmma": "bf16_f32", "split": "f32 split", "split_mma": "f32 split"}  # f32 where nothing else is said
SWIZZLES = {32: 1, 64: 2, 128: 3}  # by the bytes of a line
BYTES = {"bf16": (2, 2), "bf16_f32": (2, 4), "s8": (1, 4), "e4m3": (1, 2)}  # of A and B, of C


def facts_of_wgmma(parameters, layout, types):
    p = {name: int(value) for name, value in (word.split("=") for word in parameters.split())}
    (ab, c), a_along_k, b_along_k, groups = BYTES[types], layout[0] == "n", layout[1] == "t", p["warp_groups"]
    line, n = 128 // ab, (p["bm"] if p["swap"] else p["bn"]) // p["cluster_k"]
    instructions = 1 if ab == 2 or (b_along_k if p["swap"] else a_along_k) else 2
    subtile_n = 8192 // (64 * instructions * c)
    while n % subtile_n:
        subtile_n //= 2
    side_m, sharers = p["bn"] if p["swap"] else p["bm"], 1 if p.get("pingpong") else groups
    buffers = 1 if side_m // 64 // sharers * n == subtile_n * instructions else 2
    parts, mapped = p["split_k"] // p["cluster_k"], p.get("load", 2) == 2
    sums = side_m // 64 // sharers * (n * p["cluster_k"] // 2 + 32 * (instructions - 1))
    any_split = not p.get("pingpong") and sums <= 128
    line_a, line_b = (side % line if mapped and not along_k and (side * ab == 32 or side * ab % 128 == 64) else line
                      for side, along_k in ((p["bm"], a_along_k), (p["bn"], b_along_k)))
    stage = p["bk"] * ab * sum(side if along_k else -(-side // length) * length
                               for side, along_k, length in ((p["bm"], a_along_k, line_a), (p["bn"], b_along_k, line_b)))
    rows, columns = (subtile_n, 128 // c) if p["swap"] else (64 * instructions, subtile_n)

    def asked(side, along_k, length, blocks):
        """Lines of a box that a block asks for, of those that share an operand: all, or by eight."""
        if not along_k and -(-side // length) % blocks == 0:
            return p["bk"]
        lines = side if along_k else p["bk"]
        return next(lines // n for n in range(blocks, 0, -1) if lines % (8 * n) == 0)

    return f"""{groups * 128 + 128} AS threads, 128 AS regs, {p["cluster_m"] * p["cluster_n"]} AS cluster_x,
        {p["cluster_k"]} AS cluster_y,
        {p["stages"] * stage + buffers * groups * 64 * instructions * subtile_n * c + 16 * p["stages"] + 16} AS smem_bytes,
        {mapped * asked(p["bm"], a_along_k, line_a, p["cluster_n"])} AS box_a_rows, {mapped * line_a} AS box_a_columns,
        {mapped * asked(p["bn"], b_along_k, line_b, p["cluster_m"])} AS box_b_rows, {mapped * line_b} AS box_b_columns,
        {3 + (line_a + line_b < 2 * line)} AS swizzle_ab,
        (:align >= 16) * {rows} AS box_c_rows, (:align >= 16) * {columns} AS box_c_columns,
        (:align >= 16) * {SWIZZLES[columns * c]} AS swizzle_c,
        {any_split * parts * p["bm"] * p["bn"] * 4} AS ws_tile, {int(any_split)} AS any_split, 1 AS dependent_launch"""


class Configuration:
    """Parameters of a family, and the product that it is tuned for."""

    def __init__(self, family, name, shape, layout, parameters, types=None):
        self.family, self.name, self.product = family, name, (shape, layout, types or TYPES.get(family, "f32"))
        self.parameters, self.key = parameters, (family, name)

    def space(self):
        columns = ", ".join('{1} AS "{0}"'.format(*word.split("=")) for word in self.parameters.split())
        facts = facts_of_wgmma(self.parameters, *self.product[1:]) if self.family == "wgmma" else FACTS[self.family]
        return f"SELECT *, {facts}, 1 AS epilogue FROM (SELECT {columns})"


CONFIGURATIONS = [Configuration(*words) for words in (
    # Rows that begin anywhere, K over blocks; vectors through registers; A transposed, K over three blocks.
    ("simt", "split", "64x127x512", "nn",
     "bm=32 bn=64 bk=16 wm=16 wn=32 tm=4 tn=4 stages=3 split_k=2 group=1 load=1 occ=1 ptxas=3"),
    ("simt", "vectors", "64x128x256", "nn",
     "bm=32 bn=64 bk=16 wm=16 wn=32 tm=4 tn=4 stages=2 split_k=1 group=8 load=0 occ=1 ptxas=3"),
    ("simt", "transposed", "96x128x256", "tn",
     "bm=32 bn=64 bk=16 wm=16 wn=32 tm=4 tn=4 stages=4 split_k=3 group=1 load=1 occ=1 ptxas=3"),
    # Lines of a tile that are no power of two.
    ("simt", "twelve", "96x128x256", "tn",
     "bm=96 bn=64 bk=16 wm=48 wn=32 tm=12 tn=4 stages=2 split_k=1 group=1 load=1 occ=1 ptxas=3"),
    # Both operands transposed through registers, four lines at a time.
    ("simt", "fours", "64x127x511", "nt",
     "bm=64 bn=64 bk=16 wm=32 wn=32 tm=8 tn=4 stages=2 split_k=1 group=1 load=0 occ=1 ptxas=3"),
    # Tiles as large as the matrices, C staged; groups of threads that are part of a warp.
    ("batched", "exact", "33x17x21", "nn", "bm=36 bn=20 bk=21 tm=4 tn=4 products=2"),
    ("batched", "warps", "32x32x32", "tn", "bm=16 bn=16 bk=8 tm=4 tn=4 products=4"),
    # Rows of C that begin anywhere, taken in turns; rows of whole vectors, K in parts; results that are rounded.
    ("outer", "shifted", "85x131x3", "nn", "bm=32 bn=24 bk=2 tm=2 down=8"),
    ("outer", "aligned", "40x72x12", "tn", "bm=16 bn=32 bk=4 tm=2 down=8"),
    ("outer", "rounded", "85x131x3", "nn", "bm=32 bn=48 bk=2 tm=1 down=16", "bf16"),
    # The same with a K that is longer than what is in shared memory, or not; with more kinds of rows than threads below each other.
    ("low_rank", "shifted", "85x131x7", "nn", "bm=32 bn=32 bk=5 tm=2 down=8 wide=16 occ=1"),
    ("low_rank", "aligned", "40x72x12", "tn", "bm=16 bn=32 bk=12 tm=1 down=8 wide=8 occ=1"),
    ("low_rank", "rounded", "85x131x6", "nt", "bm=32 bn=32 bk=6 tm=2 down=8 wide=8 occ=1", "bf16"),
    # Stream-K or whole tiles; A transposed on its way, K-major, or in pairs.
    ("simt_ws", "stream", "64x127x512", "nn",
     "bm=64 bn=128 bk=32 wm=32 wn=64 tm=8 tn=8 stages=3 kmajor=0 stream_k=1 group=1 occ=2 repack=0 ptxas=1 blocks=20"),
    ("simt_ws", "kmajor", "64x256x256", "nn",
     "bm=64 bn=128 bk=16 wm=32 wn=64 tm=8 tn=8 stages=3 kmajor=1 stream_k=0 group=8 occ=2 repack=0 ptxas=1 blocks=8"),
    ("simt_ws", "pairs", "64x256x256", "nn",
     "bm=64 bn=128 bk=16 wm=32 wn=64 tm=8 tn=8 stages=4 kmajor=2 stream_k=1 group=1 occ=2 repack=0 ptxas=1 blocks=7"),
    # Both operands transposed: columns of B stay, rows of A move.
    ("simt_ws", "B stays", "64x256x256", "tt",
     "bm=64 bn=128 bk=16 wm=32 wn=64 tm=8 tn=8 stages=3 kmajor=1 stream_k=1 group=2 occ=2 repack=0 ptxas=1 blocks=7"),
    # Tiles of three matrices shared.
    ("simt_ws", "batch", "64x256x256", "nn",
     "bm=64 bn=128 bk=16 wm=32 wn=64 tm=8 tn=8 stages=3 kmajor=0 stream_k=1 group=1 occ=2 repack=0 ptxas=1 blocks=7 "
     "products=3"),
    # K over slices, cluster and clusters; over slices and cluster; over slices alone.
    ("simt_cluster", "clusters", "64x127x512", "nn",
     "bm=32 bn=64 bk=32 wm=32 wn=32 tm=4 tn=8 slices=2 stages=3 kmajor=2 cluster_k=2 split_k=4 repack=0 occ=1 ptxas=1"),
    ("simt_cluster", "pair", "64x128x256", "nn",
     "bm=32 bn=64 bk=32 wm=32 wn=32 tm=4 tn=8 slices=2 stages=3 kmajor=0 cluster_k=2 split_k=2 repack=0 occ=1 ptxas=1"),
    ("simt_cluster", "slices", "64x128x256", "tn",
     "bm=32 bn=64 bk=32 wm=32 wn=32 tm=4 tn=8 slices=2 stages=4 kmajor=0 cluster_k=1 split_k=3 repack=0 occ=1 ptxas=1"),
    # Rows that begin at any element, K over blocks, or by elements, C by warps or by rows of the tile; chunks, C as lanes have it; halves of chunks, both
    # operands M/N-major; both K-major, one buffer of fragments.
    ("mma", "anywhere", "64x127x512", "nn",
     "bm=32 bn=64 bk=32 wm=16 wn=32 stages=2 fragments=2 inst_k=16 split_k=2 group=1 load=0 store=1 occ=1 repack=0"),
    ("mma", "elements", "65x95x63", "nn",
     "bm=32 bn=32 bk=64 wm=16 wn=32 stages=2 fragments=2 inst_k=16 split_k=1 group=1 load=2 store=1 occ=1 repack=0", "bf16"),
    ("mma", "odd rows", "65x95x63", "nn",
     "bm=32 bn=48 bk=64 wm=16 wn=48 stages=2 fragments=2 inst_k=16 split_k=1 group=1 load=2 store=1 occ=1 repack=0", "bf16"),
    ("mma", "tile rows", "65x95x63", "nn",
     "bm=64 bn=96 bk=64 wm=32 wn=48 stages=2 fragments=2 inst_k=16 split_k=1 group=1 load=2 store=2 occ=1 repack=0", "bf16"),
    ("mma", "chunks", "64x128x256", "nn",
     "bm=32 bn=64 bk=64 wm=16 wn=32 stages=3 fragments=2 inst_k=16 split_k=1 group=8 load=1 store=0 occ=1 repack=0"),
    ("mma", "halves", "96x132x256", "tn",
     "bm=32 bn=64 bk=32 wm=32 wn=16 stages=4 fragments=2 inst_k=16 split_k=3 group=1 load=1 store=1 occ=1 repack=0"),
    ("mma", "one buffer", "64x128x256", "nt",
     "bm=32 bn=64 bk=32 wm=16 wn=32 stages=3 fragments=1 inst_k=16 split_k=1 group=1 load=1 store=1 occ=1 repack=0"),
    ("mma", "three warps", "30x190x94", "nn",
     "bm=16 bn=96 bk=32 wm=16 wn=32 stages=3 fragments=2 inst_k=16 split_k=1 group=1 load=1 store=1 occ=1 repack=0", "bf16"),
    # Parts of K that several blocks add up; bytes that begin anywhere, across K.
    ("mma", "many parts", "64x96x256", "tt",
     "bm=32 bn=64 bk=32 wm=16 wn=32 stages=3 fragments=2 inst_k=16 split_k=10 group=1 load=1 store=1 occ=1 repack=0", "f16"),
    ("mma", "bytes", "65x97x255", "tt",
     "bm=32 bn=64 bk=64 wm=16 wn=32 stages=2 fragments=2 inst_k=32 split_k=1 group=1 load=0 store=1 occ=1 repack=0", "s8"),
    # Tiles that a few blocks share, rows that begin at any element; a block for each tile; K over blocks.
    ("mma_ws", "persistent", "64x127x256", "nn",
     "bm=32 bn=32 bk=16 wm=16 wn=16 inst_k=4 stages=4 split_k=1 group=8 occ=1 repack=0 blocks=3"),
    ("mma_ws", "tiles", "64x64x256", "tt",
     "bm=32 bn=32 bk=16 wm=16 wn=16 inst_k=8 stages=3 split_k=1 group=1 occ=1 repack=0 blocks=0"),
    ("mma_ws", "parts", "64x96x512", "nt",
     "bm=32 bn=64 bk=16 wm=16 wn=32 inst_k=8 stages=4 split_k=3 group=1 occ=1 repack=0 blocks=0"),
    # K over clusters and their blocks; B shared in a cluster, persistent; both shared by eight blocks, B in three parts, and
    # K over two such clusters; B in short lines, or in strips of them; A shared, operands swapped; copies first, and C of 16
    # bits from them; B through registers; sums promoted, with the next stage's products running, or not; copies by threads;
    # two warp groups that take tiles in turns.
    ("wgmma", "split", "64x128x512", "nn",
     "bm=64 bn=64 bk=64 swap=0 warp_groups=1 stages=4 cluster_m=1 cluster_n=1 cluster_k=2 split_k=4 group=1 repack=0 occ=1 blocks=0"),
    ("wgmma", "cluster", "192x128x256", "tn",
     "bm=64 bn=128 bk=64 swap=0 warp_groups=1 stages=3 cluster_m=2 cluster_n=1 cluster_k=1 split_k=1 group=8 repack=0 occ=1 blocks=4"),
    ("wgmma", "eight", "200x96x400", "nt",
     "bm=64 bn=48 bk=64 swap=0 warp_groups=1 stages=4 cluster_m=4 cluster_n=2 cluster_k=1 split_k=2 group=4 repack=0 occ=1 blocks=0",
     "bf16"),
    ("wgmma", "short", "128x32x400", "nn",
     "bm=64 bn=32 bk=64 swap=0 warp_groups=1 stages=4 cluster_m=2 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 occ=1 blocks=0"),
    ("wgmma", "strips", "128x184x400", "tn",
     "bm=64 bn=96 bk=64 swap=0 warp_groups=1 stages=4 cluster_m=2 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 occ=1 blocks=0"),
    ("wgmma", "swapped", "48x256x256", "nt",
     "bm=48 bn=128 bk=128 swap=1 warp_groups=2 stages=3 cluster_m=1 cluster_n=2 cluster_k=1 split_k=1 group=1 repack=0 occ=1 blocks=0",
     "bf16"),
    ("wgmma", "copied", "64x127x250", "nn",
     "bm=64 bn=64 bk=64 swap=0 warp_groups=1 stages=3 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=7 occ=1 blocks=0"),
    ("wgmma", "words", "64x127x250", "nn",
     "bm=64 bn=128 bk=64 swap=0 warp_groups=1 stages=3 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=7 occ=1 blocks=0",
     "bf16"),
    ("wgmma", "registers", "64x256x384", "nn",
     "bm=32 bn=128 bk=128 swap=1 warp_groups=1 stages=4 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 occ=1 blocks=0",
     "s8"),
    ("wgmma", "promoted", "64x128x384", "nt",
     "bm=64 bn=64 bk=128 swap=0 warp_groups=1 stages=4 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 occ=1 blocks=0",
     "e4m3"),
    ("wgmma", "not ahead", "256x112x384", "nt",
     "bm=128 bn=112 bk=128 swap=0 warp_groups=2 stages=4 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 occ=1 blocks=1",
     "e4m3"),
    ("wgmma", "threads", "64x124x260", "nn",
     "bm=64 bn=80 bk=64 swap=0 warp_groups=1 stages=4 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 load=1 occ=1 "
     "blocks=1"),
    ("wgmma", "pingpong", "192x192x704", "nt",
     "bm=64 bn=64 bk=64 swap=0 warp_groups=2 pingpong=1 stages=3 cluster_m=1 cluster_n=1 cluster_k=1 split_k=1 group=1 repack=0 "
     "hint=3 occ=1 blocks=2"),
    # Rows of A and columns of B in parts, by lines and by strips, two warp groups in turns, persistent; one, the other way; K
    # over blocks of a cluster and over clusters.
    ("split", "turns", "200x112x200", "nn",
     "bm=128 bn=64 bk=32 warp_groups=2 stages=4 interval=2 ordered=1 cluster_k=1 split_k=1 group=1 repack=19 occ=1 "
     "blocks=3"),
    ("split", "alone", "64x79x170", "tt",
     "bm=64 bn=48 bk=32 warp_groups=1 stages=4 interval=1 ordered=0 cluster_k=1 split_k=1 group=1 repack=19 occ=1 "
     "blocks=0"),
    ("split", "shared", "64x192x512", "nn",
     "bm=64 bn=192 bk=32 warp_groups=1 stages=4 interval=1 ordered=0 cluster_k=2 split_k=4 group=1 repack=19 occ=1 "
     "blocks=0"),
    ("split_mma", "parted", "70x64x512", "nt",
     "bm=64 bn=32 bk=32 wm=32 wn=16 stages=3 split_k=2 group=1 repack=27 occ=1"),
    # Few rows with B streaming; few columns with A streaming, over the lanes of a warp; the same with elements too small for copies
    # in the background, across K and, in rows that begin anywhere, along it.
    ("skinny", "rows", "16x512x512", "nn",
     "side=0 bm=16 bn=128 bk=128 tm=16 tn=4 warps_few=1 warps_many=1 warps_k=4 lanes_k=1 stages=3 cluster_k=2 split_k=4 "
     "hint=0 occ=1"),
    ("skinny", "columns", "255x16x511", "nn",
     "side=1 bm=64 bn=16 bk=128 tm=4 tn=8 warps_few=2 warps_many=2 warps_k=1 lanes_k=4 stages=3 cluster_k=1 split_k=2 "
     "hint=1 occ=1"),
    ("skinny", "elements", "255x16x511", "nn",
     "side=1 bm=64 bn=16 bk=128 tm=4 tn=8 warps_few=2 warps_many=2 warps_k=1 lanes_k=4 stages=3 cluster_k=1 split_k=2 "
     "hint=1 occ=1", "bf16"),
    ("skinny", "elements of rows", "15x253x701", "nn",
     "side=0 bm=15 bn=128 bk=128 tm=15 tn=4 warps_few=1 warps_many=1 warps_k=4 lanes_k=1 stages=3 cluster_k=1 split_k=1 "
     "hint=0 occ=1", "bf16"),
    # Rows of B that begin anywhere, over blocks, and sums that threads share; rows of whole vectors; B along K, two columns a
    # warp; the same in rows that begin anywhere.
    ("vector", "shifted", "1x253x301", "nn", "bm=1 bn=28 cols=1 lanes_k=4 warps_n=1 warps_k=2 unroll=2 split_k=2 hint=1"),
    ("vector", "sharers", "1x253x301", "nn", "bm=1 bn=12 cols=1 lanes_k=8 warps_n=1 warps_k=4 unroll=2 split_k=2 hint=1"),
    ("vector", "turns", "1x253x301", "nn", "bm=1 bn=28 cols=1 lanes_k=4 warps_n=1 warps_k=8 unroll=8 split_k=1 hint=1"),
    ("vector", "whole", "1x256x300", "nn", "bm=1 bn=32 cols=1 lanes_k=8 warps_n=2 warps_k=2 unroll=2 split_k=1 hint=0"),
    ("vector", "along", "1x65x1024", "nt", "bm=1 bn=4 cols=2 lanes_k=32 warps_n=2 warps_k=2 unroll=2 split_k=3 hint=0"),
    ("vector", "apart", "1x65x1021", "nt", "bm=1 bn=8 cols=2 lanes_k=32 warps_n=4 warps_k=2 unroll=2 split_k=2 hint=0"),
    ("vector", "halves", "1x253x301", "nn", "bm=1 bn=56 cols=1 lanes_k=4 warps_n=1 warps_k=2 unroll=2 split_k=2 hint=1", "bf16"),
    # Both operands are copied first: A transposed, B as it is; and the other way round; B in vectors of two.
    ("repack", "as stored", "64x127x512", "nn",
     "bm=64 bn=64 bk=16 wm=32 wn=32 tm=4 tn=8 stages=3 kmajor=0 stream_k=0 group=1 occ=2 repack=3 ptxas=1 blocks=20"),
    ("repack", "in vectors", "64x126x512", "nn",
     "bm=64 bn=64 bk=16 wm=32 wn=32 tm=4 tn=8 stages=3 kmajor=0 stream_k=0 group=1 occ=2 repack=3 ptxas=1 blocks=20"),
    ("repack", "transposed", "64x127x511", "tt",
     "bm=64 bn=64 bk=16 wm=32 wn=32 tm=4 tn=8 stages=3 kmajor=0 stream_k=1 group=1 occ=2 repack=3 ptxas=1 blocks=20"),
)]

# The copies are simt_ws's, with both operands copied.
HOSTS = {"repack": "simt_ws"}
FACTS["repack"] = FACTS["simt_ws"]


def configurations(subject):
    return [c for c in CONFIGURATIONS if c.family == subject]


SUBJECTS = list(dict.fromkeys(c.family for c in CONFIGURATIONS))
