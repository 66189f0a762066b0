"""The families: every way to lower a program, each a strategy with parameters and a derivation."""

# key: p program, e term

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from ir.nat import Size, bind, named, names
from ir.nodes import Expr, Level, PadEdge, Program, Split
from ir.terms import size_names, subterms
from ir.typing import size_of
from rewrites.blocked import Blocked, blocked
from rewrites.dims import Refused
from rewrites.laws_map import extend_map, round_map
from rewrites.lift import Lift, lift
from rewrites.naive import naive
from rewrites.prepare import WAYS, Choices, Windows
from rewrites.registers import Registers, registers
from rewrites.rule import Derivation, Step, Strategy


@dataclass(frozen=True, slots=True)
class Requirement:
    """a <= b, beyond what the program's types demand: what makes a variant worth having."""

    a: Size
    b: Size
    why: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A parameter takes one of these values: between them lies nothing that is better."""

    parameter: str
    values: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Lowering:
    """A program lowered by a family: parametric, with the proof that it is the same program."""

    family: str
    form: str  # the choices that are not numbers, such as "padded relaid"
    program: Program
    derivation: Derivation
    requirements: tuple[Requirement, ...]
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """One way a family may go: its name and its strategy."""

    name: str
    strategy: Strategy


def parameters(p: Program) -> frozenset[str]:
    """The names of a program's parameters."""
    return frozenset(param.var.name for param in p.params)


def constants(p: Program) -> frozenset[str]:
    """The names of its constant parameters."""
    return frozenset(param.var.name for param in p.params if param.const)


def _naive(p: Program) -> Iterator[Form]:
    yield Form("", naive(parameters(p)))


def _choices(p: Program, panel: Size) -> Iterator[tuple[str, Choices]]:
    relaid = [frozenset[str](), constants(p)] if constants(p) else [frozenset[str]()]
    for (windows, room), names_ in product(WAYS, relaid):
        words = [windows.value] * (windows is not Windows.NONE)
        words += ["room"] * room + ["relaid"] * bool(names_)
        yield " ".join(words), Choices(windows, room, names_, panel)


def _registers(p: Program) -> Iterator[Form]:
    panel = named("tr") * named("v")
    for (text, choices), level, tall, taps in product(
        _choices(p, panel), (Level.GROUP, Level.GLOBAL), (False, True), (False, True)
    ):
        words = ["items"] * (level is Level.GLOBAL) + ["tall"] * tall + ["taps"] * taps
        form = Registers(choices, level, tall, taps)
        yield Form(" ".join([*text.split(), *words]), registers(parameters(p), form))


def _blocked(p: Program) -> Iterator[Form]:
    panel = named("lx") * named("tr") * named("v")
    for (text, choices), split, ahead, flipped, along in product(
        _choices(p, panel), (False, True), (False, True), (False, True), (False, True)
    ):
        words = ["split"] * split + ["ahead"] * ahead + ["flipped"] * flipped + ["along"] * along
        form = Blocked(choices, split, ahead, flipped, along)
        yield Form(" ".join([*text.split(), *words]), blocked(parameters(p), form))


def _lift(p: Program) -> Iterator[Form]:
    for (text, choices), stored, vectors, unrolled, coalesced in product(
        _choices(p, named("kappa")), (False, True), (True, False), (True, False), (False, True)
    ):
        words = ["stored-sums"] * stored + ["vectors"] * vectors + ["unrolled"] * unrolled
        words += ["coalesced"] * coalesced
        form = Lift(choices, stored, vectors, unrolled, coalesced)
        yield Form(" ".join([*text.split(), *words]), lift(parameters(p), form))


FAMILIES: dict[str, Callable[[Program], Iterator[Form]]] = {
    "naive": _naive,
    "lift": _lift,
    "registers": _registers,
    "blocked": _blocked,
}


# What the families try: powers of two where work-items are counted, small numbers where results are
# kept in registers (an image's row is often a multiple of 7 or of 3).
POWERS = (1, 2, 4, 8, 16, 32, 64)
SMALL = (1, 2, 3, 4, 5, 6, 7, 8)
TILES = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 24, 27, 28, 32})  # windows a side
MOST_SIDE = 256

TRIED: dict[str, dict[str, tuple[int, ...]]] = {
    "registers": {
        "tr": (1, 2, 3, 4, 6, 8),
        "tx": (*SMALL, 10, 12, 14, 16, 20, 24, 28, 32),
        "ty": SMALL,
        "k": (*SMALL, 9, 11, 12, 16),
        "v": (2, 4, 8, 16),
    },
    "blocked": {
        "lx": POWERS,
        "ly": POWERS,
        "tr": (1, 2, 4),
        "tc": (1, 2, 4, 8, 16),
        "k": (*SMALL, 9, 11, 12, 16, 32),
        "v": (2, 4, 8),
    },
}
ENOUGH: dict[str, tuple[Requirement, ...]] = {
    "blocked": (Requirement(16, named("lx") * named("ly"), "a group of at least 16 work-items"),)
}


def forms(p: Program, family: str) -> tuple[Form, ...]:
    """The ways in which a family may lower a program."""
    return tuple(FAMILIES[family](p))


def lower(p: Program, family: str, form: Form) -> Lowering:
    """The program lowered; raises Refused where the family does not apply."""
    done = form.strategy(p.body)
    if done is None:
        raise Refused(f"{family}: the program does not have the structure that it lowers")
    e, steps = done
    free = tuple(sorted(size_names(e)))
    program = Program(p.name, p.params, e, free)
    proof = Derivation(p.body, steps)
    needed = (
        *_requirements(steps),
        *(r for r in ENOUGH.get(family, ()) if names(r.b) <= set(free)),
    )
    chosen = tuple(
        Choice(name, values, f"family {family} tries these")
        for name, values in TRIED.get(family, {}).items()
        if name in free
    )
    sides = tuple(_sides(e)) if family == "lift" else ()
    return Lowering(family, form.name, program, proof, needed, (*chosen, *sides))


def _sides(e: Expr) -> Iterator[Choice]:
    """The sides of tiles of windows, which depend on the windows' size and step."""
    tiles = {sub.size for sub in subterms(e) if isinstance(sub, Split)}
    for name in sorted(name for name in size_names(e) if name.startswith("theta")):
        counts = [n for n in tiles if names(n) == {name} and n != named(name)]
        if len(counts) == 1:
            sides = (side for side in range(1, MOST_SIDE) if bind(counts[0], {name: side}) in TILES)
            yield Choice(name, tuple(sides), "tiles of a few windows")


def _requirements(steps: Iterable[Step]) -> Iterator[Requirement]:
    """What is added to make tiles fit must be worth it."""
    seen: set[Size] = set()
    for step in steps:
        if step.rule in (round_map, extend_map) and isinstance(step.term, PadEdge):
            more = -step.term.right
            if names(more) and more not in seen:
                seen.add(more)
                yield _worthwhile(more, size_of(step.term))


def _worthwhile(more: Size, n: Size) -> Requirement:
    """Rounding up wastes at most a quarter (and a little); padding that is a parameter, a half."""
    if more in {named(name) for name in names(more)}:
        return Requirement(more, n, "padding at most doubles a dimension")
    return Requirement(4 * more, n + 12, "rounding up adds at most a quarter")


def first(p: Program, family: str) -> Lowering:
    """The family's first form that applies, or the reason why none does."""
    reason: Refused | None = None
    for form in forms(p, family):
        try:
            return lower(p, family, form)
        except Refused as refused:
            reason = reason or refused
    raise reason or Refused(f"{family} has no form for this program")
