"""What generated mutants and those made by hand have in common."""
from edits import describe
from spaces import HOSTS


class Mutant:
    """A template with an edit, as a family of its own with one configuration."""

    def __init__(self, number, subject, name, configuration, source, edit, wrong=""):
        """`name` is of its class; `wrong` says what is wrong with it, where somebody knows."""
        self.number, self.subject, self.name, self.configuration = number, subject, name, configuration
        self.wrong = wrong
        self.family = HOSTS.get(subject, subject)
        self.text = edit.apply(source.text)
        self.file, self.function = source.file_at(edit.start), source.function_at(edit.start)
        self.before, self.after = describe(source.text, edit)

    def __str__(self):
        said = f": it {self.wrong}" if self.wrong else ""
        return (f"{self.number} {self.name} of {self.subject} ({self.configuration.name}), {self.file}{said}\n"
                f"    - {self.before}\n    + {self.after}")
