"""A mutation is an edit of a template's text. Here are the ways in which edits are written down and looked up."""
import re


class Edit:
    """Replaces text[start:end]; `also` are edits that belong to it."""

    def __init__(self, start, end, text, also=()):
        self.start, self.end, self.text, self.also = start, end, text, tuple(also)

    def apply(self, text):
        for edit in sorted((self, *self.also), key=lambda e: -e.start):
            text = text[:edit.start] + edit.text + text[edit.end:]
        return text


def squeeze(text):
    return " ".join(text.split())


def touched(text, edit):
    """The lines that an edit touches, before and after, on one line each."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = text.find("\n", max(edit.end - 1, edit.start))
    before = text[start:end]
    return squeeze(before), squeeze(before[:edit.start - start] + edit.text + before[edit.end - start:])


def describe(text, edit):
    """The same of all that belongs to it."""
    lines = [touched(text, part) for part in (edit, *edit.also)]
    return " ... ".join(before for before, _ in lines), " ... ".join(after for _, after in lines)


def every(text, pattern, *replacements):
    """An edit for each occurrence of a pattern and each replacement, which may refer to its groups."""
    return [Edit(match.start(), match.end(), match.expand(new)) for match in re.finditer(pattern, text, re.MULTILINE)
            for new in replacements if match.expand(new) != match[0]]


def literal(text, old, *replacements):
    """The same for a text as it stands; \\0 in a replacement stands for it."""
    return [Edit(match.start(), match.end(), new.replace("\\0", old)) for match in re.finditer(re.escape(old), text)
            for new in replacements]
