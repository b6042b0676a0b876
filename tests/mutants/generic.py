"""Classes of mutations that know C++ and CUDA but not what a kernel is for: operators, constants, indices, guards, loops,
barriers, fences. Each takes a Source and returns all its edits."""
import re

from edits import Edit, every, literal
from sources import closing

COMPARISONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
ARITHMETIC = {"+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/", "*"), "+=": ("-=", "="), "-=": ("+=",)}
MASKS = {"^": ("|", "&"), "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",), "^=": ("|=",), "|=": ("&=",)}

# Names that one might take for each other.
PAIRS = "|".join([
    "row column|m n|lda ldb|stride_a stride_b|line along|lines steps|lines along|warp_row warp_column|TM TN",
    "BM BN|WM WN|first end|LANES_M LANES_N|few many|k outer|k_room outer_room|k_left outer_left",
    "outer_first k_first|reading writing|operand_a operand_b|SPAN_M SPAN_N|offset_a offset_b|full empty",
    "kept streamed|ld_kept ld_streamed|FEW COVER|OWN COVER|rows columns|band within|s l|s p|i j|e i|l p",
    "PITCH SUM_PITCH|KEPT_LINE KEPT_WIDE|T_FEW T_MANY|lane_row lane_column|first_row first_column",
    "fragment_a fragment_b|STAYING MOVING|begin end|tile block|turn block|PIECES CONSUMERS",
    "SLICES SLICE_THREADS|RESULTS SUMS|first_few first_many|UNIT UNITS|VEC LINE|SIDE PITCH|line_first along_first|line_left along_left",
    "THREADS_ COUNT|alpha beta|A B|upper spare|split tiles|shares steps|OUTER BK|all whole|warp_few warp_many",
    "lane_k lane_many",
])

# Calls that order threads, copies, blocks or kernels. Those that stand alone on a line can be left out.
SYNCS = (r"(?:__syncthreads|__syncwarp|consumers_sync|sync|cluster_wait|cluster_arrive(?:_first)?(?:<\w+>)?|gt_begin(?:_evenly)?"
         r"|gt_wait|(?:gt_)?wait_copies<[^>\n]*>|(?:gt_)?commit_copies|gt_mbarrier_(?:wait|arrive\w*|init))")

FENCES = [
    ("atom.acq_rel.gpu", ("atom.relaxed.gpu", "atom.acquire.gpu", "atom.release.gpu", "atom.acq_rel.cta")),
    ("st.release.gpu.global", ("st.relaxed.gpu.global", "st.volatile.global", "st.release.cta.global", "st.global")),
    ("ld.acquire.gpu.global", ("ld.relaxed.gpu.global", "ld.volatile.global", "ld.acquire.cta.global")),
    ("barrier.cluster.arrive.release", ("barrier.cluster.arrive.relaxed",)),
    ("mbarrier.arrive.shared::cta.b64 _,", ("mbarrier.arrive.relaxed.cta.shared::cta.b64 _,",)),
    ("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];", ("mbarrier.arrive.shared::cta.b64 _, [%0];",)),
    ("griddepcontrol.wait;", ("",)),
    ("cp.async.wait_group %0;", ("",)),
    ("barrier.cluster.wait.acquire", ("barrier.cluster.arrive.relaxed",)),
]


def binary(source, table):
    """Operators with a space on both sides: what else has these signs is a template's bracket, a pointer or a reference."""
    text = source.text
    return [Edit(t.start, t.end, new) for t in source.tokens if t.kind == "op" and t.text in table
            and text[t.start - 1] == " " and text[t.end] == " " and not text[:t.start].endswith("template ")
            for new in table[t.text]]


def comparison(source):
    return binary(source, COMPARISONS)


def arithmetic(source):
    return binary(source, ARITHMETIC)


def mask(source):
    return binary(source, MASKS) + every(source.text, r"\^ 1\b", "^ 2", "^ 0") + every(source.text, r" % 2\b", " % 3")


def constant(source):
    return [Edit(t.start, t.end, str(new)) for t in source.tokens if t.kind == "number" and t.text.isdigit()
            for new in {int(t.text) + 1, max(int(t.text) - 1, 0), 2 * int(t.text)} - {int(t.text)}]


def index(source):
    other = {}
    for pair in PAIRS.split("|"):
        one, two = pair.split()
        other.setdefault(one, []).append(two)
        other.setdefault(two, []).append(one)
    declared = {t.start for before, t in zip(source.tokens, source.tokens[1:])
                if before.kind == "name" and before.text not in ("return", "else")}
    return [Edit(t.start, t.end, new) for t in source.tokens if t.kind == "name" and t.start not in declared
            for new in other.get(t.text, ())]


def operand_end(tokens, at):
    """Where the right operand of && or || at a token ends."""
    depth = 0
    for t in tokens[at + 1:]:
        depth += (t.text in "([{") - (t.text in ")]}") if t.kind == "op" else 0
        if depth < 0 or (depth == 0 and t.text in ("&&", "||", "?", ":", ";", ",")):
            return t.start
    return tokens[-1].end


def guard(source):
    text, edits = source.text, []
    for at, t in enumerate(source.tokens):
        if t.text in ("&&", "||") and t.kind == "op":
            edits.append(Edit(t.start, t.end, "||" if t.text == "&&" else "&&"))
            edits.append(Edit(t.start - 1, operand_end(source.tokens, at), ""))
        if t.text == "if" and text[t.end:t.end + 2] == " (":
            end = closing(text, t.end + 1)
            edits += [Edit(t.end + 2, end, word) for word in ("true", "false")]
            edits.append(Edit(t.end + 2, end, f"!({text[t.end + 2:end]})"))
    return edits


def choice(source):
    """The two sides of a ?: in each other's place, as a minimum becomes a maximum."""
    side = r"([\w.]+(?:\([\w., ]*\)|\[[\w., ]*\])*)"
    return every(source.text, rf"\? {side} : {side}", r"? \2 : \1")


def loop(source):
    edits = []
    for t in source.tokens:
        if t.text != "for" or source.text[t.end:t.end + 2] != " (":
            continue
        start, end = t.end + 2, closing(source.text, t.end + 1)
        parts = source.text[start:end].split(";")
        if len(parts) != 3 or "[" in source.text[start:end] and "{" in source.text[start:end]:
            continue
        first, until, step = parts
        changed = [(first.replace("= 0", "= 1", 1), until, step), (first, until + " - 1", step),
                   (first, until + " + 1", step), (first, until, step.replace("++", " += 2", 1)),
                   (first, until, step.replace("+= ", "+= 2 * ", 1))]
        edits += [Edit(start, end, ";".join(new)) for new in changed if until.strip() and list(new) != parts]
    return edits


def barrier(source):
    """Leaves out what orders threads, copies or kernels, or lets fewer take part."""
    return (every(source.text, rf"^ +{SYNCS}\([^\n]*\);\n", "") + literal(source.text, "{ __syncthreads(); }", "{ }")
            + every(source.text, r"(?<=[ {])__syncthreads\(\);", "__syncwarp();")
            + every(source.text, r"consumers_sync\(\);", "__syncwarp();") + meeting(source.text))


def meeting(text):
    """Leaves out an arrival at the cluster's first barrier with the wait for it."""
    arrival = re.search(r"^ +cluster_arrive(?:_first\(|<READ_ALL>\()\);\n", text, re.MULTILINE)
    wait = re.search(r"^ +cluster_wait\(\); //[^\n]*\n", text, re.MULTILINE)
    if not arrival or not wait:
        return []
    return [Edit(wait.start(), wait.end(), "", [Edit(arrival.start(), arrival.end(), "        ;\n")])]


def order(source):
    """Neighbouring statements of which one orders something, the other way round."""
    return every(source.text, rf"^( +)([^\n{{}}]*{SYNCS}\([^\n]*;\n)\1(\w[^\n{{}}]*;\n)", r"\1\3\1\2") + \
        every(source.text, rf"^( +)(\w[^\n{{}}]*;\n)\1({SYNCS}\([^\n]*;\n)", r"\1\3\1\2")


def statement(source):
    """Leaves out an assignment or a call that stands on a line."""
    return every(source.text, rf"^( +)(?!{SYNCS}\(|return|const|static|typedef|using|break|continue|asm|unsigned|int |bool "
                              r"|gt_int )[\w*][\w.\[\]>*+\- ]*(?: [-+*^|]?= |\()[^\n]*;(?= *(?://[^\n]*)?\n)", r"\1;")


def fence(source):
    return [edit for old, new in FENCES for edit in literal(source.text, old, *new)]


def pipeline(source):
    """A stage, a phase or a count of what is under way that is not the one at hand."""
    text = source.text
    return (every(text, r"\bat\.stage\b(?! ==)", "((at.stage + 1) % STAGES)")
            + every(text, r"\b(at|next)\.phase\b", r"(\1.phase ^ 1)")
            + every(text, r"\bSTAGES - (\d)\b", r"STAGES - \1 - 1", r"STAGES - \1 + 1")
            + every(text, r"\bphase \^= 1;", "phase = 0;") + every(text, r"(?<=wait_copies<)0(?=>)", "1")
            + every(text, r"place at = \{0, 1\}", "place at = {0, 0}", "place at = {1, 1}")
            + every(text, r"at\{0, 0\}", "at{0, 1}") + every(text, r"reading = reading", "reading = writing")
            + every(text, r"other = -other", "other = other") + every(text, r"\bslot \+ SLOT", "slot + 2 * SLOT")
            + every(text, r"(?<=full\[s\]\), )PRODUCERS", "PRODUCERS - 1", "PRODUCERS / 2")
            + every(text, r"CONSUMERS / 32 \* GT_WARP", "(CONSUMERS / 32 - 1) * GT_WARP", "2 * CONSUMERS / 32 * GT_WARP")
            + every(text, r"\(k \+ 1\) % (2|BK)", r"k % \1", r"(k + 2) % \1"))


def lane(source):
    """Some do the work of a neighbouring thread, warp, block or place in a cluster, and nobody theirs. (Where neighbours
    only changed places, all would be done.)"""
    text = source.text
    return (every(text, r"\bthreadIdx\.x(?! == 0| >= CONS| < 32)", "(threadIdx.x & ~1)", "(threadIdx.x & ~32)",
                  "(threadIdx.x & 31)")
            + every(text, r"\bblockIdx\.x\b", "blockIdx.y", "(blockIdx.x & ~1)", "(blockIdx.x & 7)")
            + every(text, r"\bblockIdx\.y\b", "blockIdx.x", "(blockIdx.y & ~1)")
            + every(text, r"(?<!unsigned )\brank\(\)", "(rank() & ~1)", "0")
            + every(text, r"(?<!int )\blane_k\(\)", "(lane_k() + 1)")
            + every(text, r"(?<=, )MASK\)", "MASK ^ 1)", "1)"))


def narrow(source):
    """Sizes, strides and offsets in 32 bits."""
    text = source.text
    return (every(text, r"\(gt_int\)", "(int)")
            + every(text, r"^( +)(const )?gt_int (\w+ = )", r"\1\2int \3")
            + every(text, r"\b(\w+(?:\.row|\.column)?|\([^()\n]*\)) \* (g\.ld[abc]|ld|o\.ld_\w+|to\.ld)\b",
                    r"(int)(\1 * \2)")
            + every(text, r"\bblockIdx\.z \* (g\.stride_[abc])", r"(int)(blockIdx.z * (unsigned)\1)"))


CLASSES = [comparison, arithmetic, mask, constant, index, guard, choice, loop, barrier, order, statement, fence, pipeline,
           lane, narrow]
