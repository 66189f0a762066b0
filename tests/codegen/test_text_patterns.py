"""Tests of spelled-out loops: each copy of a statement has the same text as the statement standing
alone, and as many operations are counted for it."""

import itertools
from collections.abc import Iterator, Mapping

import pytest

from codegen.compile import generate
from codegen.index.condition import NEVER, less, substitute_in
from codegen.index.index import Index, var
from codegen.memory.unrolled_registers import layouts, spelled_loops
from codegen.opencl.address_names import Naming
from codegen.opencl.constant_folding import Folding, folded
from codegen.opencl.expression_text import Expressions
from codegen.opencl.loop_versions import Facts
from codegen.opencl.memory_names import spellings
from codegen.opencl.place_text import Places
from codegen.opencl.store_text import Stores
from codegen.opencl.text_patterns import Varying
from codegen.tree.kernel_values import Apply, Convert, Kind, Load, Number, Select, Value, Whole
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, Declare, For, If, Kernel, Statement, Store, Unroll
from explore.building.operations import flops
from ir.parse import parse

FLOAT = Kind("float")
I, J, K = (var(name, 0, 2) for name in "ijk")
G = var("g", 0, 9)
XS = Memory("xs", Space.GLOBAL, "float", 1000)
ACC = Memory("acc", Space.PRIVATE, "float", 9, shape=(3, 3))
TABLE = Memory("t", Space.CONSTANT, "float", 3, values=(0.0, -1.0, 0.5))


def multiply_add(a: Value, b: Value, c: Value) -> Value:
    return Apply("fma", (a, b, c), FLOAT)


def times(a: Value, b: Value) -> Value:
    return Apply("*", (a, b), FLOAT)


def chosen(x: Index, n: int, a: Value) -> Value:
    return Select(less(x, n), a, Number(0.0, "float"))


STORES = {
    "of places": Store(ACC, I * 3 + J, Load(XS, G * 30 + K * 9 + I)),
    "of entries of a table": Store(
        ACC, I * 3 + J, multiply_add(Load(TABLE, K), Load(XS, G + J), Load(ACC, I * 3 + J))
    ),
    "of numbers": Store(XS, G + K, times(Convert(Whole(I + J - 2), FLOAT), Load(XS, K))),
    "of counters": Store(XS, G, Convert(Apply("abs", (Whole(G + I * J),), Kind("int")), FLOAT)),
    "of choices": Store(XS, G * 3 + K, chosen(G * 2 + I + J, 3, Load(XS, G + K))),
    "of vectors": Store(XS, G * 16 + K * 4, Load(XS, G * 4 + J * 4 + 1, 4)),
    "of nothing that varies": Store(XS, G, Load(XS, G + 1)),
}  # fmt: skip


def stores(s: Store) -> Stores:
    kernel = around(nest(s))
    spelled = spelled_loops(kernel)
    kept = layouts(kernel.body, spelled)
    names = spellings(kernel, kept, set())
    places = Places(kept, names, Naming(set(), set(), spelled=spelled))
    return Stores(Expressions(places), Folding())


def nest(*inner: Statement) -> Block:
    """A block of three loops that are spelled out, one inside the other, around these
    statements."""
    body = Block(inner)
    for name in "kji":
        body = Block((For(name, 3, body, Unroll.YES),))
    return body


def around(body: Block) -> Kernel:
    declared = Block((Declare(ACC), *body.statements))
    return Kernel("k", (XS,), (XS,), (), (2, 1, 1), (5, 1, 1), declared)


def everywhere() -> Iterator[dict[str, int]]:
    for at in itertools.product(range(3), repeat=3):
        yield dict(zip("ijk", at, strict=True))


@pytest.mark.parametrize("what", STORES)
def test_a_copy_is_spelled_as_if_it_were_the_only_one(what: str) -> None:
    shared = stores(STORES[what])
    for values in everywhere():
        alone = stores(STORES[what])
        alone.spell.places.values.update(values)
        shared.spell.places.values.update(values)
        text = alone.statement(STORES[what])
        assert text is not None
        assert "{" not in text
        assert shared.statement(STORES[what]) == text


def test_what_holds_around_a_copy_is_not_taken_from_another() -> None:
    made = stores(STORES["of choices"])
    made.spell.places.values.update(i=0, j=0, k=0)
    assert made.statement(STORES["of choices"]) == "xs[g * 3] = (g < 2 ? xs[g] : 0.0f);"
    made.given(Facts(less(G, 2)))
    assert made.statement(STORES["of choices"]) == "xs[g * 3] = xs[g];"


def test_what_varies_is_made_once_for_each_choice_of_what_it_varies_with() -> None:
    made: list[int] = []

    def make(values: Mapping[str, int]) -> int:
        made.append(10 * values["j"] + values["k"])
        return made[-1]

    varying = Varying({"j", "k"}, make)
    for each in everywhere():
        assert varying.at(each) == 10 * each["j"] + each["k"]
    assert made == [0, 1, 2, 10, 11, 12, 20, 21, 22]


# ---- counting


def one_by_one(s: Statement, known: Mapping[str, int]) -> int:
    """The number of operations of a statement, where each copy in a spelled-out loop is counted by
    itself; `known` are the values of the loop variables around it."""
    match s:
        case Block(inner):
            return sum(one_by_one(each, known) for each in inner)
        case For(name, n, body):
            return sum(one_by_one(body, {**known, name: i}) for i in range(n))
        case If(condition, body):
            return 0 if substitute_in(condition, known) == NEVER else one_by_one(body, known)
        case Store(_, _, value):
            return operations(folded(value, known))
    return 0


def operations(e: Value) -> int:
    match e:
        case Apply(op, arguments, kind):
            own = {"neg": 0, "fma": 2}.get(op, 1) if kind.scalar == "float" else 0
            return own + sum(map(operations, arguments))
        case Select(_, a, b):
            return operations(a) + operations(b)
    return 0


def test_operations_are_counted_as_if_every_copy_were_looked_at() -> None:
    sums = Store(ACC, I * 3 + J, Apply("+", (Load(XS, G), Load(XS, K)), FLOAT))
    body = nest(*STORES.values(), If(less(I + J, 2), Block((sums, *STORES.values()))))
    assert flops([around(body)]) == 10 * one_by_one(body, {}) > 0


def test_loops_that_no_constant_depends_on_are_counted_by_their_number() -> None:
    program = "p(xs : [float]M) = mapGlobal(0)(x -> x * x + 1.0, xs) where M = 16"
    assert flops(generate(parse(program)).kernels) == 16 * 2
