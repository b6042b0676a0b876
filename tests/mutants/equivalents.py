"""Why a mutant that passes computes what its template computes: by a rule that holds wherever it applies, or by a line of
equivalent.txt."""
import pathlib
import re

HERE = pathlib.Path(__file__).parent
MINIMUM = re.compile(r"([\w.\[\]]+(?: - \w+)?) ([<>]) ([\w.\[\]]+) \? (?:\(int\))?\1 : \3(?![\w.\[])")


def read_list(name):
    lines = (line.strip() for line in (HERE / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def reasons():
    """(place, class, before, after, reason) of equivalent mutants; * is any, before and after are parts of a line."""
    return [[word.strip() for word in line.split(" :: ")] for line in read_list("equivalent.txt")]


def of_equals(mutant):
    for match in MINIMUM.finditer(mutant.before):
        place = match.start(2)
        if mutant.after == mutant.before[:place + 1] + "=" + mutant.before[place + 1:]:
            return "the smaller or larger of two equal numbers, whichever is taken"
    return None


def of_sides(mutant):
    """far.h lets rows and matrices lie that far apart, but has only a few of them: more would take minutes on a GPU."""
    if mutant.name == "narrow" and not re.search(r"\bld|\.ld|stride", mutant.before):
        return "outside the checks: a side, a K or a workspace of 2^31 elements or more"
    return None


RULES = (of_equals, of_sides)


def fits(word, text):
    return word == "*" or word in text


def reason_of(mutant, table):
    places = ("*", mutant.file, f"{mutant.file}:{mutant.function}")
    for place, classes, before, after, reason in table:
        name, _, configurations = classes.partition("@")
        if place in places and name in ("*", mutant.name) and fits(before, mutant.before) and fits(after, mutant.after) \
                and (not configurations or mutant.configuration.name in configurations.split("|")):
            return reason
    return next((reason for rule in RULES if (reason := rule(mutant))), None)
