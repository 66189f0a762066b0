"""Tests of the messages on mistakes in programs (a caret, what was found, what was expected): all
are in the golden file.

`python -m tests.ir.test_errors` writes tests/golden/errors.txt anew from the programs in it.
"""

import sys
from pathlib import Path

import pytest

from ir.errors import Unsupported, UserError
from ir.parse import parse, parse_file
from tests.support.pace import in_yardsticks

GOLDEN = Path(__file__).parents[1] / "golden" / "errors.txt"
RULE = "\n----\n"


def cases() -> list[tuple[str, str]]:
    """The pairs (program, message) in the golden file, which lines of `====` separate."""
    found = GOLDEN.read_text().split("\n====\n")
    pairs = [case.split(RULE) for case in found if case.strip()]
    return [(pair[0], pair[1].rstrip("\n")) for pair in pairs]


def message(program: str) -> str:
    try:
        parse(program)
    except (UserError, Unsupported) as error:
        return f"{type(error).__name__}\n{error}"
    return "no error"


@pytest.mark.parametrize(("program", "expected"), cases(), ids=lambda text: text[:50])
def test_the_message_of_a_mistake(program: str, expected: str) -> None:
    assert message(program) == expected


def calls(n: int, body: str, first: str) -> str:
    """The text of the functions f0 … f(n-1): f0 has the body `first`, and each other the body
    `body`, in which F is replaced by the name of the function before it."""
    lines = [
        f"f0(x) = {first}",
        *(f"f{i}(x) = {body.replace('F', f'f{i - 1}')}" for i in range(1, n)),
    ]
    return "\n".join(lines)


def lets(n: int, value: str) -> str:
    lines = (f"let a{i + 1} = {value.replace('A', f'a{i}')}" for i in range(n))
    return "m(a0 : [float]4) =\n" + "\n".join(lines) + f"\na{n}"


def squares(first: str, step: str) -> str:
    sizes = ", ".join(f"A{i + 1} = {step.replace('A', f'A{i}')}" for i in range(60))
    return f"m(x : [float]N) = x where a = ?, b = ?, N = A60, A0 = {first}, {sizes}"


HOSTILE = {
    "10 MB": "m(a : float) = " + "x" * 10_000_000,
    "10 MB of comments": "-- x\n" * 2_000_000,
    "1 MB of symbols": "m(a : float) = f(" + "a," * 490_000 + "a)",
    "10,000 brackets": "m(a : float) = " + "(" * 10_000 + "a" + ")" * 10_000,
    "10,000 unclosed": "m(a : float) = " + "f(" * 10_000,
    "10,000 minus signs": "m(a : float) = " + "- " * 10_000 + "a",
    "10,000 lambdas": "m(a : float) = " + "x -> " * 10_000 + "x",
    "10,000 lets": lets(10_000, "map(v -> exp(v), A)"),
    "10,000 operators": "m(a : float) = " + "a + " * 10_000 + "a",
    "10,000 components": "m(a : float) = a" + ".0" * 10_000,
    "10,000 sizes": "m(x : [float]N0) = x where "
    + ", ".join(f"N{i} = N{i + 1}" for i in range(10_000)),
    "exponential calls": calls(60, "F(F(x))", "x + 1.0") + "\nm(a : float) = f59(a)",
    "exponential zips": calls(60, "zip(F(x), F(x))", "x") + "\nm(a : [float]4) = f59(a)",
    "exponential views": lets(60, "zip(A, A)"),
    "exponential types": lets(60, "map(v -> (v, v), mapSeq(v -> v, A))"),
    "exponential sizes": calls(60, "F(x + x)", "split(x, generate(4, i -> i))") + "\nm() = f59(1)",
    "exponential functions": calls(60, "F(y -> x(x(y)))", "map(x, generate(4, i -> i))")
    + "\nm() = f59(y -> y + 1)",
    "exponential numbers": calls(60, "F(x + x)", "x") + "\nm(h : half) = f59(1.0) * h",
    "squared sizes": squares("3", "A * A"),
    "squared polynomials": squares("a + b", "A * A + b"),
    "nested floors": squares("a + b", "floor(A + A, b) + floor(A, a)"),
    "large array": "m(a : [[float]1000000000000]1000000000000) = a",
    "large index function": "m(a : [float]10000000) = "
    + "reorder(i -> 9999999 - i, " * 40
    + "a"
    + ")" * 40,
    "many definitions": calls(5000, "x", "x") + "\nm(a : float) = f9(a)",
    "wide tuple": "m(a : float) = (" + "a, " * 30_000 + "a)",
    "not text": "\0\1\2",
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_ends_in_a_message_within_seconds(name: str) -> None:
    with in_yardsticks(500), pytest.raises((UserError, Unsupported)):
        parse(HOSTILE[name], "hostile.lift")


def test_large_sizes_are_no_mistake() -> None:
    program = parse("m(a : [float]N) = split(M, a) where M = 10 * 1000, N = M * 1000 * 1000 * 100")
    assert "1000000000000" in str(program.params[0])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.lift"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.lift", tmp_path, binary):
        with pytest.raises(UserError, match="cannot read"):
            parse_file(path)


def test_a_size_that_the_program_does_not_have() -> None:
    with pytest.raises(UserError, match="no size `CC`; did you mean `C`"):
        parse("m(a : [float]C) = a where C = 3", set={"CC": 3})


if __name__ == "__main__":
    programs = [case.split(RULE)[0] for case in GOLDEN.read_text().split("\n====\n")]
    texts = [f"{p}{RULE}{message(p)}" for p in programs if p.strip()]
    GOLDEN.write_text("\n====\n".join(texts) + "\n")
    sys.exit(0)
