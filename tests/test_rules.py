"""Do rules keep meaning? Each on random typed terms, interpreted before and after."""

# key: e term

import importlib
import pkgutil
from random import Random

import numpy as np
import pytest
from instances import INSTANCES
from terms import Terms, free_variables

import rewrites
from ir.inputs import Data, random_inputs
from ir.interpret import evaluate
from ir.nodes import Edge, Expr, PadEdge, Program
from ir.show import show
from ir.terms import free, subterms
from ir.types import equal
from ir.typing import type_of
from rewrites.rule import Rule, apply_rule

ENOUGH = 400


def all_rules() -> list[tuple[str, Rule]]:
    """Every rule in rewrites/laws_*.py, with its name."""
    modules = [m.name for m in pkgutil.iter_modules(rewrites.__path__) if m.name[:5] == "laws_"]
    found = {
        name: value
        for module in modules
        for name, value in vars(importlib.import_module(f"rewrites.{module}")).items()
        if isinstance(value, Rule)
    }
    return sorted(found.items())


RULES = all_rules()


def equal_data(a: Data, b: Data, anywhere: bool) -> bool:
    """The same numbers; unless `anywhere`, only where a is not the poison of pad_any."""
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        return all(equal_data(x, y, anywhere) for x, y in zip(a, b, strict=True))
    assert not isinstance(b, tuple)
    known = np.full(a.shape, True) if anywhere else ~np.isnan(a)
    return a.shape == b.shape and np.array_equal(a[known], b[known])


def check(before: Expr, after: Expr, program: Program, seed: int) -> None:
    """Same type, same parameters, same meaning."""
    assert equal(type_of(before), type_of(after))
    assert free(after) <= free(before), f"{show(before)}\nbecame\n{show(after)}"
    free_variables(after)
    inputs = random_inputs(program, seed)
    expected = evaluate(program, inputs)
    found = evaluate(Program(program.name, program.params, after), inputs)
    anywhere = not any(isinstance(s, PadEdge) and s.edge is Edge.ANY for s in subterms(before))
    assert equal_data(expected, found, anywhere), f"{show(before)}\nbecame\n{show(after)}"


def test_no_rule_is_missing() -> None:
    drawn = {r.law for r in INSTANCES}
    assert [name for name, r in RULES if r.law not in drawn] == []


@pytest.mark.parametrize("rule", [r for _, r in RULES], ids=[name for name, _ in RULES])
def test_a_rule_keeps_type_and_meaning(rule: Rule) -> None:
    done = 0
    for seed in range(4 * ENOUGH):
        g = Terms(Random(seed))
        before, arguments = INSTANCES[rule](g)
        result = apply_rule(rule, arguments, before)
        if result is None:
            continue
        check(before, result[0], g.program(before), seed)
        done += 1
        if done == ENOUGH:
            return
    pytest.fail(f"the rule applied only {done} times")


