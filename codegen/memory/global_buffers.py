"""Global memory: which buffers there are, which share an allocation, and what that comes to."""

from dataclasses import dataclass

from codegen.plan import Buffer, Role


@dataclass(frozen=True, slots=True)
class Life:
    """A temporary's size, and the launches of the run (by number) between which it is needed."""

    name: str
    bytes: int
    first: int
    last: int


def share(lives: list[Life]) -> dict[str, int]:
    """Slots for temporaries, so that no two live at once share one; large ones first.

    Two orders are tried, and the one with less memory kept.
    """
    by_size = sorted(lives, key=lambda life: (-life.bytes, life.first, life.name))
    by_time = sorted(lives, key=lambda life: (life.first, -life.bytes, life.name))
    return min((_assigned(by_size), _assigned(by_time)), key=lambda slots: total(lives, slots))


def _assigned(lives: list[Life]) -> dict[str, int]:
    slots: list[list[Life]] = []
    found: dict[str, int] = {}
    for life in lives:
        open_ = [n for n, slot in enumerate(slots) if not any(_meet(life, x) for x in slot)]
        best = min(open_, key=lambda n: _waste(life, slots[n]), default=len(slots))
        if best == len(slots):
            slots.append([])
        slots[best].append(life)
        found[life.name] = best
    return found


def _waste(life: Life, slot: list[Life]) -> tuple[int, int]:
    """(bytes by which the slot grows, bytes of it left unused)"""
    size = max(x.bytes for x in slot)
    return max(0, life.bytes - size), max(0, size - life.bytes)


def _meet(a: Life, b: Life) -> bool:
    return a.first <= b.last and b.first <= a.last


def total(lives: list[Life], slots: dict[str, int]) -> int:
    """Bytes of all slots together."""
    sizes: dict[int, int] = {}
    for life in lives:
        slot = slots[life.name]
        sizes[slot] = max(life.bytes, sizes.get(slot, 0))
    return sum(sizes.values())


def kept_bytes(buffers: list[Buffer], read: set[str]) -> int:
    """Bytes live during a run besides temporaries; a constant counts if a run reads it."""
    return sum(
        b.bytes
        for b in buffers
        if b.role in (Role.INPUT, Role.OUTPUT, Role.PACKED)
        or (b.role is Role.CONST and b.name in read)
    )
