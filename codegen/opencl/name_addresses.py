"""Names for what indices of a kernel have in common: base addresses, and quotients that recur.

An index is a sum. Its terms are sorted by the loop they change in; the sum up to a loop is a base
address, worth a name where it is used again or where naming it takes work out of a loop.
"""

# key: i index, depth of a loop: 0 outside of all, spelled-out ones not counted

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from codegen.index.atoms import Assume, Atom, Product, Quot, Rem, Var
from codegen.index.index import Index, constant, from_atom, operands_of, summed, var
from codegen.index.substitute import unassumed
from codegen.opencl.index_text import needs_64, to_c, to_c_anywhere
from codegen.opencl.memory_names import Spellings
from codegen.tree.array_axes import bare
from codegen.tree.statements import (
    Block,
    For,
    If,
    Load,
    Memory,
    Select,
    Store,
    Value,
    Whole,
    subvalues,
)

WORTH = 2  # operations that make a sum worth a name
UNSPELLED = (Var, Assume, Product)


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition `const int name = index`, at the beginning of a loop's body or (None) of the
    kernel's."""

    loop: str | None
    name: str
    index: Index


@dataclass(slots=True)
class Naming:
    """The names for parts of indices in one kernel: those of base addresses (`bases`) and of atoms,
    by the keys of what they name, with their definitions. `taken` has all names in use, `keys`
    those of variables in indices; `depths` has the depth of each loop that stays a loop in the
    text, `spelled` the loops that do not. `short` keeps what `shortened` gave, by the key of the
    index."""

    taken: set[str]
    keys: set[str]  # of the variables in indices
    depths: dict[str, int] = field(default_factory=dict)  # of loops that stay loops
    spelled: frozenset[str] = frozenset()
    bases: dict[str, Index] = field(default_factory=dict)  # by the key of the sum they name
    atoms: dict[str, str] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)
    short: dict[str, Index] = field(default_factory=dict)

    def text(self, i: Index) -> str:
        """The text of an index, spelled with the names of its parts."""
        return to_c(i, self.atoms, needs_64(i))

    def lines(self, loop: str | None) -> Iterator[str]:
        """The lines that define names at the beginning of the body of the loop `loop` (None: of the
        kernel), where guards inside that body have not been tested yet."""
        for d in self.definitions:
            if d.loop == loop:
                others = {key: name for key, name in self.atoms.items() if name != d.name}
                wide = needs_64(unassumed(d.index))
                kind = "long" if wide else "int"
                yield f"const {kind} {d.name} = {to_c_anywhere(d.index, others, wide)};"

    def shortened(self, i: Index) -> Index:
        """The index i, with its base address replaced by the name of that address, if it has
        one."""
        if i.key not in self.short:
            named = [base for _, base in self.sums(i) if base.key in self.bases]
            self.short[i.key] = i - named[-1] + self.bases[named[-1].key] if named else i
        return self.short[i.key]

    def sums(self, i: Index) -> Iterator[tuple[int, Index]]:
        """The partial sums of i, as pairs (depth, sum), outermost first: for each depth at which
        terms of i change, the sum of the terms that change in loops of at most this depth. The
        constant of i, and terms that change with spelled-out loops, are in none."""
        at = [(self.depth(atom), (atom, k)) for atom, k in i.terms]
        known = [(depth, term) for depth, term in at if depth is not None]
        for depth in sorted({depth for depth, _ in known}):
            yield depth, summed(tuple([term for d, term in known if d <= depth]), 0)

    def depth(self, atom: Atom) -> int | None:
        """The depth of the innermost loop that an atom changes in; None if it changes with
        spelled-out loops."""
        if not atom.names.isdisjoint(self.spelled):
            return None
        return max([self.depths.get(name, 0) for name in atom.names], default=0)

    def loop_of(self, names: frozenset[str]) -> str | None:
        """The innermost of the loops with these names; None if there is none."""
        inside = [name for name in names if name in self.depths]
        return max(inside, key=lambda name: self.depths[name], default=None)

    def fresh(self, hint: str) -> str:
        return _fresh(hint, self.taken)


def _fresh(hint: str, taken: set[str]) -> str:
    """The hint, or the hint with the first number that makes it free; it is added to `taken`."""
    name, n = hint, 1
    while name in taken:
        n += 1
        name = f"{hint}{n}"
    taken.add(name)
    return name


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of an index: the memory it addresses, if any, the depth of loops around it, and the
    number of its copies in the text."""

    index: Index
    memory: Memory | None
    depth: int
    copies: int


def naming(
    body: Block,
    spelled: frozenset[str],
    registers: frozenset[Memory],
    names: Spellings,
    taken: set[str],
) -> Naming:
    """The names for parts of the indices in a kernel's body, where the loops `spelled` are spelled
    out. `names` has the names of the kernel's memories, from which names of addresses are made;
    indices of memories in `registers` are left out, as registers have no addresses. New names are
    not in `taken`, and are added to it."""
    found = Naming(taken, {*taken}, spelled=spelled)
    uses = [use for use in _uses(body, found, 0, 1) if use.memory not in registers]
    _name_bases(found, [use for use in uses if use.memory is not None], names)
    left = [(found.shortened(u.index) if u.memory else u.index, u.copies) for u in uses]
    _name_atoms(found, [*left, *((d.index, 1) for d in found.definitions)])
    return found


def _uses(body: Block, found: Naming, depth: int, copies: int) -> Iterator[_Use]:
    for s in body.statements:
        match s:
            case For(name, count, inner, _) if name in found.spelled:
                yield from _uses(inner, found, depth, copies * count)
            case For(name, _, inner, _):
                found.depths[name] = depth + 1
                yield from _uses(inner, found, depth + 1, copies)
            case If(condition, inner):
                for part in condition.parts:
                    yield _Use(part, None, depth, copies)
                yield from _uses(inner, found, depth, copies)
            case Store(memory, index, value, half):
                for i, m in _addresses(value):
                    yield _Use(i, m, depth, copies)
                yield _Use(flat(memory, index, half), memory, depth, copies)


def _addresses(value: Value) -> Iterator[tuple[Index, Memory | None]]:
    for e in subvalues(value):
        match e:
            case Load(memory, index, _, half):
                yield flat(memory, index, half), memory
            case Whole(index):
                yield index, None
            case Select(condition, _, _):
                for part in condition.parts:
                    yield part, None


def flat(memory: Memory, index: Index, half: Index | None) -> Index:
    """The index in a whole memory, all its halves, of the scalar at `index` in the half with the
    number `half` (None: the memory has no halves); assumptions in the index are dropped."""
    whole = index if half is None else index + half * memory.elements
    return bare(whole)


# ---- base addresses


def _name_bases(found: Naming, uses: list[_Use], names: Spellings) -> None:
    count: Counter[str] = Counter()
    for use in uses:
        for _, base in found.sums(use.index):
            count[base.key] += use.copies
    for use in uses:
        assert use.memory is not None
        before, spelled = constant(0), constant(0)
        for depth, base in found.sums(use.index):
            spelled = spelled + (base - before)
            worth = _operations(spelled) >= WORTH and (depth < use.depth or count[base.key] > 1)
            if base.key not in found.bases and worth:
                word = "at" if depth else "base"
                key = _fresh(f"{use.memory.name}{word}", found.keys)  # terms are in their order
                name = found.fresh(f"{names[use.memory].variable}{word}")
                found.bases[base.key], found.atoms[key] = var(key, base.lo, base.hi), name
                found.definitions.append(Definition(found.loop_of(base.names), name, spelled))
            before, spelled = base, found.bases.get(base.key, spelled)


def _operations(i: Index) -> int:
    """The number of operations that computing an index takes."""
    extra = sum((k != 1) + (not isinstance(atom, Var)) for atom, k in i.terms)
    return max(0, len(i.terms) - 1) + extra


# ---- quotients


def _name_atoms(found: Naming, uses: Iterable[tuple[Index, int]]) -> None:
    """Give names to the atoms that are used more than once, larger ones first, and add the
    definitions of these names to `found`. `uses` are pairs of an index and the number of its copies
    in the text. The parts of an atom with a name count as used once, in its definition."""
    count: Counter[str] = Counter()
    atoms: dict[str, Atom] = {}

    def use(i: Index, copies: int) -> None:
        for atom, _ in i.terms:
            atoms[atom.key] = atom
            count[atom.key] += copies

    for i, copies in uses:
        use(i, copies)
    named: list[Atom] = []
    while atoms:
        key = max(atoms, key=lambda key: (len(key), key))
        atom = atoms.pop(key)
        names_it = count[key] > 1 and not isinstance(atom, UNSPELLED)
        if names_it and found.depth(atom) is not None:
            named.append(atom)
            found.atoms[key] = found.fresh(_hint(atom))
        for inner in operands_of(atom):
            use(inner, 1 if key in found.atoms else count[key])
    found.definitions[:0] = [
        Definition(found.loop_of(atom.names), found.atoms[atom.key], from_atom(atom))
        for atom in reversed(named)
    ]


def _hint(atom: Atom) -> str:
    """The name suggested for an atom: i_div_8, i_mod_3, i_div_8_mod_3, and `part` for what is less
    plain."""
    match atom:
        case Quot(index=x, divisor=d) if (inner := _plain(x)) is not None:
            return f"{inner}_div_{d}"
        case Rem(index=x, divisor=d) if (inner := _plain(x)) is not None:
            return f"{inner}_mod_{d}"
    return "part"


def _plain(i: Index) -> str | None:
    match i.terms:
        case ((Var(key=name), 1),) if i.constant == 0:
            return name
        case ((Quot() as atom, 1),) if i.constant == 0 and (hint := _hint(atom)) != "part":
            return hint
    return None
