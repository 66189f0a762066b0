"""Names for what indices of a kernel have in common: base addresses, and quotients that recur.

An index is a sum. Its terms are sorted by the loop they change in; the sum up to a loop is a base
address, worth a name where it is used again or where naming it takes work out of a loop.
"""

# key: i index, depth of a loop: 0 outside of all, spelled-out ones not counted

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from codegen.index.atoms import Assume, Atom, Product, Quot, Rem, Var
from codegen.index.index import Index, constant, from_atom, operands_of, var
from codegen.index.substitute import unassumed
from codegen.opencl.address_names import Definition, Naming, fresh
from codegen.opencl.index_text import INT_MAX, needs_64
from codegen.opencl.memory_names import Spellings
from codegen.opencl.walking_addresses import LoopPlace, Walk, walk
from codegen.tree.kernel_values import Load, Select, Value, Whole, subvalues
from codegen.tree.memories import Memory
from codegen.tree.statements import Block, For, If, Store
from ir.core.frozen import frozen

WORTH = 2  # operations that make a sum worth a name
UNSPELLED = (Var, Assume, Product)


@frozen
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
    *,
    in_bytes: bool = False,
) -> Naming:
    """The names for parts of the indices in a kernel's body, where the loops `spelled` are spelled
    out. `names` has the names of the kernel's memories, from which names of addresses are made;
    indices of memories in `registers` are left out, as registers have no addresses. If `in_bytes`,
    indices into global memory count bytes. New names are not in `taken`, and are added to it."""
    found = Naming(taken, {*taken}, spelled=spelled, in_bytes=in_bytes)
    uses = [use for use in _uses(body, found, _OUTSIDE, 1) if use.memory not in registers]
    _name_bases(found, [use for use in uses if use.memory is not None], names)
    left = [(found.shortened(u.index) if u.memory else u.index, u.copies) for u in uses]
    if found.walks:
        _forget_unused(found, [i for i, _ in left])
    starts = [w.start for w in found.walks]
    _name_atoms(found, [*left, *((i, 1) for i in (*starts, *(d.index for d in found.definitions)))])
    return found


@frozen
class _Around:
    """The loop around a place that stays a loop in the text (None: there is none), its depth, and
    whether the place is under no guard and in no spelled-out loop there (`always`)."""

    loop: str | None
    depth: int
    always: bool


_OUTSIDE = _Around(None, 0, True)


def _uses(body: Block, found: Naming, here: _Around, copies: int) -> Iterator[_Use]:
    depth = here.depth
    for s in body.statements:
        match s:
            case For(name, count, inner, _) if name in found.spelled:
                yield from _uses(inner, found, replace(here, always=False), copies * count)
            case For(name, count, inner, _):
                if name in found.loops or count > INT_MAX:
                    found.tested.add(name)
                found.depths[name] = depth + 1
                found.loops[name] = LoopPlace(here.loop, count, here.always)
                yield from _uses(inner, found, _Around(name, depth + 1, True), copies)
            case If(condition, inner):
                found.tested |= condition.names
                for part in condition.parts:
                    yield _Use(part, None, depth, copies)
                yield from _uses(inner, found, replace(here, always=False), copies)
            case Store(memory, index, value, half):
                for i, m in _addresses(value, found):
                    yield _Use(i, m, depth, copies)
                yield _Use(found.counted(memory, index, half), memory, depth, copies)


def _addresses(value: Value, found: Naming) -> Iterator[tuple[Index, Memory | None]]:
    for e in subvalues(value):
        match e:
            case Load(memory, index, _, half):
                yield found.counted(memory, index, half), memory
            case Whole(index):
                yield index, None
            case Select(condition, _, _):
                found.tested |= condition.names
                for part in condition.parts:
                    yield part, None


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
                key = fresh(f"{use.memory.name}{word}", found.keys)  # terms are in their order
                name = found.fresh(f"{names[use.memory].variable}{word}")
                found.bases[base.key], found.atoms[key] = var(key, base.lo, base.hi), name
                loop = found.loop_of(base.names)
                if found.by_bytes(use.memory) and (walks := _walk(found, name, base, loop)):
                    found.walks.append(walks)
                else:
                    found.definitions.append(Definition(loop, name, spelled))
            before, spelled = base, found.bases.get(base.key, spelled)


def _walk(found: Naming, name: str, base: Index, loop: str | None) -> Walk | None:
    """The walk of a base address in the loop `loop`, the innermost in which it changes; None if it
    does not walk. It begins at an outer base address if that has a name."""
    if loop is None or needs_64(unassumed(base)):
        return None
    made = walk(name, base, loop, found.loops, frozenset(found.tested))
    if made is None:
        return None
    return replace(made, start=found.bases.get(made.start.key, made.start))


def _forget_unused(found: Naming, uses: Sequence[Index]) -> None:
    """Remove the definitions of base addresses that no index in `uses` and no other definition
    needs, as walking addresses do without those of outer loops."""
    bases = {key for base in found.bases.values() for key in base.names}
    made = {d.name: d.index for d in found.definitions} | {w.name: w.start for w in found.walks}
    todo = [key for i in uses for key in i.names & bases]
    needed = set[str]()
    while todo:
        name = found.atoms[todo.pop()]
        if name not in needed:
            needed.add(name)
            todo += made[name].names & bases
    found.definitions = [d for d in found.definitions if d.name in needed]
    found.walks = [w for w in found.walks if w.name in needed]


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
