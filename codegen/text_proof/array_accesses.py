"""The arrays of a kernel's text as memories, and each way to read or write them as an access."""

# key: e expression

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from codegen.index.index import Index, constant
from codegen.proof.accesses import Access, Where
from codegen.proof.verdicts import Kind as About
from codegen.text_proof.c_values import Data, Either, Int, Meaning, Storage, Value
from codegen.text_proof.reading import Reading
from codegen.text_reader.c_syntax import Call, Cast, CExpr, Element, Infix, Name, Pointed, Pointer
from codegen.text_reader.c_words import SIZES, loads_halves
from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Memory


class Indices(Protocol):
    """The interface by which `Arrays` evaluates the expressions in brackets; `scope` has the
    meaning of each name."""

    scope: dict[str, Meaning]

    def value(self, e: CExpr, where: Where) -> Value: ...

    def int_value(self, e: CExpr, where: Where) -> Int: ...


@dataclass(slots=True)
class Arrays:
    """The array accesses of one kernel's text. `reading` says which line is read, `indices`
    evaluates expressions in brackets, and `accesses` collects the accesses of one statement."""

    reading: Reading
    indices: Indices
    accesses: list[Access] = field(default_factory=list)

    def storage(self, name: str) -> Storage:
        found = self.indices.scope.get(name)
        if not isinstance(found, Storage):
            raise self.reading.refused(f"expected the name of an array, found {name}")
        return found

    def signed(self, e: CExpr, where: Where) -> CExpr:
        """The expression e of an index; or the int i if e is `(uint)(i)`: then i ≥ 0 is demanded at
        `where`, so that both have the same value."""
        if not isinstance(e, Cast) or e.kind != Kind("uint") or len(e.parts) != 1:
            return e
        value = self.indices.value(e.parts[0], where)
        cases = ((where, value),) if not isinstance(value, Either) else value.cases
        for place, one in cases:
            if not isinstance(one, Int):
                return e
            self.reading.demand(About.OVERFLOW, "an unsigned index ≥ 0", [one.index], place)
        return e.parts[0]

    def element(self, e: Element, where: Where, writes: bool = False) -> Data:
        """The value of the expression array[index]; its access, a write if `writes`, is
        recorded."""
        storage = self.storage(e.array)
        w = storage.kind.width
        for place, index in self.cases(self.signed(e.index, where), where):
            self.access(storage, index * w, w, place, writes)
        return Data(storage.kind)

    def pointed(self, e: Pointed, where: Where, writes: bool = False) -> Data:
        """The value of the expression *(space kind *)&array[index]; its access, a write if
        `writes`, is recorded. The address must be at a multiple of the size of `kind`; halves may
        be read as their bits."""
        storage = self.storage(e.element.array)
        kind, memory = e.kind, storage.memory
        held = {memory.scalar, "ushort"} if memory.scalar == "half" else {memory.scalar}
        if (e.space, 1) != (memory.space, storage.kind.width) or kind.scalar not in held:
            raise self.reading.refused(
                f"expected a pointer into {memory.name}, which has {storage.kind.width} × "
                f"{memory.space.value} {memory.scalar} an element, found one to "
                f"{e.space.value} {kind.scalar}"
            )
        unit = 4 if kind.width == 3 else kind.width
        if storage.aligned % (unit * SIZES[kind.scalar]):
            found = f"{memory.name} at a multiple of {unit * SIZES[kind.scalar]} bytes"
            self.reading.demand(About.ALIGNMENT, found, [constant(-1)], where)
        for place, index in self.scalars(e, memory, where):
            self.divides(unit, index, place)
            self.access(storage, index, unit, place, writes)
        return Data(kind)

    def scalars(self, e: Pointed, memory: Memory, where: Where) -> Iterator[tuple[Where, Index]]:
        """The indices in a memory, in scalars, of the value that e points to, each with the place
        at which it is the index; a number of bytes must be one of whole scalars."""
        size = SIZES[memory.scalar] if e.in_bytes else 1
        for place, index in self.cases(self.signed(e.element.index, where), where):
            self.divides(size, index, place)
            yield place, index // size

    def divides(self, unit: int, index: Index, where: Where) -> None:
        """Demand at `where` that an index is a multiple of `unit`, if it is not known to be one."""
        beyond = index % unit
        if not (beyond.is_constant and beyond.constant == 0):
            self.reading.demand(About.ALIGNMENT, f"{index.key} % {unit} = 0", [-beyond], where)

    def cases(self, e: CExpr, where: Where) -> Iterator[tuple[Where, Index]]:
        """The values of the expression e of an index: one at `where`, or those of the sides of a
        choice, each at the place where it is chosen."""
        match self.indices.value(e, where):
            case Int(index):
                yield where, index
            case Either(cases):
                yield from ((place, one.index) for place, one in cases)
            case _:
                raise self.reading.refused(
                    "expected an index of ids, loops and numbers, found one that depends on data"
                )

    def vector_load(self, e: Call, width: int, where: Where) -> Data:
        """The value of e, a call vloadN(offset, pointer) or vload_halfN, of `width` numbers; its
        access is recorded."""
        if len(e.arguments) != 2:
            raise self.reading.refused(
                f"{e.function}: expected an offset and a pointer, found {len(e.arguments)} "
                "arguments"
            )
        offset, pointer = e.arguments
        storage = self.at_pointer(offset, pointer, width, where, writes=False)
        if not loads_halves(e.function):
            return Data(Kind(storage.memory.scalar, width))
        self.demand_halves(storage, e.function)
        return Data(Kind("float", width))

    def alone(self, found: Iterable[tuple[Where, Index]]) -> tuple[Where, Index]:
        """The only one of the indices found; NotRead if there are several, of a choice."""
        first, *others = found
        if others:
            raise self.reading.refused("expected one place to point to, found a choice of places")
        return first

    def demand_scalars(self, storage: Storage, to: Pointed) -> None:
        """Refuse a pointer to the value `to` unless it is one to a scalar of the array."""
        memory = storage.memory
        if (to.space, to.kind) != (memory.space, Kind(memory.scalar)):
            raise self.reading.refused(
                f"expected a pointer to {memory.space.value} {memory.scalar}, found one to "
                f"{to.space.value} {to.kind.scalar}"
            )

    def demand_halves(self, storage: Storage, function: str) -> None:
        if storage.memory.scalar != "half":
            held = f"{storage.memory.name} holds {storage.memory.scalar}s"
            raise self.reading.refused(
                f"{function}: expected a pointer to halves, found that {held}"
            )

    def at_pointer(
        self, offset: CExpr, pointer: CExpr, width: int, where: Where, writes: bool
    ) -> Storage:
        """The array that a pointer leads into; the access, a write if `writes`, to the `width`
        scalars at pointer + width·offset is recorded."""
        storage, index = self.place(pointer, where)
        if storage.kind.width != 1:
            raise self.reading.refused(
                f"expected an array of scalars, found that {storage.memory.name} holds vectors"
            )
        index = index + self.indices.int_value(offset, where).index * width
        self.access(storage, index, width, where, writes)
        return storage

    def place(self, pointer: CExpr, where: Where) -> tuple[Storage, Index]:
        """The array that a pointer array + i + j + … points into, and the index i + j + … there, as
        it is at `where`. Sums with a pointer are no ints: no bounds are demanded of them."""
        match pointer:
            case Name(name):
                return self.storage(name), constant(0)
            case Pointer(to):
                storage = self.storage(to.element.array)
                self.demand_scalars(storage, to)
                _, index = self.alone(self.scalars(to, storage.memory, where))
                return storage, index
            case Infix("+", left, right):
                storage, index = self.place(left, where)
                more = self.indices.int_value(self.signed(right, where), where)
                return storage, index + more.index
            case Infix("-", left, right):
                storage, index = self.place(left, where)
                return storage, index - self.indices.int_value(right, where).index
        raise self.reading.refused(
            f"expected a pointer such as array + index, found {type(pointer).__name__}"
        )

    def access(self, s: Storage, index: Index, width: int, where: Where, writes: bool) -> None:
        if writes and s.const:
            raise self.reading.refused(
                f"expected a write to an array that is not const, found {s.memory.name}"
            )
        text = self.reading.text
        self.accesses.append(Access(s.memory, index, width, None, writes, where, text))
