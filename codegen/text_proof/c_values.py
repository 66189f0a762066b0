"""The meanings of the names and expressions of a text, as far as a proof must know them."""

from codegen.index.condition import Condition
from codegen.index.index import Index
from codegen.proof.accesses import Where
from codegen.text_reader.c_syntax import Function
from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Memory
from ir.core.frozen import distinct, frozen
from ir.core.instruction import Instruction


@frozen
class Int:
    """The value of an int, or of a long if `wide`, that is known as an index."""

    index: Index
    wide: bool


@frozen
class Either:
    """The int that a choice gives: one value for each side, with the place where it holds."""

    cases: tuple[tuple[Where, Int], ...]


@frozen
class Data:
    """A value that no index may depend on. `divides` says that it is known to be neither 0 nor -1,
    so that any int can be divided by it."""

    kind: Kind
    divides: bool = False


@frozen
class Truth:
    """The value of a comparison of ints as a condition, or None for one of data."""

    condition: Condition | None


Value = Int | Either | Data | Truth


@distinct
class Register:
    """The meaning of a name that is a variable of one work-item."""

    kind: Kind


@distinct
class Storage:
    """The meaning of a name that is an array of `kind`s in `memory`, beginning at a multiple of
    `aligned` bytes; a `const` array is only read."""

    memory: Memory
    kind: Kind
    aligned: int
    const: bool = False


Meaning = Int | Data | Register | Storage | Function | Instruction
