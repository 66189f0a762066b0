"""The family `matrix`: tiles of results by matrix instructions, which a sub-group carries out.

A sub-group makes `tr` × `tc` tiles of the instruction's rows (output channels) and columns
(pixels), and keeps them in its lanes; a group has `sr` × `sc` sub-groups.
"""

# key: e term, p program

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product, starmap

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Pad, Program
from ir.core.size import named
from ir.core.types import BFLOAT, FLOAT, HALF, leaves
from ir.instructions.entry import Entry
from ir.instructions.fragments import Fragment
from ir.instructions.table import MATRIX
from rewrites.analysis.kernel_terms import own_terms
from rewrites.analysis.out_views import is_crop
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import exhaust, seq, skip
from rewrites.families.blocked import IN_FLIGHT, STORED_PARTS
from rewrites.kernels.both_staged import loads
from rewrites.kernels.copy_kernels import by_elements, sums_by_elements
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.matrix_patches import staged_nest
from rewrites.kernels.register_block import longest_inside, on_reduction, over, split_innermost
from rewrites.kernels.split_reduction import in_parts
from rewrites.kernels.staged_sums import Chunks, Slices
from rewrites.kernels.sums_by_instruction import STEPS, Parts, sums_by_instruction
from rewrites.laws.lower import to_parallel
from rewrites.laws.reductions import partial_reduce
from rewrites.laws.views import flat_zip
from rewrites.nest.dimensions import Dims, sided
from rewrites.nest.named_nest import Nest, arranged
from rewrites.nest.normal_form import normalise
from rewrites.storing.fragment_order import columns_by_steps, constants_in_fragments
from rewrites.storing.mapped_stores import stored_mapped
from rewrites.storing.narrowed_operands import narrowed_operands
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.transforms.stored_tiles import tiles_of_sums
from rewrites.transforms.sums_over_tiles import by_numbered_tiles, over_lines
from rewrites.tuning.by_instructions import ByInstruction, Sums, by_instruction, differ, ways
from rewrites.tuning.bytes_multiplied import of_its_bytes
from rewrites.tuning.family import (
    Family,
    Form,
    Trait,
    Tuning,
    Way,
    constant_names,
    parameter_names,
)
from rewrites.tuning.matrix_tuning import OF_BOTH, TUNING, of_patches
from rewrites.tuning.offered_instructions import offered
from rewrites.tuning.stored_forms import (
    AHEAD,
    LAID,
    PADDED_VIEWS,
    Views,
    chosen,
    stored_choices,
)
from rewrites.tuning.sums_of_programs import sums_of

TR, TC, SR, SC, S = map(named, ("tr", "tc", "sr", "sc", "s"))


@frozen
class Matrix:
    """The choices of a form of the family `matrix` that are not numbers.

    `choices`: which views are stored, and how constants are laid out. `instruction` is the name of
    the one that makes the products, and `parts` says which parts of numbers it multiplies. `patch`:
    a group stages the patch under its pixels, in chunks as these choices say (None: no patch).
    `tiles`: sums over images become sums over their tiles, which have sides of this length (None:
    they stay). `split`: parts of sums are stored, and added by a second kernel. `tiled`: what
    windows of tiles slide along is stored, with tiles beside each other. `laid`: what lanes load is
    laid out for them in every run, not once before all runs.
    """

    choices: Choices
    instruction: str
    parts: Parts = Parts.WHOLE  # what of numbers is multiplied
    patch: Chunks | None = None  # a group stages the patch under its pixels, in these chunks
    tiles: int | None = None  # sums over images are sums over tiles of this side
    split: bool = False  # sums in parts, added by a second kernel
    tiled: bool = False  # what windows of tiles slide along is stored, tiles beside each other
    laid: bool = False  # what lanes load is laid out in every run

    @property
    def rows(self) -> Fragment:
        """The order in which lanes hold the rows of a product."""
        return MATRIX[self.instruction].brought[0]

    @property
    def gathers(self) -> bool:
        """True if lanes gather rows from what is not laid out for them: in sums over tiles. What
        other kernels multiply may be stored in the order of tiles, as transformed weights are."""
        return self.tiles is not None and not self.laid

    @property
    def narrows(self) -> bool:
        """True if operands are stored as the numbers nearest to them that the instruction takes."""
        return self.parts is Parts.NARROW and self.patch is not None and self.patch.both

    @property
    def copies_in_runs(self) -> bool:
        """True if kernels of every run may copy operands, or add parts of sums over tiles."""
        return self.laid or self.narrows or self.tiles is not None


def matrix(params: frozenset[str], form: Matrix) -> Strategy:
    """The strategy that lowers every kernel of a program in this form of the family `matrix`.
    `params` are the names of the program's parameters."""
    return seq(
        one_each(params, normalise),
        exhaust(flat_zip()),  # sums of weights beside these
        _tiled(form),
        narrowed_operands(params, form.instruction) if form.narrows else skip,
        prepare(params, replace(form.choices, relaid=frozenset())),
        _relaid(form),
        in_parts(partial_reduce(k=S)) if form.split and form.tiles is None else skip,
        wherever(partial(kernel, form), sums_by_elements, by_elements)
        if form.copies_in_runs
        else wherever(partial(kernel, form)),
    )


def _tiled(form: Matrix) -> Strategy:
    """The strategy that turns sums over images into sums over tiles of these; it changes nothing if
    the form has no `tiles`."""
    if form.tiles is None:
        return skip
    part = S if form.split else None
    return tiles_of_sums(form.tiles, form.rows, part, tiled=form.tiled, laid=form.laid)


def _relaid(form: Matrix) -> Strategy:
    """The strategy that stores constants in the order in which the lanes of the form's instruction
    hold them, and in forms that do so in every run columns, too, as groups stage them; it changes
    nothing if the form relays none."""
    if not form.choices.relaid:
        return skip
    rows = form.rows
    in_lanes = constants_in_fragments(form.choices.relaid, rows)
    if not form.laid:
        return in_lanes
    return seq(in_lanes, columns_by_steps(form.choices.relaid, rows.count(rows.rows)))


def kernel(form: Matrix, e: Expr, dims: Dims | None = None) -> Rewritten | None:
    """The kernel e lowered to a matrix instruction; its rows and columns are in `dims`, or found by
    which operand they reach."""
    dims, entry = dims or sided(e), MATRIX[form.instruction]
    if not dims.rows or not dims.columns:
        raise Refused(
            "expected two operands, each shared by results in a dimension of its own, found "
            f"{len(dims.rows)} dimensions of rows and {len(dims.columns)} of columns"
        )
    kept = _kept_in_parts(form, entry)
    if form.patch is not None:
        return seq(staged_nest(entry, form.patch, dims, e, form.gathers), kept)(e)
    if any(isinstance(t, Pad) and not is_crop(t) for t in own_terms(e)):
        raise Refused(
            "expected padding that is stored by a kernel of its own, found padding as a view, for "
            "which lanes would test each element: see the forms `padded`"
        )
    return seq(_nest(entry, form.parts, dims), kept)(e)


def _kept_in_parts(form: Matrix, entry: Entry) -> Strategy:
    """The strategy that changes what arrays stored for a kernel hold: in the place of each number,
    the parts of it that the instruction `entry` multiplies."""
    f = None if form.narrows else form.parts.of_number(entry)
    return skip if f is None else stage("stored as it is multiplied", stored_mapped(f))


GROUPS = ("batch", "column tiles", "row tiles")


def _nest(entry: Entry, parts: Parts, dims: Dims) -> Nest:
    """The nest of maps over tiles of the instruction `entry`, several for a sub-group, and several
    sub-groups for a group; `parts` says which parts of numbers are multiplied."""
    (steps, rows), (_, columns) = (f.sides for f in entry.fragments[:2])
    tiles = (
        arranged(batch=dims.batch, columns=dims.columns, rows=dims.rows)
        .merge("columns")
        .merge("rows")
        .tile("rows", rows * TR * SR, "row tiles", "rows", told_as="sr * tr tiles of")
        .split("rows", rows * TR, "row items", "rows", told_as="tr tiles of")
        .split("rows", rows, "row block", "rows of a tile", told_as="a tile of")
        .tile("columns", columns * TC * SC, "column tiles", "columns", told_as="sc * tc tiles of")
        .split("columns", columns * TC, "column items", "columns", told_as="tc tiles of")
        .split("columns", columns, "column block", "columns of a tile", told_as="a tile of")
        .order(*GROUPS, "column items", "row items", "column block", "row block", *TILE)
        .then(on_reduction(longest_inside), split_innermost(steps, told_as=STEPS))
        .into_sum(*TILE)
        .around_chunks("column block", "row block")
        .inside(sums_by_instruction(entry, parts))
        .at("row items", stage("over sub-groups", to_parallel(level=Level.LOCAL, dim=1)))
        .at("column items", stage("over sub-groups", to_parallel(level=Level.LOCAL, dim=2)))
    )
    return over(tiles, Level.GROUP, GROUPS, skip)


TILE = ("rows of a tile", "columns of a tile")

VIEWS: Views = ((Windows.NONE, False), *PADDED_VIEWS)
PATCH_VIEWS: Views = ((Windows.NONE, False), (Windows.PADDED, False))
PATCH = Trait("patch", "a group stages the patch of the image under its pixels", staged=True)

PARTS = Trait(
    "parts",
    "numbers in a high and a low part: three products for one, unsliced chunks added afresh",
)
THREE_PARTS = Trait(
    "three-parts",
    "numbers in three parts: six products for one, unsliced chunks added afresh",
    weight=0.25,
)
RUNNING = Trait(
    "running", "sums of parts go on from chunk to chunk, and are not begun afresh", weight=0.5
)
SEVERAL_AHEAD = {  # by how many chunks are loaded while one is used
    1: AHEAD,
    2: Trait("two-ahead", "the next two chunks are loaded while one is used", weight=2.0),
    3: Trait("three-ahead", "the next three chunks are loaded while one is used", weight=2.0),
}
SPELLED = Trait("spelled", "all sums of a chunk are spelled out: loads go ahead of products")
THROUGH = Trait(
    "through", "the loop over chunks is spelled out: loads go ahead of chunks", weight=0.5
)
SLICED = Trait(
    "sliced", "slices of a group make parts of each sum, which meet in local memory", weight=0.5
)
BY_TAPS = Trait(
    "by-taps", "slices for each tap of the outermost sum, as many for each of them", weight=0.5
)
BOTH = Trait(
    "both", "a group stages rows, too, and both operands as they lie in memory", weight=2.0
)
BY_ROWS = Trait(
    "by-rows", "operands are loaded by an instruction to which each lane gives a row", weight=2.0
)
NARROWED = Trait(
    "narrowed",
    "both operands are stored in every run as the numbers nearest to them that are multiplied",
    stores=True,
)
STEP_AHEAD = Trait(
    "step-ahead",
    "operands are loaded a step before they are multiplied, copies begun between products",
    weight=2.0,
)
LAID_FOR_LANES = replace(LAID, weight=0.5)
TILED = Trait(
    "tiled",
    "what slides is stored, with tiles of the image beside each other",
    stores=True,
    weight=0.5,
)
# How operands of sums over tiles lie: as they are, or stored for lanes, the sliding one, too.
STORED_TILES = ((False, False), (False, True), (True, True))  # tiled, laid
_OFTEN = {4: 2.0, 7: 4.0}  # forms made for sums over images; larger tiles read fewer pixels twice
TILES = {
    side: Trait(
        f"sums-of-{side}", f"sums over images are sums over tiles of {side} a side", weight=weight
    )
    for side, weight in _OFTEN.items()
}
NUMBERS = frozenset({FLOAT, HALF, BFLOAT})


def _forms(p: Program) -> Iterator[Form]:
    given = {t for param in p.params for t in leaves(param.var.type)} & NUMBERS
    of_bytes, sums = {*of_its_bytes(p, MATRIX)}, sums_of(p)
    for name in offered(p):
        whole, *in_parts = ways(MATRIX[name], given)
        whole = Parts.WHOLE if name in of_bytes else whole
        for traits, choices in stored_choices(p, VIEWS, 1):
            if not choices.room and whole is not None and not MATRIX[name].placed:
                made = Matrix(choices, name, parts=whole)
                yield _form(p, (_instruction(sums, made), *traits), made, TUNING)
        kinds = [parts for parts in (whole, *in_parts) if parts is not None]
        every = [*filter(differ, starmap(Chunks, product(kinds, *EACH)))]
        if MATRIX[name].placed:
            simple = [chunks for chunks in every if chunks.slices is Slices.NONE]
            every = simple if MATRIX[name].reads_along else []
        for (traits, choices), chunks in product(stored_choices(p, PATCH_VIEWS, 1), every):
            made = Matrix(choices, name, chunks.parts, chunks)
            more = (_instruction(sums, made), PATCH, *traits, *_traits(chunks))
            yield _form(p, more, made, of_patches(name, chunks.slices))
        if not MATRIX[name].placed:
            yield from _in_runs(p, name, every)
        if whole is not None and any(len(lengths) == 1 for lengths in sums):
            yield from _both_staged(p, name, sums, whole)


def _both_staged(p: Program, name: str, sums: Sums, parts: Parts) -> Iterator[Form]:
    """The forms by the instruction `name` whose groups stage both operands of a product, as they
    lie in memory, or, of numbers of more bits than it takes, as they are stored for it: `parts`
    says which. `sums` are the lengths of the program's sums."""
    loaded = loads(MATRIX[name], 0) and loads(MATRIX[name], 1)
    begun = (*product((1, 2, 3), (True,), (False, True)), (0, True, False))
    copied = (*product((0, 1), (False,), (False,)), *begun)  # ahead, in flight, steps ahead
    if MATRIX[name].placed:  # reads its columns when it is carried out, not a step before
        copied = tuple(way for way in copied if not way[2])
    for (ahead, in_flight, steps), by_rows in product(
        copied, (False, True) if loaded else (False,)
    ):
        chunks = Chunks(
            ahead=ahead, both=True, in_flight=in_flight, by_rows=by_rows, steps_ahead=steps
        )
        made = Matrix(Choices(), name, parts, patch=chunks)
        rows = (replace(BY_ROWS, instruction=loaded[0].name),) if by_rows else ()
        stored = chosen({NARROWED: made.narrows})
        more = (_instruction(sums, made), PATCH, *stored, *_traits(chunks), *rows)
        yield _form(p, more, made, OF_BOTH)


def _in_runs(p: Program, name: str, every: Sequence[Chunks]) -> Iterator[Form]:
    """The forms by the instruction `name` for programs without constants, such as gradients of
    weights, one for each of the choices `every` of chunks: operands may be laid out in every run.
    Sums over images are sums over their tiles, and may be split."""
    if constant_names(p):
        return
    sides, sums = TILES if _has_long_sums(p) else (), sums_of(p)
    kinds = [(None, False, True), *((s, *kept) for s in sides for kept in STORED_TILES)]
    for (tiles, tiled, laid), chunks, split in product(kinds, every, (False, True)):
        choices = Choices(relaid=parameter_names(p)) if tiles is None else Choices()
        made = Matrix(choices, name, chunks.parts, chunks, tiles, split, tiled, laid)
        ours = () if tiles is None else (TILES[tiles],)
        stored = chosen({TILED: tiled, LAID_FOR_LANES: laid, STORED_PARTS: split})
        more = (_instruction(sums, made), PATCH, *ours, *stored, *_traits(chunks))
        yield _form(p, more, made, of_patches(name, chunks.slices))


@lru_cache(maxsize=64)
def _has_long_sums(p: Program) -> bool:
    """True if a kernel of the program sums over images, and the law of tiles can turn that into
    sums over their tiles."""
    tiled = over_lines(by_numbered_tiles(side=min(TILES)))
    try:
        return seq(one_each(parameter_names(p), normalise), tiled)(p.body) is not None
    except Refused:
        return False


def _instruction(sums: Sums, form: Matrix) -> Trait:
    """The trait which says that a form makes sums of these lengths by its instruction. Of parts of
    sums, which a second kernel adds, the length is a parameter, and what they lose is not known."""
    known = frozenset[tuple[int, ...]]() if form.split else sums
    return by_instruction(known, form.instruction, form.parts, form.patch)


EACH = ((False, True), (False, True), Slices, (False, True), (False, True))


def of_products(made: ByInstruction) -> tuple[tuple[Trait, ...], Matrix]:
    """The traits of forms of another family that leave products to be made so, and the choices of
    this family for these products."""
    chunks = made.chunks
    choices = Matrix(Choices(), made.instruction, chunks.parts, chunks)
    return (made.trait, *_traits(chunks)), choices


def _traits(chunks: Chunks) -> tuple[Trait, ...]:
    in_two, in_three = chunks.parts is Parts.HIGH_AND_LOW, chunks.parts is Parts.THREE
    sliced, by_taps = chunks.slices is not Slices.NONE, chunks.slices is Slices.TAPS
    ahead = {trait: chunks.ahead == n for n, trait in SEVERAL_AHEAD.items()}
    kept = {**ahead, SPELLED: chunks.spelled, THROUGH: chunks.through}
    shared = {SLICED: sliced, BY_TAPS: by_taps}
    parted = {PARTS: in_two, THREE_PARTS: in_three, RUNNING: chunks.running}
    staged = {BOTH: chunks.both, IN_FLIGHT: chunks.in_flight, STEP_AHEAD: chunks.steps_ahead}
    return chosen({**kept, **shared, **parted, **staged})


def _form(p: Program, traits: tuple[Trait, ...], form: Matrix, tuning: Tuning) -> Form:
    return Form("matrix", traits, Way(matrix, parameter_names(p), form), tuning)


FAMILY = Family("matrix", "tiles by matrix instructions", _forms)
