"""The inputs and the right results of a bundle's program: what its programs draw by the seed, and
what is expected of them."""

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
    """A program with the inputs that a seed stands for in bundles."""

    program: Program
    seed: int

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs in the order in which they are numbered: that of the parameters."""
        demand_few(self.program)
        return tuple(
            Input(p.var.name, scalar_of(p.var.type).name, cells_of(p.var.type))
            for p in self.program.params
        )

    def hashes(self, whole: bool) -> list[str]:
        """The sha256 of each input, of real or of whole numbers."""
        return [sha256(self._drawn(n, whole).tobytes()).hexdigest() for n in range(self._count)]

    @cached_property
    def right(self) -> Reference:
        """The right results for real numbers, and for whole ones where these are exact."""
        return reference_for(self.program, self._arrays(False), self._arrays(True))

    def places(self, output: int) -> Array:
        """The places in a result that are brought back as samples."""
        return sampled_places(self.seed, output, self.right.outputs[output].size)

    def exact_hash(self, output: int, scalar: str) -> str | None:
        """The sha256 of a right result for whole numbers, as a device stores it; None where
        rounding decides."""
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
        """The inputs as arrays, by parameter."""
        found = {}
        for n, p in enumerate(self.program.params):
            drawn, scalar = self._drawn(n, whole), scalar_of(p.var.type).name
            stored = drawn.view(STORED[scalar]) if scalar == "bfloat" else drawn
            found[p.var.name] = stored.reshape(shape_of(p.var.type))
        return found
