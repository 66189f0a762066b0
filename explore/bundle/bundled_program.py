"""The inputs and the right results of the program of a bundle: the inputs are drawn from a seed,
and the results are those expected of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from explore.bundle.drawn_inputs import drawn_input, sampled_places, without_signs_of_zero
from explore.bundle.variant_tables import Input
from explore.measure.reference import Array, Reference, reference_for
from ir.core.nodes import Program
from ir.meaning.inputs import STORED, cells_of, demand_few, scalar_of, shape_of


@dataclass(frozen=True)
class BundledProgram:
    """A program with the inputs that are drawn from a seed in bundles, and their right results."""

    program: Program
    seed: int

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The program's inputs (name, scalar type, count) in the order of its parameters, by which
        they are numbered."""
        demand_few(self.program)
        return tuple(
            Input(p.var.name, scalar_of(p.var.type).name, cells_of(p.var.type))
            for p in self.program.params
        )

    def hashes(self, whole: bool) -> list[str]:
        """The sha256 of each input's numbers: whole numbers if `whole`, else real ones."""
        return [sha256(self._drawn(n, whole).tobytes()).hexdigest() for n in range(self._count)]

    @cached_property
    def right(self) -> Reference:
        """The right results of the program for the inputs of real numbers, and for those of whole
        numbers where these are exact."""
        return reference_for(self.program, self._arrays(False), self._arrays(True))

    def places(self, output: int) -> Array:
        """The places in result number `output` whose numbers are brought back as samples."""
        return sampled_places(self.seed, output, self.right.outputs[output].size)

    def exact_hash(self, output: int, scalar: str) -> str | None:
        """The sha256 of the right result number `output` for inputs of whole numbers, stored as a
        device does in the type `scalar`; None where its value depends on rounding."""
        if self.right.exact is None or self.right.exact[output].rounding:
            return None
        meant = self.right.exact[output].output.ravel()
        stored = meant.astype(STORED[scalar])
        raw = stored.view(np.uint16) if scalar == "bfloat" else stored
        return sha256(without_signs_of_zero(raw, scalar).tobytes()).hexdigest()

    @property
    def _count(self) -> int:
        return len(self.program.params)

    def _drawn(self, n: int, whole: bool) -> Array:
        given = self.inputs[n]
        return drawn_input(self.seed, n, given.scalar, given.count, whole)

    def _arrays(self, whole: bool) -> Mapping[str, Array]:
        """The inputs as arrays, by parameter: of whole numbers if `whole`, else of real ones."""
        found = {}
        for n, p in enumerate(self.program.params):
            drawn, scalar = self._drawn(n, whole), scalar_of(p.var.type).name
            stored = drawn.view(STORED[scalar]) if scalar == "bfloat" else drawn
            found[p.var.name] = stored.reshape(shape_of(p.var.type))
        return found
