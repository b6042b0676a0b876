"""Templates as one text: a template with its headers in their places, cut into tokens that mutations choose from."""
import bisect
import re

TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)
                     |(?P<directive>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
                     |(?P<string>"(?:[^"\\\n]|\\.)*")
                     |(?P<assertion>\b(?:static_assert|GT_ASSERT_FACT)\s*\()
                     |(?P<attribute>\b__(?:align|launch_bounds)__\s*\([^\n]*?\))
                     |(?P<number>\b\d[\w.]*)
                     |(?P<name>[A-Za-z_]\w*)
                     |(?P<op><<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|->|::|[-+*/%&|^]=|[-+*/%&|^<>=!?:;,.(){}\[\]~])
                     """, re.VERBOSE | re.MULTILINE | re.DOTALL)

# Where a function of the templates begins: its name.
FUNCTION = re.compile(r"^(?: {4})?(?:[^\n(]*__device__[^\n(]*|extern \"C\" __global__[^\n]*) [*&]?(\w+)\(", re.MULTILINE)

# What no kernel of f32 reaches: 16-bit types, and what only the ladder's templates call.
UNUSED = re.compile(r"^(?:struct __align__\(2\) gt_(?:half|bf16)\n.*?^\};|__device__ __forceinline__ (?:const )?GT_AB \*?"
                    r"gt_(?:at|load)_[ab]\(.*?^\})", re.MULTILINE | re.DOTALL)


class Token:
    def __init__(self, kind, text, start):
        self.kind, self.text, self.start, self.end = kind, text, start, start + len(text)


class Source:
    """A whole template: its text, its tokens, and the file that each line came from. `only` is the one file to mutate."""

    def __init__(self, templates, family, only=None):
        self.only = only
        self.lines = list(expand(templates, family + ".cu", set()))
        self.text = "".join(line for _, line in self.lines)
        self.starts = [0]
        for _, line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.functions = [(match.start(), match[1]) for match in FUNCTION.finditer(self.text)]
        self.left_out = [match.span() for match in UNUSED.finditer(self.text)]
        self.tokens = list(self.tokenise())
        self.left_out.sort()

    def file_at(self, place):
        return self.lines[bisect.bisect_right(self.starts, place) - 1][0]

    def function_at(self, place):
        """The name of the function that a place lies in, or that stands before it."""
        return next((name for start, name in reversed(self.functions) if start <= place), "")

    def tokenise(self):
        """Names, numbers, operators and strings of what may be mutated: no comments, no directives, no assertions."""
        place = 0
        while match := TOKEN.search(self.text, place):
            place = match.end()
            if match.lastgroup == "assertion":
                place = closing(self.text, match.end() - 1)
            if match.lastgroup in ("comment", "directive", "assertion", "attribute"):
                self.left_out.append((match.start(), place))
            elif not any(start <= match.start() < end for start, end in self.left_out):
                yield Token(match.lastgroup, match[0], match.start())

    def is_left_out(self, place):
        at = bisect.bisect_right(self.left_out, (place, len(self.text)))
        return at > 0 and place < self.left_out[at - 1][1]

    def own(self, edits):
        """Those of the edits that touch what may be mutated."""
        return [edit for edit in edits if self.only in (None, self.file_at(edit.start)) and not self.is_left_out(edit.start)]


def expand(templates, name, seen):
    """(file, line) of a template, each header where it is first asked for."""
    if name in seen:
        return
    seen.add(name)
    for line in (templates / name).read_text().splitlines(keepends=True):
        include = re.fullmatch(r'#include "(.*)"\n', line)
        if include:
            yield from expand(templates, include[1], seen)
        else:
            yield name, line


def closing(text, opening):
    """Where the parenthesis that opens at a place is closed."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place
    raise ValueError("unbalanced parentheses")

