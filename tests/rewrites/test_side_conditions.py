"""Tests of side conditions: a rule applies to a term where its condition holds, and is refused for
one that differs only in violating it."""

import pytest

from ir.parse import parse
from rewrites.engine.rule import apply_rule
from tests.support.condition import Case, Condition
from tests.support.conditions import CONDITIONS

NAMES = [f"{c.rule.rewrite.__name__}: {c.says}" for c in CONDITIONS]


@pytest.mark.parametrize("condition", CONDITIONS, ids=NAMES)
def test_a_rule_applies_where_a_condition_holds_and_only_there(condition: Condition) -> None:
    assert applies(condition, condition.holds)
    assert not applies(condition, condition.violated)


def applies(condition: Condition, which: Case) -> bool:
    text, arguments = condition.case(which)
    term = parse(f"test({condition.params}) = {text}").body
    return apply_rule(condition.rule, arguments, term) is not None


def test_no_condition_is_there_twice() -> None:
    assert len({*NAMES}) == len(NAMES)
