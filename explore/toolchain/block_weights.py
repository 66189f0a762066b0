"""The number of times that a work-item carries out each block of a kernel, on average.

Loops of our kernels count from 0 by one. So the number of a loop's turns is the constant that its
counter is compared with where the loop ends; branches are taken as often as their conditions hold
for sampled work-items. A branch whose condition is unknown counts as taken on both sides, so that
no block counts too little.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explore.toolchain.sampled_values import Items, Numbers, Values, first_lane
from explore.toolchain.shader_ir import Block, Branch, Leave, Loop, Made, Node, Operand, Sequence
from explore.toolchain.shader_ir import Shader as Kernel

Shares = NDArray[np.float64]
ENDS_AT = ("ige", "uge", "ieq")  # the comparisons that hold where a counter has come to its end
GOES_ON = ("ilt", "ult", "ine")


class UnknownTurns(Exception):
    """Raised if it cannot be found out how often a loop turns."""


@dataclass(slots=True)
class _Weights:
    kernel: Kernel
    values: Values
    found: dict[int, float] = field(default_factory=dict)

    def sequence(self, nodes: Sequence, times: Shares) -> None:
        for node in nodes:
            self.node(node, times)

    def node(self, node: Node, times: Shares) -> None:
        match node:
            case Block(number):
                self.found[number] = float(times.mean())
            case Branch(condition, then, otherwise):
                self.branch(condition, then, otherwise, times)
            case Loop(body):
                turns = self.turns(body)
                self.sequence(body, times * turns)
            case Leave():
                pass

    def branch(
        self,
        condition: Operand,
        then: Sequence,
        otherwise: Sequence,
        times: Shares,
    ) -> None:
        if _leaves(then) or _leaves(otherwise):  # the end of a loop: a jump, and nothing else
            self.sequence(otherwise if _leaves(then) else then, times)
            return
        holds = self.values.of(condition)
        yes = np.ones(len(times)) if holds is None else (holds != 0).astype(np.float64)
        no = yes if holds is None else 1.0 - yes
        self.sequence(then, times * yes)
        self.sequence(otherwise, times * no)

    def turns(self, body: Sequence) -> int:
        """The number of turns of the loop with this body; its counter is then given values, one for
        each work-item."""
        for node in body:
            if isinstance(node, Branch) and (_leaves(node.then) or _leaves(node.otherwise)):
                counter, turns = self.counted(node)
                self.values.count(counter, self.drawn(counter, turns))
                return turns
        raise UnknownTurns

    def counted(self, end: Branch) -> tuple[Operand, int]:
        """A loop's counter, a definition or a lane of one, and the loop's turns, from the branch
        that ends the loop. The branch stands before the body and tests the counter, or after it and
        tests the counter's next value."""
        test = self.kernel.made.get(end.condition.number)
        wanted = ENDS_AT if _leaves(end.then) else GOES_ON
        if test is None or not test.operation.startswith(wanted) or len(test.operands) != 2:
            raise UnknownTurns
        counter, ahead = self.counter(test.operands[0])
        limit = self.constant(test.operands[1])
        turns = limit if ahead == 0 else limit - ahead + 1
        if not 1 <= turns <= 1 << 31:
            raise UnknownTurns
        return counter, turns

    def counter(self, x: Operand) -> tuple[Operand, int]:
        """The counter in the operand x, which is a counter or the sum of one and a constant; and
        the constant (0 if there is none)."""
        made = self.kernel.made.get(x.number)
        if made is not None and made.operation == "phi":
            return self.begins_at_0(x, made), 0
        if made is not None and made.operation == "iadd" and len(made.operands) == 2:
            inner, more = (_same_lane(operand, x) for operand in made.operands)
            phi = self.kernel.made.get(inner.number)
            if phi is not None and phi.operation == "phi":
                return self.begins_at_0(inner, phi), self.constant(more)
        raise UnknownTurns

    def begins_at_0(self, x: Operand, phi: Made) -> Operand:
        if not phi.operands or self.constant(_same_lane(phi.operands[0], x)) != 0:
            raise UnknownTurns
        return x

    def constant(self, x: Operand) -> int:
        made, lane = self.kernel.made.get(x.number), first_lane(x)
        if made is None or made.operation != "load_const" or not 0 <= lane < len(made.numbers):
            raise UnknownTurns
        return made.numbers[lane]

    def drawn(self, counter: Operand, turns: int) -> Numbers:
        """Values of a counter, one for each work-item: all from 0 to turns − 1 are equally
        frequent, in an order that no other counter has."""
        count = self.values.items.count
        even = np.arange(count, dtype=np.int64) * turns // count
        return np.random.default_rng(counter.number).permutation(even)


def _same_lane(operand: Operand, x: Operand) -> Operand:
    """That lane of an operand of a definition from which the lane x of the definition is made."""
    if not operand.lanes:
        return Operand(operand.number, x.lanes[:1])
    if not 0 <= first_lane(x) < len(operand.lanes):
        raise UnknownTurns
    return Operand(operand.number, operand.lanes[first_lane(x)])


def _leaves(nodes: Sequence) -> bool:
    """True if a `break` stands among `nodes`, one side of a branch."""
    return any(isinstance(node, Leave) and node.word == "break" for node in nodes)


def weights(kernel: Kernel, items: Items) -> dict[int, float]:
    """The number of times that one of these work-items carries out each block of a kernel, on
    average, by the block's number; raises UnknownTurns if it is not known how often a loop
    turns."""
    found = _Weights(kernel, Values(kernel.made, items, kernel.bases))
    found.sequence(kernel.body, np.ones(items.count))
    return found.found


def blocks(nodes: Sequence) -> Iterator[Block]:
    """The blocks of a tree, in order."""
    for node in nodes:
        match node:
            case Block():
                yield node
            case Branch(_, then, otherwise):
                yield from blocks(then)
                yield from blocks(otherwise)
            case Loop(body):
                yield from blocks(body)


def loops(nodes: Sequence) -> Iterator[int]:
    """The numbers of the blocks with which the loops of a tree begin, in order."""
    for node in nodes:
        match node:
            case Branch(_, then, otherwise):
                yield from loops(then)
                yield from loops(otherwise)
            case Loop(body):
                yield next(blocks(body)).number
                yield from loops(body)
