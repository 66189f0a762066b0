"""The families: every way to lower a program, each a strategy with parameters and a derivation."""

# key: p program, e term

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from ir.core.nodes import Level, Program
from ir.core.size import Size, named
from ir.core.terms import size_names
from rewrites.catalogue.io_optimal_blocks import AT_ONCE, balanced, near_volume
from rewrites.catalogue.values_worth_trying import (
    Choice,
    Kept,
    Requirement,
    asked,
    grouped,
    kept,
    tried,
)
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Derivation, Strategy
from rewrites.engine.strategy import seq
from rewrites.families.blocked import Blocked, blocked
from rewrites.families.fgfft import fgfft
from rewrites.families.fgfft_kernels import Fine
from rewrites.families.io_optimal import dataflow
from rewrites.families.lift import Lift, lift
from rewrites.families.registers import Registers, registers
from rewrites.families.strassen import Strassen, strassen
from rewrites.families.toeplitz import Toeplitz, toeplitz
from rewrites.families.winograd import Winograd, winograd
from rewrites.kernels.naive import naive
from rewrites.nest.work_amounts import amounts
from rewrites.storing.stored_views import Choices, Windows, windowed
from rewrites.transforms.fused_kernel import Fused


@dataclass(frozen=True, slots=True)
class Lowering:
    """A program lowered by a family: parametric, with the proof that it is the same program."""

    family: str
    form: str  # the choices that are not numbers, such as "padded relaid"
    program: Program
    derivation: Derivation
    requirements: tuple[Requirement, ...]
    choices: tuple[Choice, ...] = ()
    kept: Kept | None = None
    block: tuple[Size, Size] | None = None  # pixels and channels that a work-group makes
    at_once: int = 1  # work-groups that local memory must hold


@dataclass(frozen=True, slots=True)
class Form:
    """One way a family may go: its name, its strategy, and the family whose parameters it has."""

    name: str
    strategy: Strategy
    way: str


Family = Callable[[Program], Iterator[Form]]


def parameters(p: Program) -> frozenset[str]:
    """The names of a program's parameters."""
    return frozenset(param.var.name for param in p.params)


def constants(p: Program) -> frozenset[str]:
    """The names of its constant parameters."""
    return frozenset(param.var.name for param in p.params if param.const)


def _naive(p: Program) -> Iterator[Form]:
    yield Form("", naive(parameters(p)), "naive")


Views = Sequence[tuple[Windows, bool]]  # what is stored, with room for rounded-up tiles or not

PADDED: Views = tuple(product((Windows.PADDED, Windows.PLANES), (False, True)))
ALL: Views = (
    (Windows.NONE, False),
    *PADDED,
    (Windows.IM2WIN, False),
    (Windows.MEC, False),
    (Windows.IM2COL, False),
)


def _choices(
    p: Program, views: Views, panel: Size, block: Size = 1
) -> Iterator[tuple[str, Choices]]:
    """What is stored and relaid, and its name; all twice where a block's sides may change roles."""
    relaid = [frozenset[str](), constants(p)] if constants(p) else [frozenset[str]()]
    flips = (False,) if block == 1 else (False, True)
    for flipped, (windows, room), names_ in product(flips, views, relaid):
        words = [windows.value, "room" * room, "relaid" * bool(names_)]
        choices = Choices(windows, room, names_, panel, block=block, flipped=flipped)
        yield " ".join(filter(None, words)), choices


def _registers(p: Program, views: Views = ALL) -> Iterator[Form]:
    choices_ = _choices(p, views, named("tr") * named("v"), named("tx"))
    for (text, choices), level, tall, taps in product(
        choices_, (Level.GROUP, Level.GLOBAL), (False, True), (False, True)
    ):
        words = ["items"] * (level is Level.GLOBAL) + ["tall"] * tall + ["taps"] * taps
        words += ["flipped"] * choices.flipped
        form = Registers(choices, level, tall, taps)
        yield Form(" ".join([*text.split(), *words]), registers(parameters(p), form), "registers")


def _blocked(p: Program, views: Views = ALL) -> Iterator[Form]:
    panel, block = named("lx") * named("tr") * named("v"), named("ly") * named("tc")
    for (text, choices), parts, ahead, along in product(
        _choices(p, views, panel, block), ("", "split", "sliced"), (False, True), (False, True)
    ):
        split, sliced = parts == "split", parts == "sliced"
        words = [parts] * bool(parts) + ["ahead"] * ahead
        words += ["flipped"] * choices.flipped + ["along"] * along
        for each, own in OWN.get(choices.windows, (("", 0),)):
            form = Blocked(choices, split, ahead, sliced, along, own)
            name = " ".join([*text.split(), *[each] * bool(each), *words])
            yield Form(name, blocked(parameters(p), form), "blocked")


# Which outer columns have products of their own: of MEC all but the last, so that each row of
# results does; of im2col the outermost may, images for example.
OWN = {Windows.MEC: (("", -1),), Windows.IM2COL: (("", 0), ("each", 1))}


def _io_optimal(p: Program) -> Iterator[Form]:
    panel = named("lx") * named("tr") * named("v")
    views = ((Windows.NONE, False), (Windows.PADDED, False), (Windows.PLANES, False))
    for (text, choices), ahead in product(_choices(p, views, panel), (False, True)):
        name = " ".join([*text.split(), *["ahead"] * ahead])
        yield Form(name, dataflow(parameters(p), choices, ahead), "io-optimal")


def _lift(p: Program) -> Iterator[Form]:
    for (text, choices), stored, vectors, unrolled, coalesced in product(
        _choices(p, ALL, named("kappa")), (False, True), (True, False), (True, False), (False, True)
    ):
        words = ["stored-sums"] * stored + ["vectors"] * vectors + ["unrolled"] * unrolled
        words += ["coalesced"] * coalesced
        lanes = named("v") if vectors else 1
        form = Lift(replace(choices, lanes=lanes), stored, vectors, unrolled, coalesced)
        yield Form(" ".join([*text.split(), *words]), lift(parameters(p), form), "lift")


def _winograd(p: Program) -> Iterator[Form]:
    panel = named("tr") * named("v")
    for m in (2, 4, 6):
        for level in (Level.GROUP, Level.GLOBAL):
            words = [f"F{m}", "registers", *["items"] * (level is Level.GLOBAL)]
            form = Winograd(m, Registers(Choices(panel=panel), level))
            yield Form(" ".join(words), winograd(parameters(p), form), "registers")
        for ahead in (False, True):
            words = [f"F{m}", "blocked", *["ahead"] * ahead]
            form = Winograd(m, Blocked(Choices(panel=named("lx") * panel), ahead=ahead))
            yield Form(" ".join(words), winograd(parameters(p), form), "blocked")
    yield from _winograd_fused(p)


def _winograd_fused(p: Program) -> Iterator[Form]:
    """In one kernel all sums of a tile are in registers: as many as fit."""
    for m, whole in product((2, 4), (False, True)):
        form = Winograd(m, Fused(named("tr") * named("v"), whole=whole))
        name = f"F{m} fused" + " whole" * whole
        yield Form(name, winograd(parameters(p), form), "registers")
    for m in (2, 4, 6):
        yield Form(f"F{m} elementwise", winograd(parameters(p), Winograd(m, None)), "registers")


def _fgfft(p: Program) -> Iterator[Form]:
    yield Form("", fgfft(parameters(p), Fine()), "fgfft")
    choices = Choices(panel=named("tr") * named("v"))
    items = Registers(choices, Level.GLOBAL)
    ahead = Blocked(choices, ahead=True)
    yield _spectral(p, "registers", Fine(Registers(choices)))
    yield _spectral(p, "registers items", Fine(items))
    yield _spectral(p, "blocked", Fine(Blocked(choices)))
    yield _spectral(p, "blocked ahead", Fine(ahead))
    ways: dict[str, Registers | Blocked] = {
        "registers": Registers(choices),
        "registers items": items,
        "blocked ahead": ahead,
    }
    for way, products in ways.items():
        yield _spectral(p, f"{way} gauss", Fine(products, three=True))
    yield _spectral(p, "registers items shared", Fine(items, shared=True))
    yield _spectral(p, "blocked ahead shared", Fine(ahead, shared=True))


def _spectral(p: Program, name: str, form: Fine) -> Form:
    return Form(name, fgfft(parameters(p), form), "fgfft")


def _strassen(p: Program) -> Iterator[Form]:
    ways: dict[str, Registers | Blocked] = {
        "registers": Registers(Choices(), Level.GLOBAL),
        "blocked": Blocked(Choices()),
    }
    cuts = ((1, "once"), (2, "twice"), (0, "gauss"))
    for (levels, often), (way, products) in product(cuts, ways.items()):
        form = Strassen(levels, products)
        yield Form(f"{often} {way}", strassen(parameters(p), form), way)


def _fft(p: Program) -> Iterator[Form]:
    choices = Choices(panel=named("tr") * named("v"))
    products = Registers(choices)
    ahead = Blocked(choices, ahead=True)
    yield _spectral(p, "registers", Fine(products, regular=True))
    yield _spectral(p, "blocked ahead", Fine(ahead, regular=True))
    yield _spectral(p, "registers shared", Fine(products, shared=True, regular=True))


def _toeplitz(p: Program) -> Iterator[Form]:
    panel = named("tr") * named("v")
    for windows in (Windows.NONE, Windows.PADDED, Windows.PLANES):
        one, group = Choices(windows, panel=panel), Choices(windows, panel=named("lx") * panel)
        ways: dict[str, Registers | Blocked] = {
            "registers": Registers(one),
            "registers items": Registers(one, Level.GLOBAL),
            "blocked": Blocked(group),
            "blocked ahead": Blocked(group, ahead=True),
        }
        for words, products in ways.items():
            name = f"{words} {windows.value}".strip()
            way = words.split()[0]
            yield Form(name, toeplitz(parameters(p), Toeplitz(products)), way)


def _storing(views: Views) -> Family:
    """The forms of `blocked` and `registers`, of programs with windows, that store these views."""
    said = views[0][0].value

    def run(p: Program) -> Iterator[Form]:
        for f in (*_blocked(p, views), *_registers(p, views)):
            rest = " ".join(word for word in f.name.split() if word != said)
            yield Form(f"{f.way} {rest}".strip(), seq(windowed, f.strategy), f.way)

    return run


# The families that lower, each with its choice of stored views; together they hold every form.
LOWERING: dict[str, Family] = {
    "naive": _naive,
    "lift": _lift,
    "registers": _registers,
    "blocked": _blocked,
    "io-optimal": _io_optimal,
}
# And by what they store: the algorithms of the literature on matrix products and windows.
STORING: dict[str, Family] = {
    "implicit-gemm": _storing(((Windows.NONE, False),)),
    "padded": _storing(PADDED),
    "im2col": _storing(((Windows.IM2COL, False),)),
    "im2win": _storing(((Windows.IM2WIN, False), (Windows.IM2WIN_PLANES, False))),
    "mec": _storing(((Windows.MEC, False),)),
}
# And those that make fewer products, at the price of transforms and of some precision.
BILINEAR: dict[str, Family] = {"winograd": _winograd, "strassen": _strassen}
# And by Fourier transforms, of programs with windows.
SPECTRAL: dict[str, Family] = {"fgfft": _fgfft, "fft": _fft}
# Constants replicated: as many times the memory and the products as there are windows in a row.
REPLICATED: dict[str, Family] = {"toeplitz": _toeplitz}
# Which make the products that the program asks for, and no others but with zeros.
DIRECT = LOWERING | STORING | REPLICATED
# What is explored unless families are asked for: no form twice.
DISTINCT: dict[str, Family] = LOWERING | BILINEAR | SPECTRAL
FAMILIES: dict[str, Family] = DISTINCT | STORING | REPLICATED


@lru_cache(maxsize=64)
def forms(p: Program, family: str) -> tuple[Form, ...]:
    """The ways in which a family may lower a program."""
    return tuple(FAMILIES[family](p))


def lower(p: Program, family: str, form: Form) -> Lowering:
    """The program lowered; raises Refused where the family does not apply."""
    found = form.strategy(p.body)
    if found is None:
        raise Refused(f"{family}: the program does not have the structure that it lowers")
    e, steps = found
    program = Program(p.name, p.params, e, tuple(sorted(size_names(e))))
    proof = Derivation(p.body, steps)
    made = grouped(e, form.way, "flipped" in form.name.split())
    required, chosen = asked(e, steps, form.way), tried(e, steps, form.way)
    done = Lowering(family, form.name, program, proof, required, chosen, kept(e, form.way), made)
    return _as_the_dataflow(p, done) if form.way == "io-optimal" else done


def _as_the_dataflow(p: Program, lowering: Lowering) -> Lowering:
    """What the family `io-optimal` is named for, where that is defined: of one sum of products."""
    known, block = amounts(p.body, parameters(p)), lowering.block
    if known is None or block is None:
        return lowering
    near = near_volume(lowering.program.body, constants(p), block, known)
    required = (*lowering.requirements, *balanced(block, known), near)
    return replace(lowering, requirements=required, at_once=AT_ONCE)


def first(p: Program, family: str) -> Lowering:
    """The family's first form that applies, or the reason why none does."""
    reason: Refused | None = None
    for form in forms(p, family):
        try:
            return lower(p, family, form)
        except Refused as refused:
            reason = reason or refused
    raise reason or Refused(f"{family} has no form for this program")
