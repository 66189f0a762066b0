"""The settling of a footprint's obligations: by ranges, by guards, by trial of every value, and by
Z3.

A proof is about all the work-items of a launch: two groups have nothing between them that orders
their accesses to global memory; two work-items of one group have barriers with the right fence.
"""

# key: x y goal indices

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.index.condition import substitute_in
from codegen.index.index import Index, var
from codegen.index.injectivity import impossible
from codegen.index.substitute import evaluate, substitute
from codegen.proof.accesses import Branch, Footprint, Gather, Meet, Node, Where, inside, parts_of
from codegen.proof.awaited_copies import awaited
from codegen.proof.barrier_intervals import Item, Meeting, between_barriers, everywhere, nodes
from codegen.proof.collision import PRIME, Collision, Sides
from codegen.proof.exhaustive_trial import always_true, never_meet
from codegen.proof.guard_facts import Range, follows
from codegen.proof.products_under_way import under_way
from codegen.proof.verdicts import Kind, Obligation, Proved, Refuted, Unproved, Verdict
from codegen.proof.z3_questions import Found, GaveUp, Impossible, Question, ask, satisfies
from codegen.tree.memories import Space

Ids = tuple[str, ...]  # of the work-items of a group
RANGES, GUARDS, TRIAL, SOLVER = "ranges", "guards", "trial", "Z3"
UNCHECKED = "the solver's counterexample does not hold"
LIMIT_MS, EACH_MS = 2_000, 300


def verdicts(found: Footprint, limit_ms: int = LIMIT_MS, each_ms: int = EACH_MS) -> list[Verdict]:
    """The verdicts on a footprint's obligations; Z3 may work `limit_ms` in all, `each_ms` on
    one."""
    prover = _Prover(found, Sides(found), limit_ms, each_ms)
    alone = [*prover.claims(), *prover.demands(), *prover.bounds()]
    return [*alone, *prover.barriers(found.root, ()), *prover.races(), *prover.awaits()]


@dataclass(slots=True)
class _Prover:
    found: Footprint
    sides: Sides
    left_ms: int
    each_ms: int

    # ---- one work-item

    def claims(self) -> Iterator[Verdict]:
        for claim in self.found.claims:
            atom, x = claim.atom, claim.atom.index
            goals = [] if atom.lo is None else [x - atom.lo]
            goals += [] if atom.hi is None else [atom.hi - x]
            text = f"{atom.lo} ≤ {x.key} ≤ {atom.hi} in {claim.text}"
            yield self.always(Obligation(Kind.CLAIM, "", text), goals, claim.where, "it")

    def demands(self) -> Iterator[Verdict]:
        for demand in self.found.demands:
            o = Obligation(demand.kind, "", demand.text)
            yield self.always(o, demand.goals, demand.where, "what is to be at least 0")

    def bounds(self) -> Iterator[Verdict]:
        for a in self.found.accesses:
            goals = [a.index, a.memory.elements - a.width - a.index]
            if a.half is not None:
                goals += [a.half, a.memory.halves - 1 - a.half]
            obligation = Obligation(Kind.BOUNDS, a.memory.name, a.text)
            yield self.always(obligation, goals, a.where, f"of {a.memory.elements}, the index")

    def always(self, o: Obligation, goals: Sequence[Index], where: Where, what: str) -> Verdict:
        """The verdict on the obligation o that all goals are ≥ 0 at `where`: by ranges, guards,
        trial or Z3. `what` names the first goal in a counterexample."""
        open_goals = [x for x in goals if x.lo is None or x.lo < 0]
        if not open_goals:
            return Proved(o, RANGES)
        ranges = self.sides.ranges(where)
        if ranges is None or all(self.by_guards(x, where, ranges) for x in open_goals):
            return Proved(o, GUARDS)
        if always_true(open_goals, where, ranges):
            return Proved(o, TRIAL)
        for goal in open_goals:
            question = Question(given=[*where.given, -goal - 1], denied=list(where.denied))
            verdict = self.ask(o, question)
            if isinstance(verdict, Found):
                return self.witness(o, question, verdict.values, where, goals[0], what)
            if verdict is not None:
                return verdict
        return Proved(o, SOLVER)

    def by_guards(self, goal: Index, where: Where, ranges: Mapping[str, Range]) -> bool:
        narrow = substitute(goal, {name: var(name, *ranges[name]) for name in goal.names})
        return (narrow.lo is not None and narrow.lo >= 0) or follows(goal, where.given)

    def witness(
        self,
        o: Obligation,
        question: Question,
        values: dict[str, int],
        where: Where,
        x: Index,
        what: str,
    ) -> Verdict:
        values = self.completed(values, where)
        if not satisfies(question, values):
            return Unproved(o, UNCHECKED)
        return Refuted(o, f"{what} is {evaluate(x, values)} at {self.at(values)}")

    # ---- barriers

    def barriers(self, node: Node, around: tuple[Branch, ...]) -> Iterator[Verdict]:
        match node:
            case Meet(spaces):
                names = " and ".join(sorted(space.value for space in spaces))
                barrier = Obligation(Kind.BARRIER, "", f"barrier ({names})")
                yield self.together(barrier, around, tuple(self.found.locals))
            case Gather(name):
                lanes = tuple(self.found.locals)[:1]
                yield self.together(Obligation(Kind.LANES, "", name), around, lanes)
            case Branch(_, _, body):
                yield from self.barriers(body, (*around, node))
            case _:
                for part in parts_of(node):
                    yield from self.barriers(part, around)

    def together(self, o: Obligation, around: tuple[Branch, ...], ids: Ids) -> Verdict:
        """The verdict that no branch of `around` separates work-items that differ in these ids;
        loops cannot, as their trip counts are numbers."""
        by = RANGES
        for branch in around:
            if not branch.condition.names.isdisjoint(ids):
                verdict = self.uniform(o, branch, inside(around[-1]), ids)
                if not isinstance(verdict, Proved):
                    return verdict
                by = verdict.by
        return Proved(o, by)

    def uniform(self, o: Obligation, branch: Branch, here: Where, ids: Ids) -> Verdict:
        """The verdict that of two work-items which come to a branch, and differ in these ids only,
        both take it or neither does; `here` is inside the branch."""
        first, second = self.sides.ranges(here), self.sides.ranges(branch.where)
        if first is None or second is None:
            return Proved(o, GUARDS)
        left = {name: var(name, *bounds) for name, bounds in first.items()}
        right = left | {name: var(name + PRIME, *second[name]) for name in ids}
        question = Question(
            given=[substitute(x, left) for x in here.given],
            denied=[substitute_in(c, left) for c in here.denied],
        )
        question.given += [substitute(x, right) for x in branch.where.given]
        question.denied += [substitute_in(c, right) for c in branch.where.denied]
        question.denied.append(substitute_in(branch.condition, right))
        answer = self.ask(o, question)
        if isinstance(answer, Found):
            return self.parted(o, question, answer.values, here)
        return Proved(o, SOLVER) if answer is None else answer

    def parted(
        self, o: Obligation, question: Question, values: dict[str, int], here: Where
    ) -> Verdict:
        one = self.completed(values, here)
        other = {name: values.get(name + PRIME, value) for name, value in one.items()}
        primed = {name + PRIME: value for name, value in other.items()}
        if not satisfies(question, {**primed, **one}):
            return Unproved(o, UNCHECKED)
        return Refuted(o, f"reached at {self.at(one)} but not at {self.at(other)}")

    # ---- two work-items

    def races(self) -> Iterator[Verdict]:
        groups, items = tuple(self.found.groups), tuple(self.found.locals)
        same_group = frozenset(groups)
        for meeting in between_barriers(self.found.root, Space.LOCAL):
            yield self.race(meeting, same_group, items)
        accesses = [a for a in self.found.accesses if a.memory.space is Space.GLOBAL]
        if not any(
            isinstance(n, Meet) and Space.GLOBAL in n.spaces for n in nodes(self.found.root)
        ):
            for meeting in everywhere(accesses):
                yield self.race(meeting, frozenset(), groups + items)
            return
        for meeting in everywhere(accesses):
            yield self.race(meeting, frozenset(), groups)
        for meeting in between_barriers(self.found.root, Space.GLOBAL):
            yield self.race(meeting, same_group, items)

    def awaits(self) -> Iterator[Verdict]:
        """The verdicts that each copy is awaited before the end, before its work-item uses what it
        writes, and, with a barrier since, before others do."""
        found = awaited(self.found)
        left = {item.access for item in found.left if self.runs(item)}
        for a in found.begun:
            o = Obligation(Kind.AWAITED, a.memory.name, a.text)
            late = "the end may be reached before it is awaited"
            yield Refuted(o, late) if a in left else Proved(o, RANGES)
        products = under_way(self.found)
        early = dict(products.early)
        for name, makes in products.begun:
            o = Obligation(Kind.AWAITED, makes, f"{makes} = {name}(…)")
            if makes not in early:
                yield Proved(o, RANGES)
        for register, why in products.early:
            yield Refuted(Obligation(Kind.AWAITED, register, "products that go on"), why)
        group = frozenset(self.found.groups)
        for meeting in found.others:
            a, b = meeting.a.access, meeting.b.access
            o = Obligation(Kind.AWAITED, a.memory.name, f"{a.text}, before others: {b.text}")
            yield self.apart(o, meeting, group | meeting.shared, ())
        everyone = frozenset((*self.found.groups, *self.found.locals))
        for meeting in found.meetings:
            a, b = meeting.a.access, meeting.b.access
            o = Obligation(Kind.AWAITED, a.memory.name, f"{a.text}, before {b.text}")
            turns = [name for name, _ in a.where.loops if name not in meeting.shared]
            if a is not b:
                yield self.apart(o, meeting, everyone | meeting.shared, ())
            elif turns:  # of one statement, in two iterations
                yield self.apart(o, meeting, everyone | meeting.shared, tuple(turns))

    def runs(self, item: Item) -> bool:
        """True unless the guards around an access keep it from being made in its iterations."""
        return self.sides.ranges(item.access.where, item.pins) is not None

    def race(self, meeting: Meeting, shared: frozenset[str], apart: tuple[str, ...]) -> Verdict:
        a, b = meeting.a.access, meeting.b.access
        text = f"{a.text}, by another work-item too" if a is b else f"{a.text}, and {b.text}"
        o = Obligation(Kind.RACE, a.memory.name, text)
        return self.apart(o, meeting, shared | meeting.shared, apart)

    def apart(
        self, o: Obligation, meeting: Meeting, shared: frozenset[str], apart: tuple[str, ...]
    ) -> Verdict:
        """The verdict on the obligation o that the two accesses of a meeting touch no common cell,
        where the variables `shared` agree and one of `apart` differs, if there are any."""
        collision = self.sides.collision(meeting, shared, apart)
        if collision is None:
            return Proved(o, GUARDS)
        if impossible(collision.in_digits(), collision.differences()):
            return Proved(o, RANGES)
        if impossible(collision.folded(), collision.differences()):
            return Proved(o, GUARDS)
        if never_meet(collision):
            return Proved(o, TRIAL)
        question = Question(
            list(collision.equations),
            collision.given(),
            collision.denied(),
            list(collision.differences()),
        )
        verdict = self.ask(o, question)
        if isinstance(verdict, Found):
            return self.collide(o, question, collision, verdict.values)
        return Proved(o, SOLVER) if verdict is None else verdict

    def collide(
        self, o: Obligation, question: Question, collision: Collision, values: dict[str, int]
    ) -> Verdict:
        meeting = collision.meeting
        for x in (*collision.left.values(), *collision.right.values()):
            for atom, _ in x.terms:
                values.setdefault(atom.key, atom.lo or 0)
        if not satisfies(question, values):
            return Unproved(o, UNCHECKED)
        one = {name: evaluate(x, values) for name, x in collision.left.items()}
        other = {name: evaluate(x, values) for name, x in collision.right.items()}
        i, j = evaluate(meeting.a.access.index, one), evaluate(meeting.b.access.index, other)
        words = f"{o.memory}[{i}] at {self.at(one)}; {o.memory}[{j}] at {self.at(other)}"
        if meeting.exact:
            return Refuted(o, words)
        return Unproved(o, f"maybe {words}: unless a branch around a barrier prevents it")

    # ---- Z3

    def ask(self, o: Obligation, question: Question) -> Found | Unproved | None:
        """The answer of Z3 to a question of the obligation o: values as Found, Unproved if it gave
        up or no time is left, None if there are no such values."""
        limit = min(self.each_ms, self.left_ms)
        if limit <= 0:
            return Unproved(o, "the time for all obligations of this kernel is used up")
        answer, taken = ask(question, limit)
        self.left_ms -= taken
        match answer:
            case Impossible():
                return None
            case GaveUp(reason):
                return Unproved(o, reason)
        return answer

    def completed(self, values: Mapping[str, int], where: Where) -> dict[str, int]:
        """The values of all variables at `where`: those given, and the least possible ones for
        others."""
        ranges = self.sides.ranges(where) or {}
        return {name: values.get(name, lo) for name, (lo, _) in ranges.items()}

    def at(self, values: Mapping[str, int]) -> str:
        """The work-item and iteration of these values in words, without variables that have one
        value only."""
        single = {name for name, n in (self.found.groups | self.found.locals).items() if n == 1}
        told = [f"{name} = {value}" for name, value in values.items() if name not in single]
        return ", ".join(told) or "the only work-item"
