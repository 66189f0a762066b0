"""The type of a side condition of a rule, which has two terms that differ in nothing else: one
where the condition holds, and one that violates it."""

# key: rule law, text of a term

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewrites.engine.rule import Argument, Rule

Arguments = Mapping[str, Argument]
Case = str | Arguments | tuple[str, Arguments]


@dataclass(frozen=True, slots=True)
class Condition:
    """A side condition of a rule, beyond its pattern: `says` tells it in words. There is a case
    where it holds, and one where it is violated.

    A case is the text that stands in the place {} of the term `text`; or arguments of the rule, for
    a term without a place; or both. `params` is the text of the term's parameters.
    """

    rule: Rule
    says: str
    params: str
    text: str
    holds: Case
    violated: Case
    arguments: Arguments = field(default_factory=dict)

    def case(self, which: Case) -> tuple[str, Arguments]:
        """The term as text, and the rule's arguments, of `holds` or of `violated`."""
        match which:
            case str():
                return self.text.replace("{}", which), self.arguments
            case (place, own):
                return self.text.replace("{}", place), {**self.arguments, **own}
            case _:
                return self.text, {**self.arguments, **which}
