"""The versions in which a loop is spelled: with the guards of its loads tested before it, and what
is known in each version."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from codegen.index.condition import ALWAYS, NEVER, Condition, beyond, both, substitute_in
from codegen.index.index import Index
from codegen.opencl.common_guards import CommonGuards, common_guards, in_all_turns
from codegen.tree.statements import For
from ir.core.frozen import frozen


@frozen
class Facts:
    """The facts known at a place of the text: a condition that holds (`known`, in all turns of the
    `running` loops), and conditions that do not hold (`denied`). `steady` says that guards do not
    vary in the loop around that place."""

    known: Condition = ALWAYS
    denied: tuple[Condition, ...] = ()
    steady: bool = False
    running: Mapping[str, int] = field(default_factory=dict)

    def tested(self, condition: Condition, values: Mapping[str, int]) -> Condition:
        """The part of a condition that has to be tested here, with these values of loops; NEVER if
        the condition is known to be false."""
        here = beyond(substitute_in(condition, values), self.known)
        left = tuple(part for part in here.parts if not self.follows(part))
        here = here if len(left) == len(here.parts) else Condition(left)
        denied = any({*other.parts} <= {*here.parts} for other in self.denied)
        return NEVER if denied else here

    def follows(self, part: Index) -> bool:
        """True if part ≥ 0 follows, in all turns of the running loops, from the facts known
        here."""
        asked = in_all_turns(Condition((part,)), self.running)
        return beyond(asked, self.known) == ALWAYS


NO_FACTS = Facts()


@frozen
class Version:
    """A version of a loop: the test under which it runs, if no version before it does (None: no
    test), the facts known in it, and whether the guards of the loops inside are `settled`, seen to
    already."""

    test: Condition | None
    facts: Facts
    settled: bool


def guards_to_test(
    loop: For,
    spelled: frozenset[str],
    values: Mapping[str, int],
    apart: frozenset[str],
    facts: Facts,
) -> CommonGuards | None:
    """The guards to test before a loop, as `common_guards` has them; None if every test is known to
    hold, or known to fail, by the facts at this place."""
    found = common_guards(loop, spelled, values, apart)
    if found is None:
        return None
    tests = tuple(t for t in found.tests if facts.tested(t, {}) not in (ALWAYS, NEVER))
    return replace(found, tests=tests) if tests else None


def versions(guards: CommonGuards, facts: Facts) -> Iterator[Version]:
    """The versions of a loop with these guards, where these facts are known: one under each test,
    without the guards that hold then, and one with all its guards, for when no test holds."""
    failed = facts.denied
    for test in guards.tests:
        denied = tuple(beyond(other, test) for other in failed)
        steady = len(failed) > len(facts.denied)
        known = both(facts.known, test)
        yield Version(test, Facts(known, denied, steady, guards.running), True)
        failed = (*failed, test)
    steady = not guards.vary
    yield Version(None, Facts(facts.known, failed, steady, facts.running), steady)
