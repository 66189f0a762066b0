"""Tests of how often guarded statements are carried out: shares are compared with all choices tried
one by one."""

import random
from itertools import product

import pytest

from codegen.compile import generate
from codegen.index.condition import at_least, both, holds, less
from codegen.index.index import Index, maximum, minimum, var
from explore.building.guard_shares import share
from explore.building.operations import multiplications
from explore.building.products_made import products_made, whole_products_made
from explore.space.lowering import bound, lowering
from ir.parse import parse

COUNTS = {"a": 5, "b": 7, "c": 3, "d": 4}
A, B, C, D = (var(name, 0, n - 1) for name, n in COUNTS.items())


def drawn_index() -> Index:
    k, m = random.randint(1, 4), random.randint(2, 5)
    linear = A * k + B
    return random.choice(
        [A, D, linear, linear // m, (A + B * k) % m, A * B, minimum(A, C), maximum(A, B) + C]
    )


@pytest.mark.parametrize("parts", [0, 1, 2, 3])
def test_a_guard_holds_in_its_share_of_all_choices(parts: int) -> None:
    for _ in range(20):
        guard = both(
            *(
                random.choice([less, at_least])(drawn_index(), random.randint(-1, 8))
                for _ in range(parts)
            )
        )
        every = [dict(zip(COUNTS, at, strict=True)) for at in product(*map(range, COUNTS.values()))]
        meant = sum(holds(guard, values) for values in every) / len(every)
        assert share(guard, COUNTS) == pytest.approx(meant)


def test_of_too_many_choices_some_are_drawn() -> None:
    x, y, n = var("x", 0, 9999), var("y", 0, 9999), 10_000
    assert share(less(x + y, n), {"x": n, "y": n}) == pytest.approx(0.5, abs=0.02)


def test_products_that_a_guard_leaves_out_are_not_taken() -> None:
    """In groups of 8 work-items that keep 8 products each, 4 sum pairs of them with two more."""
    text = """f(xs : [float]64) =
      join(mapWorkgroup(0)(tile ->
          let kept = toLocal(mapLocal(0)(x -> x * 3.0, tile))
          mapLocal(0)(pair -> reduceSeq(0.0, (acc, x) -> acc + x * 5.0, pair), split(2, kept)),
        split(8, xs)))"""
    kernels = generate(parse(text)).kernels
    assert multiplications(kernels) == 64 + 2 * 64
    assert products_made(kernels) == 64 + 2 * 32
    halved = generate(parse(text.replace("5.0", "0.5"))).kernels
    assert products_made(halved) == 64 + 2 * 32


def test_products_with_padding_are_not_made_where_a_version_of_the_loop_has_nothing_else() -> None:
    """Of 11 work-groups, each of which sums a row of 16 products, 3 have padding: their version of
    the loop multiplies by a register that holds 0."""
    text = """f(xs : [[float]16]8, ws : [float]16) =
      mapWorkgroup(0)(row -> reduceSeq(0.0, (acc, (x, w)) -> acc + x * w, zip(row, ws)),
        pad(2, 1, 0.0, xs))"""
    kernels = generate(parse(text)).kernels
    assert multiplications(kernels) == 11 * 16
    assert products_made(kernels) == 8 * 16


def test_products_are_made_where_padding_is_chosen_element_by_element() -> None:
    text = """f(xs : [float]64, ws : [float]3) =
      mapGlobal(0)(window -> reduceSeq(0.0, (acc, (x, w)) -> acc + x * w, zip(window, ws)),
        slide(3, 1, pad(1, 1, 0.0, xs)))"""
    kernels = generate(parse(text)).kernels
    assert products_made(kernels) == multiplications(kernels) == 64 * 3


@pytest.mark.parametrize("number", ["0.0", "2.0"])
def test_products_with_kept_zeros_are_not_made(number: str) -> None:
    """Each of 8 work-items keeps 4 numbers in registers, and multiplies them by numbers that it
    loads."""
    text = f"""f(xs : [[float]4]8) =
      mapGlobal(0)(row ->
          let kept = toPrivate(unrolled mapSeq(i -> {number}, generate(4, i -> 1.0)))
          unrolled reduceSeq(0.0, (acc, (x, k)) -> acc + x * k, zip(row, kept)), xs)"""
    kernels = generate(parse(text)).kernels
    assert products_made(kernels) == (0 if number == "0.0" else 8 * 4)


@pytest.mark.parametrize(
    ("term", "each"), [("x * w", 1), ("x * 4", 0), ("x * K", 1), ("x * 2 * w", 1)]
)
def test_products_of_whole_numbers_are_counted_apart(term: str, each: int) -> None:
    """A product by a power of two is a shift."""
    text = f"""f(xs : [[char]16]8, ws : [char]16) =
      mapGlobal(0)(row -> reduceSeq(0, (acc, (x, w)) -> acc + {term}, zip(row, ws)), xs)
    where K = 7"""
    kernels = generate(parse(text)).kernels
    assert whole_products_made(kernels) == 8 * 16 * each
    assert products_made(kernels) == 0


@pytest.mark.parametrize("form", ["", "dot-ss", "dot-ss items"])
def test_a_dot_product_makes_as_many_products_as_it_takes_pairs(form: str) -> None:
    program = parse("""products(a : [[char]16]8, b : [[char]16]4) =
      map(row -> map(column ->
          reduce(0, (acc, (x, y)) -> acc + x * y, zip(row, column)), b), a)""")
    lowered = lowering(program, "registers", form).program
    sizes = {"tr": 1, "tx": 2, "v": 2, "k": 2}
    point = {n: sizes[n] for n in sizes if n != "k" or not form}
    kernels = generate(bound(lowered, point)).kernels
    assert whole_products_made(kernels) == 8 * 4 * 16
