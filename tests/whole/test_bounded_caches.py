"""Tests that no cache of ours grows without bound, so that a process can work for hours."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ir", "rewrites", "constraints", "codegen", "explore")
BY_KIND_OF_NODE = {"_reader", "_maker"}  # asked of a class of the language: there are so many
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, Function):
                    yield str(file.relative_to(ROOT)), node


def keeps_all(decorator: ast.expr) -> bool:
    """True if a decorator is `@cache` or `@lru_cache(maxsize=None)`, whose caches have no bound."""
    text = ast.unparse(decorator)
    return text.removeprefix("functools.") == "cache" or "maxsize=None" in text


def takes_something(function: Function) -> bool:
    given = function.args
    return bool(given.args or given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg)


def test_no_cache_keeps_all_that_it_was_ever_asked() -> None:
    without_bound = {
        f"{file}: {function.name}"
        for file, function in functions()
        if any(map(keeps_all, function.decorator_list))
        and takes_something(function)
        and function.name not in BY_KIND_OF_NODE
    }
    assert without_bound == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [("@cache\ndef f(x): ...", True), ("@lru_cache(maxsize=9)\ndef f(x): ...", False)],
)
def test_a_cache_without_bound_is_seen(text: str, found: bool) -> None:
    (function,) = ast.parse(text).body
    assert isinstance(function, Function)
    assert any(map(keeps_all, function.decorator_list)) == found
