"""The lowered form of a program: what all of its variants share, and the variant at each point."""

# key: p parameter

from collections.abc import Mapping

from constraints.devices import Profile
from constraints.quantities.quantities import Quantities
from constraints.relations.relations import System
from explore.results.records import Step, Variant, variant_id
from explore.space.kernel_features import Seen, features_at
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.core.size import Size, bind
from rewrites.families.all_families import FAMILIES
from rewrites.number_laws.precision import UNIT
from rewrites.tuning.family import Form


@frozen
class LoweredForm:
    """The program lowered by a form, with open parameters: its derivation with its known error
    (`rounding`, in machine epsilons), the constraints and amounts that depend on parameters, and
    the results of a work-group (`block`; None: it has no block)."""

    form: Form
    program: Program
    steps: tuple[Step, ...]
    rounding: float  # machine epsilons that the derivation may lose
    system: System
    quantities: Quantities
    block: Size | None  # the results of a work-group
    profile: Profile

    @property
    def family(self) -> str:
        """The name of the form's family."""
        return self.form.family

    def variant(self, point: Mapping[str, int], seen: Seen) -> Variant:
        """The variant at a point, with what is known of it before it is built."""
        parameters = tuple(sorted(point.items()))
        results = None if self.block is None else bind(self.block, point)
        return Variant(
            id=variant_id(self.family, parameters, self.form.words),
            family=self.family,
            parameters=parameters,
            stored=FAMILIES[self.family].stored(self.form),
            form=self.form.name,
            traits=self.form.words,
            tile=self.form.tile,
            known_error=self.rounding / UNIT + self.form.loses_in_sums,
            block=results if isinstance(results, int) else None,
            features=features_at(self.quantities, point, self.profile, seen),
        )
