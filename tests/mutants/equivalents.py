"""Why a mutant that passes computes what its template computes: by a rule that holds wherever it applies, or by a line of
equivalent.txt."""
import pathlib
import re

from spaces import CONFIGURATIONS

HERE = pathlib.Path(__file__).parent
MINIMUM = re.compile(r"([\w.\[\]]+(?: - \w+)?) ([<>]) ([\w.\[\]]+) \? (?:\(\w+\))?\1 : \3(?![\w.\[])")
MULTIPLE = re.compile(r"\b(\w+) (>) 0 \? \1(?: \* \w+)? : 0\b")
ROUNDED_UP = re.compile(r"\b(\w+) - 1\) / \1\b")
FIXED_LOOP = re.compile(r"for \(int (\w+) = \w+; \1 < ([A-Z]\w*|\d+)(?: [*/] \w+)*; \1(?:\+\+| \+= [^;]*)\)")
NUMBER = re.compile(r"const (?:int|unsigned|bool|gt_int) (?:(?!\w\()[^\[])*")  # computed without a call or an array
WAIT = re.compile(r"(?:wait_copies|multiply_wait|wait_read|finish)<([A-Za-z_.]*)([-\d ]*)>\(")
ZEROS = {  # what is 0 where a parameter is 1
    "warps_k": r"warp_k\(\)|group", "warps_few": r"warp_few\(\)", "warps_many": r"warp_many\(\)", "lanes_k": r"lane_k\(\)",
    "cluster_k": r"rank(?:\(\))?", "split_k": r"blockIdx\.y|k_first|plan\.first|intervals\.first",
    "slices": r"threadIdx\.x / SLICE_THREADS", "warp_groups": r"threadIdx\.x / 128",
}
OF_COPIES = ("repack.cuh", "split_pass.cuh")  # kernels that come before the product's, with a grid of their own


def read_list(name):
    lines = (line.strip() for line in (HERE / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def reasons():
    """(place, class, before, after, reason) of equivalent mutants; * is any, before and after are parts of a line."""
    return [[word.strip() for word in line.split(" :: ")] for line in read_list("equivalent.txt")]


def parameter(mutant, name):
    """Of a mutant's configuration; None where it has no such."""
    texts = [c.parameters for c in CONFIGURATIONS if c.key == (mutant.subject, mutant.configuration.name)]
    found = re.search(rf"\b{name}=(\d+)", " ".join(texts))
    return int(found[1]) if found else None


def of_equals(mutant):
    for match in (*MINIMUM.finditer(mutant.before), *MULTIPLE.finditer(mutant.before)):
        place = match.start(2)
        if mutant.after == mutant.before[:place + 1] + "=" + mutant.before[place + 1:]:
            return "the smaller or larger of two equal numbers, whichever is taken"
    return None


def of_sides(mutant):
    """far.h lets rows and matrices lie that far apart, but has only a few of them: more would take minutes on a GPU."""
    if mutant.name == "narrow" and not re.search(r"\bld|\.ld|stride", mutant.before):
        return "outside the checks: a side, a K or a workspace of 2^31 elements or more"
    return None


def of_rounding(mutant):
    for match in ROUNDED_UP.finditer(mutant.before):
        before, behind = mutant.before[:match.start()], mutant.before[match.end():]
        if any(mutant.after == before + match[0].replace("- 1)", more) + behind for more in ("- 0)", "+ 1)")):
            return "tiles, steps or lines beyond the last, which no memory but a kernel's own is touched for"
    return None


def of_turns(mutant):
    """Of arrays in registers, which loops of so many turns go over, there is no more, and nobody reads what is computed."""
    for match in FIXED_LOOP.finditer(mutant.before):
        until = match.start(2) - 2
        rest = mutant.before.index(";", until)
        more = (mutant.before[:until] + "<=" + mutant.before[until + 1:], mutant.before[:rest] + " + 1" + mutant.before[rest:])
        if mutant.after in more:
            return "a turn more than there are, which no memory but a kernel's own is touched for"
    return None


def of_blocks(mutant):
    if mutant.file in OF_COPIES:
        return None
    blocks = parameter(mutant, "blocks")  # of a persistent grid
    others = ("blockIdx.y", "(blockIdx.x & ~1)", "(blockIdx.x & 7)")
    if blocks == 1 and parameter(mutant, "split_k") in (None, 1) \
            and any(mutant.after == mutant.before.replace("blockIdx.x", other, 1) for other in others):
        return "there is one block"
    if blocks and blocks <= 8 and mutant.after == mutant.before.replace("blockIdx.x", "(blockIdx.x & 7)", 1):
        return f"there are {blocks} blocks"
    if not blocks and mutant.name == "loop" and mutant.after == re.sub(r"\+= (?=gridDim\.x\b)", "+= 2 * ", mutant.before):
        return "there is a block for each tile, which has no second one"
    return None


def of_waits(mutant):
    def pending(found):
        """How many may be under way still, from the name on that stands before it."""
        return sum(int(sign + number) for sign, number in re.findall(r"(-?) ?(\d+)", found[2]))

    before, after = WAIT.search(mutant.before), WAIT.search(mutant.after)
    if before and after and WAIT.sub("", mutant.before) == WAIT.sub("", mutant.after) and before[1] == after[1] \
            and pending(after) < pending(before):
        return "waits for more than need be"
    return None


def of_threads(mutant):
    for remainder in re.findall(r"threadIdx\.x % (129|256)\b", mutant.after):
        if mutant.before == mutant.after.replace(f"threadIdx.x % {remainder}", "threadIdx.x % 128", 1) \
                and parameter(mutant, "warp_groups") == 1:
            return "there is one warpgroup"
    for mask, divisor in re.findall(r"\(threadIdx\.x & (~32|31)\) % (\d+)", mutant.after):
        if mutant.before == mutant.after.replace(f"(threadIdx.x & {mask})", "threadIdx.x", 1) and 32 % int(divisor) == 0:
            return "the remainder does not depend on those bits"
    for bit, modulus, divisor in re.findall(r"\(threadIdx\.x & ~(1|32)\) % (\d+) / (\d+)", mutant.after):
        if mutant.before == mutant.after.replace(f"(threadIdx.x & ~{bit})", "threadIdx.x", 1) \
                and int(modulus) % int(divisor) == 0 and int(divisor) % (2 * int(bit)) == 0:
            return "the quotient does not depend on that bit"
    for mask, divisor in re.findall(r"\(threadIdx\.x & (~1|~32|31)\) / (\d+)", mutant.after):
        if mutant.before != mutant.after.replace(f"(threadIdx.x & {mask})", "threadIdx.x", 1):
            continue
        if mask != "31" and int(divisor) % (64 if mask == "~32" else 2) == 0:
            return "the quotient does not depend on that bit"
        if (mask, divisor) == ("31", "128") and parameter(mutant, "warp_groups") == 1:
            return "there is one warpgroup"
    return None


def of_zeros(mutant):
    """What is added or subtracted is a product with a number that is 0 in this configuration."""
    for sign in re.finditer(r" ([-+]) ", mutant.before):
        if mutant.after != mutant.before[:sign.start(1)] + "-+"[sign[1] == "-"] + mutant.before[sign.end(1):]:
            continue
        for name, zero in ZEROS.items():
            if parameter(mutant, name) == 1 and re.match(rf"(?:\(gt_int\))?(?:{zero})(?: \* |[,;)]| [-+] )", mutant.before[sign.end():]):
                return f"of one there is nothing to add: {name}"
    if mutant.name == "lane" and parameter(mutant, "split_k") == 1 \
            and mutant.after == mutant.before.replace("blockIdx.y", "(blockIdx.y & ~1)", 1):
        return "the grid has one part"
    return None


def of_order(mutant):
    """Two of one kind, or one that has nothing to do with the other. Who reads memory before kernels that came before have
    written it is seen by the race checker."""
    if mutant.name != "order":
        return None
    statements = [statement.strip() for statement in re.split(r"; ?(?![^(]*\))", mutant.before) if statement.strip()]
    if any(NUMBER.fullmatch(statement) for statement in statements):
        return "a number that no memory is read for, computed before or behind what orders others"
    if any("setmaxnreg" in statement for statement in statements):
        return "registers change hands before or behind what orders others"
    if any(re.fullmatch(r"gt_(?:begin|wait)(?:_evenly)?\(\)", statement) for statement in statements):
        return "nothing of global memory is touched between"
    if any(all(kind in statement for statement in statements) for kind in ("gt_mbarrier_init(", "_sync(~0u, ")):
        return "one after the other in any order"
    return None


RULES = (of_equals, of_sides, of_rounding, of_turns, of_blocks, of_waits, of_threads, of_zeros, of_order)


def fits(word, text):
    return word == "*" or word in text


WAYS = ("guard", "choice", "comparison")


def takes(name, mutant):
    """Whether a line of this class is about a mutant."""
    return name in ("*", mutant.name) or (name == "way" and mutant.name in WAYS)


def has(mutant, word):
    """Whether a mutant is of a configuration, by its name or a parameter's value."""
    name, _, value = word.partition("=")
    return parameter(mutant, name) == int(value) if value else mutant.configuration.name == word


def reason_of(mutant, table):
    places = ("*", mutant.file, f"{mutant.file}:{mutant.function}")
    for place, classes, before, after, reason in table:
        name, _, configurations = classes.partition("@")
        if place in places and takes(name, mutant) and fits(before, mutant.before) and fits(after, mutant.after) \
                and (not configurations or any(has(mutant, word) for word in configurations.split("|"))):
            return reason
    return next((reason for rule in RULES if (reason := rule(mutant))), None)
