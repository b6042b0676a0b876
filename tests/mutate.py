"""The generator of mutants: draws a subject, a class, a configuration and an edit by a seed."""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "mutants"))

import generic
import semantic
from edits import squeeze
from mutant import Mutant
from sources import Source
from spaces import HOSTS, SUBJECTS, configurations

CLASSES = [mutation.__name__ for mutation in generic.CLASSES + semantic.CLASSES]


class Generator:
    """Mutants without end, no two the same, in an order that depends on the seed alone."""

    def __init__(self, templates, seed, subjects=SUBJECTS, classes=CLASSES, only=None):
        self.rng, self.only = random.Random(seed), only
        self.sources = {subject: Source(templates, HOSTS.get(subject, subject),
                                        "repack.cuh" if subject == "repack" else None) for subject in subjects}
        self.configurations = [c for subject in subjects for c in configurations(subject)]
        self.classes = [m for m in generic.CLASSES + semantic.CLASSES if m.__name__ in classes]
        self.listed = {}

    def edits(self, subject, mutation):
        source = self.sources[subject]
        if mutation in semantic.CLASSES:
            return source.own(mutation(source, self.rng))
        if (subject, mutation) not in self.listed:
            self.listed[subject, mutation] = source.own(mutation(source))
        return self.listed[subject, mutation]

    def __iter__(self):
        """Classes take turns, each time in another order."""
        seen, number, rounds = set(), 0, 0
        while rounds < 1000 and number < max(self.only or [1 << 30]):
            rounds += 1
            for mutation in self.rng.sample(self.classes, len(self.classes)):
                subject = self.rng.choice(list(self.sources))
                edits = self.edits(subject, mutation)
                if not edits:
                    continue
                edit = self.rng.choice(edits)
                configuration = self.rng.choice(configurations(subject))
                mutant = Mutant(number + 1, subject, mutation.__name__, configuration, self.sources[subject], edit)
                key = (configuration.name, subject, squeeze(mutant.text))
                if mutant.before == mutant.after and not edit.also or key in seen:
                    continue
                seen.add(key)
                number += 1
                if not self.only or number in self.only:
                    yield mutant
