"""A checker for the part of JSON Schema that our schema uses; a schema with other keywords is an
error."""

import re
from collections.abc import Callable, Iterator
from typing import Any

_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
}


def problems(value: Any, schema: dict[str, Any], path: str = "$") -> Iterator[str]:
    """Messages on the parts of `value` that violate `schema`, each with the path to its part."""
    for word, rule in schema.items():
        match word:
            case "$schema" | "title" | "description":
                pass
            case "type":
                kinds = rule if isinstance(rule, list) else [rule]
                if not any(_IS[kind](value) for kind in kinds):
                    yield f"{path}: expected {' or '.join(kinds)}, found {type(value).__name__}"
            case "enum":
                if value not in rule:
                    yield f"{path}: expected one of {rule}, found {value!r}"
            case "pattern":
                if isinstance(value, str) and not re.search(rule, value):
                    yield f"{path}: {value!r} does not match {rule}"
            case "minimum":
                if _IS["number"](value) and value < rule:
                    yield f"{path}: expected at least {rule}, found {value}"
            case "required":
                missing = [name for name in rule if isinstance(value, dict) and name not in value]
                yield from (f"{path}: {name!r} is missing" for name in missing)
            case "properties":
                if isinstance(value, dict):
                    for name in rule.keys() & value.keys():
                        yield from problems(value[name], rule[name], f"{path}.{name}")
            case "items":
                if isinstance(value, list):
                    for i, item in enumerate(value):
                        yield from problems(item, rule, f"{path}[{i}]")
            case _:
                raise ValueError(f"schema word {word!r} at {path} is not supported")
