"""The values of a kernel's definitions for work-items that are sampled, for those definitions that
depend only on ids, constants and the counters of loops.

They tell how often the conditions in a compiler's output hold. A value that depends on anything
else, such as memory, is unknown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explore.toolchain.shader_ir import MERGE, Made, Operand
from ir.core.frozen import frozen

Numbers = NDArray[np.int64]
Known = Numbers | None
Size = tuple[int, int, int]

SAMPLED = 1 << 14  # work-items, where there are more; others count several times
MASK, HALF = (1 << 32) - 1, (1 << 16) - 1
LANES = "xyzw"
MANY_LANES = "abcdefghijklmnop"  # of vectors of more than four


@frozen
class Items:
    """Some work-items of a launch: for each dimension, the ids of their groups, their local ids,
    and the size of a group."""

    group: tuple[Numbers, Numbers, Numbers]
    local: tuple[Numbers, Numbers, Numbers]
    size: Size  # of a group

    @property
    def count(self) -> int:
        return len(self.group[0])

    def global_ids(self) -> tuple[Numbers, ...]:
        """The global ids, by dimension."""
        parts = zip(self.group, self.local, self.size, strict=True)
        return tuple(g * n + own for g, own, n in parts)


def items_of(global_size: Size, size: Size, seed: int = 0) -> Items:
    """The work-items that stand for all of a launch. Of a small launch they are all its items, each
    repeated equally often until there are enough to draw the turns of loops for; of a large one
    they are drawn at random."""
    groups = [-(-a // n) for a, n in zip(global_size, size, strict=True)]
    lengths = [*groups, *size]
    count = int(np.prod(np.asarray(lengths, dtype=np.float64)))
    if count <= SAMPLED:
        all_once = np.indices(lengths).reshape(6, -1).astype(np.int64)
        each = np.tile(all_once, -(-SAMPLED // count))
    else:
        random = np.random.default_rng(seed)
        each = np.stack([random.integers(0, n, SAMPLED) for n in lengths]).astype(np.int64)
    return Items((each[0], each[1], each[2]), (each[3], each[4], each[5]), size)


@dataclass(slots=True)
class Values:
    """The values of a kernel's definitions (`made`) for some work-items, as far as they are known.
    `counters` are those of loops, set by whoever knows their turns; `bases` are the places of
    arguments that hold offsets of ids, which are 0 here; `known` caches what was computed."""

    made: Mapping[int, Made]
    items: Items
    bases: frozenset[int] = frozenset()  # where arguments hold offsets of ids: they are 0 here
    counters: dict[int, Numbers] = field(default_factory=dict)
    known: dict[int, tuple[Known, ...]] = field(default_factory=dict)

    def of(self, x: Operand) -> Known:
        """The value of an operand's first lane, as 32 bits with a sign; None if it is unknown."""
        lanes, at = self.lanes(x.number), first_lane(x)
        return lanes[at] if 0 <= at < len(lanes) else None

    def count(self, counter: Operand, values: Numbers) -> None:
        """Give a loop's counter, a definition or a lane of one, these values."""
        if counter.lanes:
            at = first_lane(counter)
            lanes = (values if n == at else None for n in range(len(MANY_LANES)))
            self.known[counter.number] = tuple(lanes)
        else:
            self.counters[counter.number] = values

    def lanes(self, number: int) -> tuple[Known, ...]:
        """The values of all lanes of the definition with this number; None for an unknown one."""
        if number in self.counters:
            return (self.counters[number],)
        if number not in self.known:
            self.known[number] = (None,)  # while it is asked for
            made = self.made.get(number)
            self.known[number] = (None,) if made is None else self._made(made)
        return self.known[number]

    def _made(self, m: Made) -> tuple[Known, ...]:
        match m.operation:
            case "load_const":
                ones = np.ones(self.items.count, dtype=np.int64)
                return tuple(_signed(ones * (n & MASK)) for n in m.numbers)
            case "@load_workgroup_id":
                return self.items.group
            case "@load_local_invocation_id":
                return self.items.local
            case "@load_global_invocation_id":
                return self.items.global_ids()
            case "@load_ubo" if self._is_base(m):
                return (np.zeros(self.items.count, dtype=np.int64),) * 4
            case "@load_const_ir3":  # arguments: offsets of ids, and addresses, which nothing tests
                return (np.zeros(self.items.count, dtype=np.int64),) * 4
            case "@preamble_start_ir3":  # what is done once for a launch, before all work-items
                return (np.zeros(self.items.count, dtype=np.int64),)
            case "vec2" | "vec3" | "vec4":
                return tuple(map(self.of, m.operands))
        law = LAWS.get(m.operation)
        given = [self._taken(x) for x in m.operands]
        if law is None or len(given) != law[0]:
            return (None,)
        width = max(map(len, given))
        each = ([g[min(n, len(g) - 1)] for g in given] for n in range(width))
        return tuple(_by_law(law[1], lanes) for lanes in each)

    def _taken(self, x: Operand) -> tuple[Known, ...]:
        """The values of the lanes that an operand takes."""
        lanes = self.lanes(x.number)
        wanted = [_lane(name) for name in x.lanes] or range(max(1, len(lanes)))
        return tuple(lanes[n] if 0 <= n < len(lanes) else None for n in wanted)

    def _is_base(self, load: Made) -> bool:
        """True if the definition `load`, a load from the kernel's arguments, reads an offset that
        is added to ids."""
        at = self.made.get(load.operands[-1].number) if load.operands else None
        return at is not None and not self.bases.isdisjoint(at.numbers[:1])


def first_lane(x: Operand) -> int:
    """The position of the first lane that an operand takes."""
    return _lane(x.lanes[0]) if x.lanes else 0


def _lane(name: str) -> int:
    """The position of a lane in a vector, by its name."""
    return LANES.find(name) if name in LANES else MANY_LANES.find(name)


def _by_law(law: Callable[..., Numbers], lanes: Sequence[Known]) -> Known:
    """The value of the function `law` of one lane of each operand; None if one of them is
    unknown."""
    some = [x for x in lanes if x is not None]
    return _signed(law(*some)) if len(some) == len(lanes) else None


def _signed(x: Numbers) -> Numbers:
    """The lowest 32 bits of each of the numbers x, as a number with a sign."""
    return (x + (1 << 31) & MASK) - (1 << 31)


def _unsigned(x: Numbers) -> Numbers:
    return x & MASK


def _truth(holds: NDArray[np.bool_]) -> Numbers:
    return -holds.astype(np.int64)


def _chosen(test: Numbers, a: Numbers, b: Numbers) -> Numbers:
    found: Numbers = np.where(test != 0, a, b)
    return found


Law = tuple[int, Callable[..., Numbers]]
LAWS: Mapping[str, Law] = {
    "mov": (1, lambda a: a),
    "iadd": (2, lambda a, b: a + b),
    "isub": (2, lambda a, b: a - b),
    "imul": (2, lambda a, b: a * b),
    "amul": (2, lambda a, b: a * b),
    "imad24_ir3": (3, lambda a, b, c: a * b + c),
    "umul_low": (2, lambda a, b: (a & HALF) * (b & HALF)),
    "imadsh_mix16": (3, lambda a, b, c: (((_unsigned(a) >> 16) * (b & HALF)) << 16) + c),
    "ineg": (1, lambda a: -a),
    "inot": (1, lambda a: ~a),
    "iand": (2, lambda a, b: a & b),
    "ior": (2, lambda a, b: a | b),
    "ixor": (2, lambda a, b: a ^ b),
    "ishl": (2, lambda a, b: a << (b & 31)),
    "ishr": (2, lambda a, b: a >> (b & 31)),
    "ushr": (2, lambda a, b: _unsigned(a) >> (b & 31)),
    "imin": (2, np.minimum),
    "imax": (2, np.maximum),
    "umin": (2, lambda a, b: np.minimum(_unsigned(a), _unsigned(b))),
    "umax": (2, lambda a, b: np.maximum(_unsigned(a), _unsigned(b))),
    "umul_high": (2, lambda a, b: (_unsigned(a) * _unsigned(b)) >> 32),
    "b2i32": (1, lambda a: (a != 0).astype(np.int64)),
    **{f"b{w}csel": (3, _chosen) for w in ("", 16, 32)},
    MERGE: (3, _chosen),
    **{f"ige{w}": (2, lambda a, b: _truth(a >= b)) for w in ("", 8, 16, 32)},
    **{f"ilt{w}": (2, lambda a, b: _truth(a < b)) for w in ("", 8, 16, 32)},
    **{f"ieq{w}": (2, lambda a, b: _truth(a == b)) for w in ("", 8, 16, 32)},
    **{f"ine{w}": (2, lambda a, b: _truth(a != b)) for w in ("", 8, 16, 32)},
    **{f"uge{w}": (2, lambda a, b: _truth(_unsigned(a) >= _unsigned(b))) for w in ("", 8, 16, 32)},
    **{f"ult{w}": (2, lambda a, b: _truth(_unsigned(a) < _unsigned(b))) for w in ("", 8, 16, 32)},
}
