"""Stores as OpenCL C statements, spelled once for all copies of a store that read alike."""

# key: e value, w width

from dataclasses import dataclass, field

from codegen.memory.narrow_reals import same_bits
from codegen.numbers.integer_text import suffix
from codegen.opencl.constant_folding import Folding, folded
from codegen.opencl.expression_text import Expressions
from codegen.opencl.loop_versions import Facts
from codegen.opencl.place_text import in_vectors
from codegen.opencl.text_patterns import Pattern, Varying
from codegen.tree.kernel_values import Kind, Load, Repack, Value, kind_of
from codegen.tree.statements import Store


@dataclass(slots=True)
class Stores:
    """The state of spelling the stores of one kernel as text: the values (`spell`), what each value
    is folded to (`folding`), and the text of each store, by its id, for all copies of it."""

    spell: Expressions
    folding: Folding
    copies: dict[int, Varying[Pattern | None]] = field(default_factory=dict)

    def given(self, facts: Facts) -> None:
        """Set the facts that hold for the text that is written from here on."""
        self.spell.facts = facts
        self.copies.clear()

    def statement(self, s: Store) -> str | None:
        """The text of a store, with the values of the spelled-out loops around; None for a store
        that would change nothing."""
        copies = self.copies.get(id(s))
        if copies is None:
            value = self.folding.of(s, self.spell.places.values)
            copies = Varying[Pattern | None](
                value.names, lambda here: self.pattern(s, value.at(here))
            )
            self.copies[id(s)] = copies
        pattern = copies.at(self.spell.places.values)
        return None if pattern is None else pattern.at(self.spell.places.values)

    def pattern(self, s: Store, value: Value) -> Pattern | None:
        """The text of the store s for all copies in which its value is folded to `value`; None if
        the store would change nothing."""
        if self.spell.facts.denied:
            value = folded(value, self.spell.places.values, self.spell.facts.tested)
            if value == Load(s.memory, s.index, kind_of(s.value).width, s.half):
                return None
        self.spell.places.open = []
        return Pattern(self.assigned(s, value), tuple(self.spell.places.open))

    def assigned(self, s: Store, e: Value) -> str:
        """The assignment of the store s, whose value is folded to e."""
        spell, places, w = self.spell, self.spell.places, kind_of(s.value).width
        if s.memory.scalar == "half" and isinstance(e, Repack) and same_bits(e):
            same = Kind("ushort", w)
            if w == 1 or in_vectors(s.memory, s.index, s.half, w):
                to = places.pointed(s.memory, s.index, same, s.half)
                return f"{to} = {spell.repack(e.e, same)};"
            e = Repack(Repack(e.e, Kind("float", w)), Kind("half", w))
        if isinstance(e, Repack) and e.kind.scalar == "half":
            if in_vectors(s.memory, s.index, s.half, w):
                bits = places.pointed(s.memory, s.index, Kind("ushort", w), s.half)
                return f"{bits} = {spell.function('to_half', e.e)};"
            value, place = spell.text(e.e), places.pointer(s.memory, s.index, s.half)
            return f"vstore_half{suffix(w)}_rte({value}, 0, {place});"
        value = spell.text(e)
        cell = places.cell(s.memory, s.index, w, s.half)
        if cell is None:
            return f"vstore{w}({value}, 0, {places.pointer(s.memory, s.index, s.half)});"
        return f"{cell} = {value};"
