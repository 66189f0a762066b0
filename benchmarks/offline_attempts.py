"""Variants of families that are to be compiled for devices that are not here: how they are drawn,
and what comes of each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice, zip_longest
from math import prod
from typing import Any

from codegen.compile import generate_for
from codegen.demand_proofs import proofs
from codegen.plan import Kernel as Launch
from constraints.devices import Profile, profile
from explore.building.products_made import products_made, whole_products_made
from explore.files.named_programs import example_text
from explore.offline.code_kept import key_of
from explore.report.why_nothing import no_candidate
from explore.results.kernel_code import KernelCode, Refusal
from explore.results.records import Failed, Variant
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from explore.toolchain.compile_kernel import Compiled, CompileKernel
from explore.toolchain.toolchain import Toolchain
from ir.core.nodes import Program
from ir.errors import IllTyped, Unsupported, UserError
from ir.parse import parse

PROGRAMS = {
    "quickstart": ("quickstart", {}),
    "vgg-7 at 28 × 28": ("vgg", {"C": 128, "M": 128, "W": 28, "H": 28}),
    "depthwise": ("depthwise", {"W": 28, "H": 28}),
    "1×1": ("conv1x1", {"W": 28, "H": 28}),
    "whole numbers": ("qlinear_conv", {"W": 14, "H": 14}),
}
EQUAL = 0.02  # products that differ by less are the plan's

Code = Compiled | Failed


@dataclass(frozen=True, slots=True)
class Source:
    """A program and a family, by name."""

    program: str
    family: str


@dataclass(frozen=True, slots=True)
class Place:
    """A device's profile, a program and a family, by name."""

    device: str
    program: str
    family: str


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of one variant, number `number` of its place. `key` is the hash of its texts and
    of all else that the result depends on. `failed` tells the stage and the reason ("" if all was
    compiled), `refused` the reason of a family that does not take the program. `products` are those
    of the compiled code, None if it is not known how often loops turn; `slots` are the tuples
    (Bifrost) or instructions that are issued, and `messages` those to memory. `planned` are the
    products of the plan."""

    place: Place
    number: int
    variant: str
    key: str
    failed: str = ""
    refused: str = ""
    spills: bool = False
    products: float | None = None
    slots: float = 0.0
    messages: float = 0.0
    planned: int = 0
    form: str = ""
    parameters: str = ""

    @property
    def equal(self) -> bool:
        """True if the compiled code makes as many products as the plan."""
        done = self.products
        return done is not None and abs(done - self.planned) <= EQUAL * self.planned

    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def tried_from(line: str) -> Tried:
    """The result in a line that `Tried.line` gave, also in an older version that told more."""
    read = json.loads(line)
    told = {f.name: read[f.name] for f in fields(Tried) if f.name in read}
    return Tried(**{**told, "place": Place(**read["place"])})


@dataclass(slots=True)
class Drawings:
    """The variants of each source that are tried on `devices`: the same on all, or, if none suits
    all devices, each device's own."""

    devices: Sequence[str]
    seed: int
    variants: int
    found: dict[Source, list["Drawing"]] = field(default_factory=dict)

    def of(self, source: Source) -> "list[Drawing]":
        if source not in self.found:
            every = Drawing(source, self.devices, self.seed, self.variants)
            alone = [Drawing(source, [name], self.seed, self.variants) for name in self.devices]
            self.found[source] = alone if isinstance(every.drawn, str) else [every]
        return self.found[source]


class Drawing:
    """The variants of a family for a program (`source`) that a run of four times as many variants
    would begin with, one of each form in turn, for a device on which all that is drawn suits all
    `devices`."""

    def __init__(self, source: Source, devices: Sequence[str], seed: int, variants: int) -> None:
        self.source, self.devices, self.seed, self.variants = source, devices, seed, variants
        self.profile = least([profile(name) for name in devices])
        file, sizes = PROGRAMS[source.program]
        self.program = parse(example_text(file), file, sizes)

    @cached_property
    def drawn(self) -> list[tuple[Derived, Variant]] | str:
        """The variants, each with its derived form; or why there are none."""
        try:
            return list(islice(self._draw(self.program), self.variants))
        except UserError as error:
            return " ".join(str(error).split())

    def attempts(self, number: int, toolchain: Toolchain, limit: float) -> "Iterator[Attempt]":
        """The compiling of variant `number` for each device; nothing if there are fewer."""
        drawn = self.drawn
        if number < (1 if isinstance(drawn, str) else len(drawn)):
            text = drawn if isinstance(drawn, str) else Text(*drawn[number], self.profile)
            for device in self.devices:
                place = Place(device, self.source.program, self.source.family)
                yield Attempt(place, number, text, toolchain, limit)

    def _draw(self, program: Program) -> Iterator[tuple[Derived, Variant]]:
        families, budget = (self.source.family,), 4 * self.variants
        todo = tasks(program, self.profile, families=families, budget=budget, seed=self.seed)
        results = [derive(task) for task in todo]
        found = [d for d in results if isinstance(d, Derived)]
        if not any(d.variants for d in found):
            raise UserError(no_candidate(program, None, results))
        turns = zip_longest(*([(d, v) for v in d.variants] for d in found))
        return (each for turn in turns for each in turn if each is not None)


class Text:
    """A variant of a form, with its kernels generated for a device with this profile."""

    def __init__(self, form: Derived, variant: Variant, known: Profile) -> None:
        self.variant = variant
        self.failed, self.made = "", None
        try:
            program = bound(form.lowered.program, dict(variant.parameters))
            self.made = generate_for(program, known)
        except (Unsupported, UserError, IllTyped) as error:
            self.failed = f"emit: {error}".splitlines()[0]

    @cached_property
    def wrong(self) -> str:
        """The stage and reason if the kernels were not generated or not proved; "" if they were."""
        if self.made is None:
            return self.failed
        open_ = [v for proof in proofs(self.made) for v in proof.failures]
        return f"prove: {open_[0]}"[:300] if open_ else ""

    @property
    def launches(self) -> list[Launch]:
        """The launches of an inference."""
        return [] if self.made is None else [k for k in self.made.plan.kernels if not k.prepack]

    @cached_property
    def planned(self) -> int:
        """The number of products of the plan, of floats and of whole numbers."""
        names = {launch.name for launch in self.launches}
        kernels = [k for k in self.made.kernels if k.name in names] if self.made else []
        return round(products_made(kernels) + whole_products_made(kernels))


@dataclass(slots=True)
class Attempt:
    """The compiling of a variant, number `number` of a place, for the place's device; `text` says
    why if the family refuses the program."""

    place: Place
    number: int
    text: Text | str
    toolchain: Toolchain
    limit: float
    tasks: dict[str, CompileKernel] = field(init=False)  # by their keys
    key: str = field(init=False)

    def __post_init__(self) -> None:
        launches = [] if isinstance(self.text, str) else self.text.launches
        every = [self._task(launch) for launch in launches]
        self.tasks = {key_of(task): task for task in every}
        known = self.text if isinstance(self.text, str) else self.text.variant.id
        self.key = sha256(json.dumps([asdict(self.place), known, *self.tasks]).encode()).hexdigest()

    def _task(self, launch: Launch) -> CompileKernel:
        size, group = launch.global_size, launch.local_size
        device = self.place.device
        return CompileKernel(0, launch.source, size, group, self.toolchain, device, self.limit)

    @property
    def blank(self) -> Tried:
        """The result before anything is compiled."""
        if isinstance(self.text, str):
            return Tried(self.place, self.number, "", self.key, refused=self.text)
        made = self.text.variant
        parameters = " ".join(f"{p}={n}" for p, n in made.parameters)
        return Tried(
            *(self.place, self.number, made.id, self.key, self.text.wrong),
            form=made.form, parameters=parameters,
        )  # fmt: skip

    def counted(self, found: Tried) -> Tried:
        """The result with the number of products of the plan."""
        return found if isinstance(self.text, str) else replace(found, planned=self.text.planned)

    def result(self, codes: Mapping[str, Code]) -> Tried:
        """The result, from the code of all kernels."""
        found = [codes[key] for key in self.tasks]
        for each in found:
            match each:
                case Refusal(words) | Failed(reason=words):
                    return replace(self.blank, failed=f"build: {words}"[:300])
        assert isinstance(self.text, Text)
        launches = self.text.launches
        made = [codes[key_of(self._task(launch))] for launch in launches]
        known = [code for code in made if isinstance(code, KernelCode)]
        spills = any(c.spills or c.fills for c in known)
        done = replace(self.counted(self.blank), spills=spills)
        if not all(c.done for c in known):
            return done

        def total(of: str) -> float:
            """The sum of a count over all work-items of all kernels."""
            return sum(
                dict(c.done).get(of, 0.0) * prod(k.global_size)
                for k, c in zip(launches, known, strict=True)
            )

        slots = total("tuples") or total("instructions")
        products = total("products") + total("whole_products")
        return replace(done, products=products, slots=slots, messages=total("messages"))


def least(known: Sequence[Profile]) -> Profile:
    """The profile with the least of each of these profiles' limits."""
    names = [f.name for f in fields(Profile) if f.name not in ("name", "instructions")]
    limits = {name: _least([getattr(p, name) for p in known]) for name in names}
    shared = {*known[0].instructions}.intersection(*(p.instructions for p in known))
    return replace(known[0], instructions=tuple(sorted(shared)), **limits)


def _least(values: Sequence[Any]) -> Any:
    """The least of several numbers, or of each place of several tuples of equal length."""
    if isinstance(values[0], tuple):
        return tuple(map(min, zip(*values, strict=True)))
    return min(values)
