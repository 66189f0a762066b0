"""A check whether a change of our code alters what is generated: variants of all families and
examples are printed, and compared with what was printed before the change.

It prints a line for each of some hundreds of variants: the number of points of its form, its
derivation, and its OpenCL text.

    python -m benchmarks.same_kernels > before.jsonl
    python -m benchmarks.same_kernels --against before.jsonl
    python -m benchmarks.same_kernels --against before.jsonl --programs vgg,matmul --families lift

Names and comments do not count: identifiers are numbered in the order in which they come in a
kernel.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from codegen.compile import generate
from constraints.devices import profile
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import Derive
from explore.space.lowering import bound
from ir.errors import Unsupported
from ir.parse import parse_file
from rewrites.families.all_families import FAMILIES, form_named, forms

EXAMPLES = Path(__file__).parent.parent / "examples"
PROFILES = ("cpu", "h200", "mali-g72")
_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|\s+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Among:
    """The programs and families that are compared: those named here; all programs, or all families,
    if none is named."""

    programs: Collection[str]
    families: Collection[str]

    def has(self, program: str, family: str) -> bool:
        """True if a family's variants of a program are compared."""
        return _among(program, self.programs) and _among(family, self.families)

    def has_variant(self, key: str) -> bool:
        """True if the variant with this key is compared."""
        program, family = key.split(" [")[0].split(" ")
        return self.has(program, family)


def _among(name: str, chosen: Collection[str]) -> bool:
    return not chosen or name in chosen


def lines(forms_each: int, points: int, seed: int, among: Among) -> Iterator[dict[str, object]]:
    """A record for each of `points` variants of `forms_each` forms of each program and family in
    `among`; equal seeds draw equal variants."""
    for path in sorted(EXAMPLES.glob("*.lift")):
        program = parse_file(path)
        for family in (f for f in FAMILIES if among.has(path.stem, f)):
            random = Random(f"{seed} {path.stem} {family}")
            every = [form.name for form in forms(program, family)]
            for name in sorted(random.sample(every, min(forms_each, len(every)))):
                target = profile(random.choice(PROFILES))
                found = derive(
                    Derive(program, form_named(program, family, name), target, points, seed)
                )
                yield from _of_form(path.stem, family, name, found)


def _of_form(program: str, family: str, form: str, found: object) -> Iterator[dict[str, object]]:
    key = f"{program} {family} [{form}]"
    if not isinstance(found, Derived):
        yield {"variant": key, "refused": True}
        return
    steps = _hash([(s.law, s.place) for s in found.lowered.steps])
    for variant in found.variants[:2]:
        values = dict(variant.parameters)
        record: dict[str, object] = {"variant": f"{key} {values}", "id": variant.id}
        record |= {"points": found.count, "steps": steps, "features": _hash(variant.features)}
        try:
            made = generate(bound(found.lowered.program, values))
            record["text"] = _hash(without_names(made.plan.source))
            record["memory"] = made.plan.memory_bytes
        except Unsupported:
            record["text"] = "unsupported"
        yield record


def without_names(text: str) -> str:
    """The OpenCL text with each kernel's identifiers numbered, without comments and white space."""
    numbers: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        word = found.group()
        if word == "__kernel":
            numbers.clear()
        if word[0].isspace() or word.startswith(("//", "/*")):
            return " "
        return numbers.setdefault(word, f"n{len(numbers)}")

    return " ".join(_TOKEN.sub(plain, text).split())


def _hash(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()[:16]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--forms", type=int, default=4, help="forms of each family and program")
    options.add_argument("--points", type=int, default=2, help="points of each form")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--against", type=Path, help="a file of lines written before the change")
    options.add_argument("--programs", type=_names, default=(), help="examples, as in vgg,matmul")
    options.add_argument("--families", type=_names, default=(), help="families, as in lift,blocked")
    given = options.parse_args()
    among = Among(given.programs, given.families)
    found = lines(given.forms, given.points, given.seed, among)
    if given.against is None:
        for line in found:
            print(json.dumps(line), flush=True)
        return 0
    written = map(json.loads, given.against.read_text().splitlines())
    before = {r["variant"]: r for r in written if among.has_variant(r["variant"])}
    now = {r["variant"]: r for r in found}
    changed = [key for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
    for key in sorted(map(str, changed))[:20]:
        print(f"{key}\n  before {before.get(key)}\n  now    {now.get(key)}")
    print(f"{len(now)} variants, {len(changed)} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
