"""Tests of the free variables of terms."""

from ir.core.nodes import Lam, Let, Map, Var
from ir.core.terms import free, free_variables
from ir.core.types import FLOAT, Array

ROWS, ROW, NUMBER = Array(Array(FLOAT, 4), 3), Array(FLOAT, 4), FLOAT


def test_a_free_variable_has_its_own_type_where_another_of_its_name_is_bound() -> None:
    row = Lam(Var("xs", ROW), Map(Lam(Var("x", NUMBER), Var("x", NUMBER)), Var("xs", ROW)))
    term = Map(row, Var("xs", ROWS))
    assert free_variables(term) == {"xs": Var("xs", ROWS)}
    assert free_variables(term)["xs"].type == ROWS


def test_the_value_of_a_let_is_outside_of_its_scope() -> None:
    term = Let(Var("a", ROW), Var("a", ROWS), Var("b", NUMBER))
    assert free_variables(term) == {"a": Var("a", ROWS), "b": Var("b", NUMBER)}
    assert free_variables(term).keys() == free(term)
