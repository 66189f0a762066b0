"""Instructions of a device, and the node of programs that calls one."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from ir.core.frozen import frozen
from ir.core.hash_once import hashed
from ir.core.nodes import Expr, Lam


@frozen
class Placed:
    """An operand, by its number, that an instruction of several lanes reads from local memory by
    itself. Each lane's vector of it is a piece. The number of a piece is written in `digits`, most
    significant first; pieces with neighbouring values of a digit lie at a distance that the call
    tells. Those of the last digit lie side by side, or in lines whose pieces are exchanged
    (`codegen/index/pieces.py`). Where one call stands for several, the operand of the next begins
    where the pieces of one end that differ in the digit number `onward`."""

    operand: int
    digits: tuple[int, ...]
    onward: int = 0

    def beyond(self, told: Sequence[int]) -> int:
        """The number of pieces from where the operand of a call begins to where that of the next
        one does, if pieces lie so far apart as was `told`, digit by digit."""
        return self.digits[self.onward] * told[self.onward]


@frozen
class Instruction:
    """An instruction of a device, which `lanes` neighbouring work-items carry out together, or one
    work-item alone.

    `meaning` is the function that it computes. For several lanes it takes and gives arrays with
    what each lane holds, [T<v>]lanes; for one lane it takes vectors and numbers, and gives a
    number. `rounding` is the relative error of its result, in machine epsilons. `text` has the
    OpenCL functions that carry it out, among them one of the instruction's name. Devices may read
    only the leading `read` bits of its operands, and keep the leading `kept` bits of each sum
    (None: as many as the type has). With `by_place` it reads its operands itself: each has to lie
    in local memory. It reads those in `placed` itself, too, and each lane reads them whole. The
    lanes are those of `sub_groups` sub-groups. If it `goes_on` after a call, its result is there,
    and what it reads may be overwritten, when work-items have awaited it. One call may stand for
    several that have all operands in common but for the placed one and the sums that they add to,
    the last; `beside` has the texts that carry it out, by how many these are.
    """

    name: str
    meaning: Lam = field(compare=False)
    lanes: int = field(compare=False)
    rounding: float = field(compare=False)  # machine epsilons that its result may lose
    text: str = field(compare=False, repr=False)
    read: int | None = field(compare=False, default=None)  # bits of an operand; others are cut off
    kept: int | None = field(compare=False, default=None)  # bits of a sum; others are cut off
    by_place: bool = field(compare=False, default=False)  # operands lie in local memory
    placed: tuple[Placed, ...] = field(compare=False, default=())  # read whole from local memory
    sub_groups: int = field(compare=False, default=1)  # whose lanes carry it out
    goes_on: bool = field(compare=False, default=False)  # after a call, until it is awaited
    beside: Mapping[int, str] = field(compare=False, default_factory=dict, repr=False)


@hashed
class Instruct(Expr):
    """[T<v>]lanes, [U<w>]lanes, … -> [V<x>]lanes, by an instruction that all lanes come to; or
    T<v>, U<w>, … -> V, by one of a single work-item"""

    instruction: Instruction
    parts: tuple[Expr, ...]

    @property
    def together(self) -> bool:
        """True if several lanes carry the instruction out together."""
        return self.instruction.lanes > 1
