"""Tests that the message on an unknown name suggests the name that was meant, or lists the names
that there are."""

import pytest

from ir.errors import UserError
from ir.parse import parse
from ir.text.suggest import no_such


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("blokked", ["naive", "blocked"], "no family `blokked`; did you mean `blocked`?"),
        ("Naive", ["naive", "blocked"], "no family `Naive`; did you mean `naive`?"),
        ("x", ["naive", "blocked"], "no family `x`; expected one of naive, blocked"),
        ("x", ["naive"], "no family `x`; expected naive"),
        (5, [], "no family `5`; there is none"),
        ("x", list("abcdefghijklmnopqr"), "no family `x`; expected one of a, b, c, "),
    ],
)
def test_the_nearest_name_is_told_or_all_there_are(
    name: object, known: list[str], said: str
) -> None:
    assert no_such("family", name, known).message.startswith(said)


def test_many_names_are_not_all_told() -> None:
    text = no_such("form", "x", map(str, range(100)), of="family lift").message
    assert text.startswith("family lift has no form `x`; expected one of 0, 1, 2, ")
    assert text.endswith("15, … (100 in all)")


@pytest.mark.parametrize(("name", "ours"), [("int8", "char"), ("fp16", "half"), ("bf16", "bfloat")])
def test_a_type_that_others_call_otherwise_is_told(name: str, ours: str) -> None:
    with pytest.raises(UserError, match=f"unknown type `{name}`; it is called `{ours}` here"):
        parse(f"p(xs : [{name}]4) = xs")
