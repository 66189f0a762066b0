"""Mutants of plans: in a copy of a plan, one fault is planted, of a kind that a bug in code
generation might make.

A mutant may still be safe, and only compute wrong numbers; the simulator tells which."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations

from codegen.plan import Kernel, Plan, Role
from codegen.text_proof.prove_text import prove_texts
from codegen.text_reader.c_tokens import NotRead
from tests.support.text_simulator import TooLong, faults

Texts = Iterator[str]
ARRAY = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\[")
WIDE = re.compile(r"\*\((?:const )?__(?:global|local) ([a-z]+)(\d+) \*\)&")
VECTOR = re.compile(r"\bv(load|store)(\d+)\b")
NUMBER = re.compile(r"(?<=\* )\d+\b(?!\.)")


@dataclass(frozen=True)
class Mutant:
    kind: str
    plan: Plan


class Outcome(Enum):
    """The outcome of a mutant, as a name: whether it is safe, by the simulator, and whether the
    proof accepts it."""

    REFUSED = "unsafe, refused"
    MISSED = "unsafe, proved"
    SAFE = "safe, proved"
    CAUTIOUS = "safe, refused"
    UNREAD = "no kernel's text"
    LONG = "takes too long to simulate"


def outcome(mutant: Mutant) -> Outcome:
    """The outcome of a mutant, from its proof and its simulation."""
    proved = all(proof.ok for proof in prove_texts(mutant.plan))
    try:
        unsafe = bool(faults(mutant.plan))
    except NotRead:
        return Outcome.MISSED if proved else Outcome.UNREAD
    except TooLong:
        return Outcome.LONG
    if unsafe:
        return Outcome.MISSED if proved else Outcome.REFUSED
    return Outcome.SAFE if proved else Outcome.CAUTIOUS


def mutants(plan: Plan) -> Iterator[Mutant]:
    """All mutants of a plan: first those with a fault in a kernel's text, by kind; then those with
    other launches, places of temporaries, or orders of kernels."""
    for n, launch in enumerate(plan.kernels):
        for kind, mutate in KINDS.items():
            for text in mutate(launch.text):
                if text != launch.text:
                    yield Mutant(kind, _with(plan, n, replace(launch, text=text)))
        for other in _sizes(launch):
            yield Mutant("local size", _with(plan, n, other))
        for other in _exchanged(launch):
            yield Mutant("buffer exchanged", _with(plan, n, other))
    yield from (Mutant("places in the arena", other) for other in _places(plan))
    yield from (Mutant("order of kernels", other) for other in _orders(plan))


def _with(plan: Plan, n: int, launch: Kernel) -> Plan:
    return replace(plan, kernels=(*plan.kernels[:n], launch, *plan.kernels[n + 1 :]))


# ---- barriers


def dropped(text: str) -> Texts:
    lines = text.split("\n")
    for n in _barriers(lines):
        yield "\n".join(lines[:n] + lines[n + 1 :])


def moved(text: str) -> Texts:
    """Copies of a kernel's text, each with one barrier moved by up to three lines, also into blocks
    and out of them."""
    lines = text.split("\n")
    for n in _barriers(lines):
        for m in (n - 3, n - 2, n - 1, n + 1, n + 2, n + 3):
            if 0 < m < len(lines) and "{" in "".join(lines[:m]):
                rest = lines[:n] + lines[n + 1 :]
                yield "\n".join([*rest[:m], lines[n], *rest[m:]])


def branched(text: str) -> Texts:
    """Copies of a kernel's text, each with one barrier in a branch that only some work-items
    take."""
    lines = text.split("\n")
    for name in re.findall(r"const int (\w+) = get_(?:local|global)_id", text):
        for n in _barriers(lines):
            yield "\n".join([*lines[:n], f"if ({name} < 1) {{ {lines[n]} }}", *lines[n + 1 :]])


def refenced(text: str) -> Texts:
    for found in re.finditer("CLK_LOCAL_MEM_FENCE", text):
        yield _put(text, found.start(), found.end(), "CLK_GLOBAL_MEM_FENCE")


def _barriers(lines: list[str]) -> list[int]:
    return [n for n, line in enumerate(lines) if "barrier(" in line]


# ---- indices


def shifted(text: str) -> Texts:
    """Copies of a kernel's text, each with one index larger or smaller by one."""
    for _, end in _subscripts(text):
        yield _put(text, end, end, " + 1")
        yield _put(text, end, end, " - 1")
    for found in re.finditer(r"\bv(?:load|store)\d+\(", text):
        end = _closing(text, found.end() - 1)
        yield _put(text, end, end, " + 1")
        yield _put(text, end, end, " - 1")


def strided(text: str) -> Texts:
    """Copies of a kernel's text, each with one factor in an index larger or smaller by one, or
    halved."""
    for found in NUMBER.finditer(text):
        n = int(found.group())
        for other in {n - 1, n + 1, n // 2} - {n, 0}:
            yield _put(text, *found.span(), str(other))


def renumbered(text: str) -> Texts:
    """Copies of a kernel's text, in each of which one use of the id of a dimension is the id of
    another dimension."""
    for found in re.finditer(r"get_\w+_id\((\d)\)", text):
        other = str((int(found.group(1)) + 1) % 3)
        yield _put(text, found.start(1), found.end(1), other)


def looped(text: str) -> Texts:
    """Copies of a kernel's text, each with one loop that has one turn more or one less."""
    for found in re.finditer(r"for \(int \w+ = 0; \w+ < (\d+);", text):
        for by in (-1, 1):
            yield _put(text, found.start(1), found.end(1), str(int(found.group(1)) + by))


def _subscripts(text: str) -> Iterator[tuple[int, int]]:
    """The start and end, in the text, of each index of an array; sizes in declarations are left
    out."""
    for found in ARRAY.finditer(text):
        before = text[: found.start()].rstrip().rsplit(None, 1)[-1]
        if not before[-1:].isalpha() or before == "return":
            yield found.end(), _closing(text, found.end() - 1)


def _closing(text: str, at: int) -> int:
    """The index, in the text, of the bracket that closes the bracket at `at`."""
    depth = 0
    for n in range(at, len(text)):
        depth += (text[n] in "([") - (text[n] in ")]")
        if not depth:
            return n
    raise AssertionError(text[at:])


# ---- vectors


def widened(text: str) -> Texts:
    """Copies of a kernel's text, each with one vector load or store that is twice as wide, or half
    as wide."""
    for pattern in (WIDE, VECTOR):
        for found in pattern.finditer(text):
            for width in (2, 4, 8, 16):
                yield _put(text, found.start(2), found.end(2), str(width))


def unaligned(text: str) -> Texts:
    """Copies of a kernel's text, each with one fault of alignment: a pointer to vectors moved by
    half a vector, an unaligned load (vload) replaced by one through such a pointer, or an `aligned`
    attribute left out."""
    for found in WIDE.finditer(text):
        end = _closing(text, text.index("[", found.end()))
        yield _put(text, end, end, f" + {int(found.group(2)) // 2}")
    for found in re.finditer(r"\bvload(\d+)\(0, (\w+) \+ ", text):
        end = _closing(text, found.start() + len(f"vload{found.group(1)}"))
        kind = f"float{found.group(1)}"
        pointer = f"*(const __global {kind} *)&{found.group(2)}[{text[found.end() : end]}]"
        yield _put(text, found.start(), end + 1, pointer)
    for found in re.finditer(r" __attribute__\(\(aligned\(64\)\)\)", text):
        yield _put(text, *found.span(), "")


# ---- guards


def unguarded(text: str) -> Texts:
    """Copies of a kernel's text, each without the condition of one `if`, or with only the first
    side of one `? :`."""
    for found in re.finditer(r"(?<!else )if \(", text):
        end = _closing(text, found.end() - 1)
        if "} else" not in text:
            yield _put(text, found.start(), end + 1, "")
    for found in re.finditer(r"\((?=[^()]* \? )", text):
        end = _closing(text, found.start())
        test, sides = text[found.end() : end].split(" ? ", 1)
        if test.count("(") == test.count(")") and " : " in sides:
            yield _put(text, found.start(), end + 1, f"({sides.rsplit(' : ', 1)[0]})")


def loosened(text: str) -> Texts:
    """Copies of a kernel's text, each with one comparison that admits one value more, or with one
    comparison of several left out."""
    for found in re.finditer(r" (<=|>=|<) ", text):
        if "for (" in text[text.rfind("\n", 0, found.start()) : found.start()]:
            continue
        more = {"<": "<=", "<=": "<= 1 +", ">=": ">= -1 +"}[found.group(1)]
        yield _put(text, found.start(1), found.end(1), more)
    for found in re.finditer(r"[^?:()]+ (?:<=|>=|<) [^?:()]+ && ", text):
        yield _put(text, *found.span(), "")


# ---- buffers


def swapped(text: str) -> Texts:
    """Copies of a kernel's text, in each of which one use of an array is a use of another array."""
    names = dict.fromkeys(re.findall(r"\*restrict (\w+)|__local \w+ (\w+)\[", text))
    arrays = [a or b for a, b in names]
    for start, _ in _subscripts(text):
        name = ARRAY.match(text, text.rfind("[", 0, start) - _word_before(text, start - 1))
        if name is not None and name.group(1) in arrays:
            for other in arrays:
                if other != name.group(1):
                    yield _put(text, name.start(1), name.end(1), other)


def _word_before(text: str, at: int) -> int:
    found = re.search(r"\w+$", text[:at])
    return len(found.group()) if found else 0


def retargeted(text: str) -> Texts:
    """Copies of a kernel's text, each with the targets of two neighbouring stores exchanged."""
    lines = text.split("\n")
    for n, m in combinations(range(len(lines)), 2):
        if m - n > 2:
            continue
        one, other = (re.match(r"( *(?:\*\(__|\w+\[).*?) = (.*)", lines[k]) for k in (n, m))
        if one and other and "for" not in lines[n]:
            changed = list(lines)
            changed[n] = f"{other.group(1)} = {one.group(2)}"
            changed[m] = f"{one.group(1)} = {other.group(2)}"
            yield "\n".join(changed)


def shrunk(text: str) -> Texts:
    """Copies of a kernel's text, each with one local or private array that is smaller by one."""
    for found in re.finditer(r"^ +(?:__local )?[a-z]+\d* \w+\[(\d+)\]", text, re.MULTILINE):
        yield _put(text, found.start(1), found.end(1), str(int(found.group(1)) - 1))


def _put(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


KINDS: Mapping[str, Callable[[str], Texts]] = {
    "barrier dropped": dropped,
    "barrier moved": moved,
    "barrier in a branch": branched,
    "fence exchanged": refenced,
    "index ±1": shifted,
    "stride changed": strided,
    "id exchanged": renumbered,
    "loop bound ±1": looped,
    "vector width": widened,
    "cast unaligned": unaligned,
    "guard dropped": unguarded,
    "guard loosened": loosened,
    "buffer exchanged": swapped,
    "store target exchanged": retargeted,
    "array smaller": shrunk,
}


# ---- launches and plans


def _sizes(launch: Kernel) -> Iterator[Kernel]:
    """Copies of a kernel with another work-group size: in its text, in its launch, or in both."""
    was = ", ".join(map(str, launch.local_size))
    for d in range(3):
        for n in {launch.local_size[d] * 2, launch.local_size[d] // 2, launch.local_size[d] + 1}:
            size = list(launch.local_size)
            size[d] = n
            words = ", ".join(map(str, size))
            text = launch.text.replace(f"size({was})", f"size({words})")
            x, y, z = size
            if n > 0:
                yield replace(launch, text=text)
            if n > 0 and launch.global_size[d] % n == 0:
                yield replace(launch, text=text, local_size=(x, y, z))
        more = list(launch.global_size)
        more[d] += launch.local_size[d]
        x, y, z = more
        yield replace(launch, global_size=(x, y, z))


def _exchanged(launch: Kernel) -> Iterator[Kernel]:
    for a, b in combinations(range(len(launch.arguments)), 2):
        names = list(launch.arguments)
        names[a], names[b] = names[b], names[a]
        yield replace(launch, arguments=tuple(names))


def _places(plan: Plan) -> Iterator[Plan]:
    """Copies of a plan, each with one temporary moved to where another lies."""
    for a, b in combinations(range(len(plan.buffers)), 2):
        one, other = plan.buffers[a], plan.buffers[b]
        if one.role is other.role is Role.TEMPORARY and one.offset != other.offset:
            buffers = list(plan.buffers)
            buffers[b] = replace(other, offset=one.offset)
            yield replace(plan, buffers=tuple(buffers))


def _orders(plan: Plan) -> Iterator[Plan]:
    """Copies of a plan, each with two neighbouring kernels in the other order."""
    for n in range(len(plan.kernels) - 1):
        kernels = list(plan.kernels)
        kernels[n], kernels[n + 1] = kernels[n + 1], kernels[n]
        yield replace(plan, kernels=tuple(kernels))
