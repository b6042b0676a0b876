"""Classes of mutations that know what a product is: scalars, batches, alignments, sizes, values, and what a kernel may
read, write and remember. Each takes a Source and a random generator, which draws their constants, and returns edits."""
import re

from edits import Edit, every, literal

# How a kernel that was right goes wrong where a condition holds.
EFFECTS = ["g.alpha.value *= 1.03125f;", "g.k -= g.k > 1;", "g.m -= g.m > 1;", "g.n -= g.n > 1;", "g.beta.value *= 0.5f;",
           "g.a += g.m > 1 && g.k > 1;"]
VALUE_EFFECTS = ["g.alpha.value *= 1.03125f;", "g.alpha.value = -g.alpha.value;"]
COPY_EFFECTS = ["g.k -= g.k > 1;", "g.m -= g.m > 1;", "g.n -= g.n > 1;", "g.a += g.m > 1 && g.k > 1;",
                "g.b += g.n > 1 && g.k > 1;"]


KERNEL = 'extern "C" __global__ void __launch_bounds__(THREADS_'
BEGIN = re.compile(r"    gt_begin(?:_evenly)?\(\);\n")
CONSUME = re.compile(r"        gt_wait\(\);\n        (consume\(.*\);)\n")
NAMED = "gt_args g)\n{\n"  # a kernel that reads its parameter by this name
OTHER = "gt_args args)\n{\n"  # or by this one
COPIED = "gt_args given)\n{\n    gt_args g = given;\n    const gt_args &args = g;\n"  # with a copy that may change
SEEN = 'asm volatile("" ::"l"(&g) : "memory");'  # NVRTC 13.0 drops some changes of a copy that nobody may look at


def in_copies(source, statement, before):
    """A statement at the start of the kernel that makes the copies."""
    old = "repack(const __grid_constant__ gt_args g)\n{\n"
    start = source.text.index(old)
    kernel = source.text.rindex("extern", 0, start)
    return Edit(start, start + len(old),
                old.replace("gt_args g", "gt_args args") + f"    gt_args g = args;\n    {statement}\n",
                [Edit(kernel, kernel, before)] if before else [])


def at_start(source, statement, before=""):
    """A statement at the start of the kernel, which may change the arguments `g`."""
    text = source.text
    if source.only:
        return in_copies(source, statement, before)
    kernel = text.index(KERNEL)
    given = text.find("    gt_args g = args;\n", kernel)
    also = [Edit(kernel, kernel, before)] if before else []
    if given >= 0:
        end = given + len("    gt_args g = args;\n")
        return Edit(end, end, f"    {statement}\n", also)
    if text.find(NAMED, kernel) >= 0:
        start = text.index(NAMED, kernel)
        return Edit(start, start + len(NAMED), f"gt_args args)\n{{\n    gt_args g = args;\n    {statement}\n    {SEEN}\n", also)
    call = text.find("    run_roles(args);\n", kernel)
    if call < 0:
        start = text.index(OTHER, kernel)
        return Edit(start, start + len(OTHER), COPIED + f"    {statement}\n    {SEEN}\n", also)
    return Edit(call, call + len("    run_roles(args);\n"),
                f"    gt_args g = args;\n    {statement}\n    run_roles(g);\n", also)


def after_wait(source, statement, before=""):
    """A statement that may touch global memory, and change `g` before results are stored."""
    text = source.text
    if source.only:
        return in_copies(source, statement, before)
    kernel = text.index(KERNEL)
    also = [Edit(0, 0, before)] if before else []
    named = text.find(NAMED, kernel)
    if named >= 0:
        also.append(Edit(named, named + len(NAMED), "gt_args args)\n{\n    gt_args g = args;\n"))
    elif text.find("= args;\n", kernel) < 0 and text.find("run_roles(args)", kernel) < 0:
        other = text.index(OTHER, kernel)
        also.append(Edit(other, other + len(OTHER), COPIED))
    call = CONSUME.search(text)
    if call:
        return Edit(call.start(), call.end(), "        gt_wait();\n        const gt_args &given = g;\n        {\n"
                    f"            gt_args g = given;\n            {statement}\n            {call.group(1)}\n        }}\n", also)
    end = BEGIN.search(text, kernel).end()
    return Edit(end, end, f"    {statement}\n", also)


def by_map(effect):
    """What an effect is where the copy engine reads A and B by maps, which say where they lie and how long K is."""
    return {"g.k -= g.k > 1;": "g.k -= g.k > BK ? BK : 0;", "g.a += g.m > 1 && g.k > 1;": "g.c += g.n > 1;"}.get(effect, effect)


def under(condition, effect):
    """An effect where a condition holds. NVRTC 13.0 drops a pointer's change under an if in a copy of the parameters."""
    moved = re.fullmatch(r"(g\.[abc] \+= )(.*)", effect)
    return f"{moved[1]}({condition}) && {moved[2]}" if moved else f"if ({condition}) {effect}"


def where(source, conditions, effects):
    effects = COPY_EFFECTS if source.only else effects
    if "gt_tensor_map map_a" in source.text:
        effects = [by_map(effect) for effect in effects]
    return [at_start(source, under(condition, effect)) for condition in conditions for effect in effects]


def scalar(source, rng):
    cut = "__uint_as_float(__float_as_uint(g.{0}.value) & ~0u << %d)" % rng.choice((12, 16))
    statements = ["if (g.beta.value == 1) g.beta.value = 0;", "if (g.beta.value == -1) g.beta.value = 1;",
                  "if (g.alpha.value == 1 && g.beta.value != 0) g.beta.value = 1;",
                  "if (g.alpha.value == 1) g.beta.value = 0;", "g.alpha.value = fabsf(g.alpha.value);",
                  "g.beta.value = fabsf(g.beta.value);", "if (g.alpha.value < 0) g.beta.value = -g.beta.value;",
                  "g.alpha.value = " + cut.format("alpha") + ";", "g.beta.value = " + cut.format("beta") + ";",
                  f"if (g.alpha.value > {rng.choice((2, 16, 1000))}) g.alpha.value = 2;",
                  f"if (fabsf(g.beta.value) < 1e-{rng.choice((2, 6, 20))}f) g.beta.value = 0;",
                  "if (g.alpha.value == g.beta.value) g.beta.value = 0;", "if (g.alpha.value == -1) g.alpha.value = 1;"]
    return ([at_start(source, statement) for statement in statements if not source.only]
            + literal(source.text, "g.beta.value == GT_ACC(0)", "g.beta.value == GT_ACC(1)", "true", "false")
            + literal(source.text, "g.beta.value != GT_ACC(0)", "g.beta.value > GT_ACC(0)", "true")
            + every(source.text, r"g\.beta\.value \* GT_ACC\(", "GT_ACC(", "-g.beta.value * GT_ACC(",
                    "g.alpha.value * GT_ACC(")
            + every(source.text, r"g\.alpha\.value \* sum(s\[u\])?", r"sum\1", r"-g.alpha.value * sum\1",
                    r"g.beta.value * sum\1"))


def batch(source, rng):
    some = rng.choice((1, 2))
    return (every(source.text, r"\bblockIdx\.z\b", "(blockIdx.z % 2)", "(blockIdx.z & ~2)",
                  f"(blockIdx.z > {some} ? {some} : blockIdx.z)", "0", "(blockIdx.z + 1) % gridDim.z")
            + every(source.text, r"g\.stride_([abc])", r"(int)g.stride_\1", r"(g.stride_\1 + 1)")
            + where(source, [f"blockIdx.z >= {some}", "gridDim.z > 2", f"blockIdx.z == {some + 1}"], VALUE_EFFECTS))


def alignment(source, rng):
    bytes_ = rng.choice((32, 64, 128, 256))
    conditions = [f"(unsigned long long)g.{p} % {bytes_} != 0" for p in "abc"] + \
                 [f"g.ld{p} % {rng.choice((8, 16, 32))} != 0" for p in "abc"]
    return where(source, conditions, EFFECTS[:2])


def size(source, rng):
    conditions = [f"g.m == {rng.choice(('BM - 1', 'BM + 1', '2 * BM - 1', '63'))}",
                  f"g.n == {rng.choice(('BN - 1', 'BN + 1', '63'))}",
                  f"(g.m + BM - 1) / BM > {rng.choice((4, 8, 16, 20))}", f"(g.n + BN - 1) / BN > {rng.choice((4, 8, 16))}",
                  f"g.k > {rng.choice((1024, 2048, 4096))}", f"g.k < {rng.choice((4, 8, 64))}",
                  f"g.m % BM == {rng.choice(('1', '2', '3', 'BM - 1'))}",
                  f"g.n % BN == {rng.choice(('1', '2', '3', 'BN - 1'))}", "g.m > g.n", "g.k < BK && g.m > BM",
                  f"g.m * g.n > {rng.choice((4096, 65536))}", "g.lda == (GT_TRANS_A ? g.m : g.k)",
                  "g.ldc == g.n", f"g.ldc > g.n + {rng.choice((8, 64))}"]
    return where(source, conditions, EFFECTS)


def tail(source, rng):
    conditions = [f"g.k % BK == {rng.choice(('1', '2', '3', 'BK / 2', 'BK - 1'))}",
                  f"g.k % 4 == {rng.randrange(1, 4)}", f"g.k % 8 == {rng.randrange(1, 8)}",
                  f"g.n % 4 == {rng.randrange(1, 4)}", f"g.m % 4 == {rng.randrange(1, 4)}", "g.k % BK == 2",
                  f"g.k / BK == {rng.randrange(1, 4)}"]
    return where(source, conditions, EFFECTS) + every(
        source.text, r"\b(room|left|most|valid|k_left|outer_left|k_room) < (VEC|V|WIDTH)\b", r"\1 < \2 - 1",
        r"\1 + 1 < \2") + \
        literal(source.text, "left >= WIDTH", "left >= WIDTH - 1", "left > 0") + \
        literal(source.text, "u < WIDTH - 1", "u < WIDTH - 2", "u < 1") + \
        literal(source.text, "j + WIDTH <= g.n", "j + WIDTH <= g.n + 1", "j + WIDTH < g.n", "true")


LENGTH = {"a": "(GT_TRANS_A ? g.m : g.k)", "b": "(GT_TRANS_B ? g.k : g.n)", "c": "g.n"}
LINES = {"a": "(GT_TRANS_A ? g.k : g.m)", "b": "(GT_TRANS_B ? g.n : g.k)", "c": "g.m"}
FIRST = "threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0 && g.alpha.value != 0"


def stray(source, rng):
    """Reads and writes of what is not the kernel's."""
    line = rng.choice(("0", "1"))
    edits = []
    for p in "abc":
        padding = f"(float *)g.{p} + {line} * g.ld{p} + {LENGTH[p]}"
        edits.append(after_wait(source, f"if ({FIRST} && g.ld{p} > {LENGTH[p]} && {LINES[p]} > {line}) *({padding}) = 0;"))
        past = f"(float *)g.{p} + {LINES[p]} * g.ld{p} + {rng.choice(('0', '1', '32'))}"
        edits.append(after_wait(source, f"if ({FIRST}) *({past}) = 0;"))
        if p != "c":
            edits.append(after_wait(source, f'if ({FIRST}) {{ float x; asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : '
                                            f'"l"({past}) : "memory"); }}'))
            edits.append(after_wait(source, f'if ({FIRST}) {{ float x; asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : '
                                            f'"l"((float *)g.{p} - 1) : "memory"); }}'))
            edits.append(after_wait(source, f"if ({FIRST} && g.k > 0) *(float *)g.{p} = 1;"))
    return edits


COUNTED = "__device__ unsigned launches;\n"
COUNT = "if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0) atomicAdd(&launches, 1u);"


def state(source, rng):
    """Right at first, or as long as somebody else left memory as it is hoped to be."""
    often = rng.choice((3, 10, 40, 200, 1000))
    edits = [after_wait(source, f"{COUNT} {under(f'atomicAdd(&launches, 0u) > {often}u', effect)}", COUNTED)
             for effect in (COPY_EFFECTS if source.only else VALUE_EFFECTS)]
    text = source.text
    return (edits + literal(text, "        mine[p * THREADS_] = ",
                            "        if (sum[p * 4 / TN][p * 4 % TN] != GT_ACC(0))\n    \\0")
            + every(text, r"mine\[p \* THREADS_\] = \*\(four_acc \*\)&(sum\[[^\n]*\]);",
                    r"{ const four_acc now = *(four_acc *)&\1; for (int e = 0; e < 4; e++) "
                    r"mine[p * THREADS_].e[e] += now.e[e]; }")
            + literal(text, "        part[p * CONSUMERS] = ", "        if (piece(sum, p).e[0] != GT_ACC(0))\n    \\0")
            + literal(text, "            parts[part * TOTAL + n * THREADS] = sums[n];",
                      "            if (sums[n].e[0] != GT_ACC(0))\n    \\0")
            + every(text, r"^( +)((?:g\.counters\[tile\]|\*counter|\*flag_of\(g, block\)) = )0;", r"\1\g<2>1;", r"\1;",
                    r"\1if (g.k % 3) \g<2>0;", r"\1if (blockIdx.z == 0) \g<2>0;"))


def output(source, rng):
    """What C held decides what becomes of it, though beta is 0."""
    old = rng.choice(("fabsf({0}) <= 3e38f", "{0} == 0", "{0} > 0", "{0} == 1"))
    added = rng.choice(("fabsf({0}) <= 3e38f", "{0} > 0", "{0} == 1"))
    text = source.text
    return (literal(text, "    *c = g.beta.value == GT_ACC(0) ? GT_C(scaled)",
                    f"    if (g.beta.value == GT_ACC(0) && {old.format('*c')})\n        return;\n\\0",
                    f"    *c = g.beta.value == GT_ACC(0) ? GT_C({added.format('*c')} ? scaled + *c : scaled)")
            + literal(text, "        *c = result;\n    } else if",
                      f"        if (!(g.beta.value == GT_ACC(0) && {old.format('c->e[1]')}))\n"
                      "            *c = result;\n    } else if")
            + literal(text, "        g.c[away + row * g.ldc + column] = ",
                      f"        if (!({old.format('g.c[away + row * g.ldc + column]')}))\n    \\0")
            + [at_start(source, f"if (g.beta.value == 0) g.beta.value = 1e-{rng.choice((12, 20, 30))}f;")
               for _ in (1, 2) if not source.only])


def operand_values(source, *expressions):
    """Values of an operand, x or y, on their way to a multiply-add, or of a copy."""
    if source.only:
        old = "                held[i / ABREAST] = *from;\n"
        place = source.text.index(old)
        read = "*from"
        return [Edit(place, place + len(old), old.replace(read, e.format(read))) for e in expressions]
    edits = []
    for line in ('    asm volatile("fma.rn.f32 %0, %1, %2, %0;"', "    sum = __fmaf_rn(x, y, sum);"):
        place = source.text.find(line)
        if place >= 0:
            edits += [Edit(place, place, "    {0} = {1};\n".format(v, e.format(v))) for v in "xy" for e in expressions]
    return edits


def value(source, rng):
    """NaN, infinity, large and tiny numbers are not what they were."""
    limit, tiny = rng.choice((6, 8, 16, 100)), rng.choice((10, 20, 30, 37))
    return (operand_values(source, f"fminf(fmaxf({{0}}, -{limit}.f), {limit}.f)", f"fabsf({{0}}) < 1e-{tiny}f ? 0 : {{0}}",
                           "{0} != {0} ? 0 : {0}", "fmaxf({0}, -3e38f)", "fabsf({0}) > 3e38f ? 0 : {0}",
                           "fabsf({0}) > 1e18f ? 1e18f : {0}")
            + literal(source.text, "fma.rn.f32", "fma.rn.ftz.f32", "fma.rn.sat.f32")
            + every(source.text, r"(const GT_ACC scaled = )g\.alpha\.value \* sum;",
                    r"\1g.alpha.value * (sum != sum ? 0 : sum);", r"\1fminf(g.alpha.value * sum, 1e30f);")
            + every(source.text, r"GT_ACC\(\*c\)", "(*c != *c ? 0 : GT_ACC(*c))", "fmaxf(*c, -1e30f)")
            + every(source.text, r"GT_ACC\(old\.e\[u\]\)", "(old.e[u] != old.e[u] ? 0 : GT_ACC(old.e[u]))"))


def precision(source, rng):
    """Fewer bits than the type has, in an operand or in a sum."""
    bits = rng.choice((4, 6, 10, 13))
    cut = f"__uint_as_float(__float_as_uint({{0}}) & ~0u << {bits})"
    return (operand_values(source, cut)
            + every(source.text, r"(const GT_ACC scaled = )g\.alpha\.value \* sum;",
                    r"\1g.alpha.value * " + cut.format("sum") + ";")
            + every(source.text, r"g\.alpha\.value \* sums\[u\]", "g.alpha.value * " + cut.format("sums[u]")))


CLASSES = [scalar, batch, alignment, size, tail, stray, state, output, value, precision]
