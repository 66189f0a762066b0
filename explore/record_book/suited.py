"""The entries of a record book that suit a search: their variants are among those that its options
allow, and are right, or wrong, in this search as in the one that measured them."""

from functools import lru_cache

from explore.options.options import Options
from explore.record_book.entries import Entry
from explore.results.records import Failed, Measured
from ir.core.frozen import frozen
from ir.core.nodes import Program
from rewrites.families.all_families import FAMILIES, forms


@frozen
class Suited:
    """The judge of the entries that suit a search of `program` with `options`, in which results
    with an error above `max_error` are wrong."""

    program: Program
    options: Options
    max_error: float

    def allows(self, entry: Entry) -> bool:
        """True if the options allow the family and the memory of an entry's variant."""
        families, limit = self.options.families, self.options.max_memory
        memory = entry.memory_bytes
        asked = not families or entry.record.variant.family in families
        return asked and (limit is None or memory is None or memory <= limit)

    def right(self, entry: Entry) -> bool:
        """True if an entry's variant ran, with an error that is right in this search."""
        outcome = entry.record.outcome
        if not isinstance(outcome, Measured) or outcome.error is None:
            return False
        return outcome.error <= self.max_error

    def judged_alike(self, entry: Entry) -> bool:
        """True if an entry of the same program says of its variant what this search would: that it
        is right, or that it failed. A result that was wrong in a search which allowed smaller
        errors may be right in this one."""
        variant, outcome = entry.record.variant, entry.record.outcome
        if variant.form in _overflowing(self.program, variant.family, self.options.largest_input):
            return False
        if isinstance(outcome, Failed) and outcome.error is not None:
            return not outcome.error <= self.max_error
        return isinstance(outcome, Failed) or self.right(entry)


@lru_cache(maxsize=64)
def _overflowing(program: Program, family: str, largest: float) -> frozenset[str]:
    """The names of a family's forms that cannot be relied on where inputs hold `largest`."""
    every = forms(program, family) if family in FAMILIES else ()
    return frozenset(form.name for form in every if form.largest < largest)
