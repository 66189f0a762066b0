"""0-1 programmes: unknowns by name, rows that bound sums of them, and their solution by SciPy."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from ir.core.frozen import frozen
from ir.errors import UserError

TIME_LIMIT = 60.0  # seconds that the solver may take
LIMIT_REACHED = 1  # the status of SciPy's solver, where that was too little

Term = tuple[Hashable, float]
"""An unknown, by its name, and its factor."""


@frozen
class Solved:
    """The solution of a 0-1 programme: the values of its unknowns by name, the least that its cost
    is proved to be, and the share of its cost by which other values might still be better."""

    values: Mapping[Hashable, float]
    least: float
    gap: float


@dataclass(slots=True)
class ZeroOne:
    """A 0-1 programme that is being put together: the places of the unknowns by name, the most that
    each may be, whether it is 0 or 1 (else any number from 0 on), and the rows, each with its
    bounds."""

    places: dict[Hashable, int] = field(default_factory=dict)
    most: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[dict[int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def unknown(self, name: Hashable, whole: bool = True, most: float = 1.0) -> None:
        """Add an unknown, which is 0 or 1, or, if not `whole`, any number from 0 to `most`."""
        self.places[name] = len(self.places)
        self.most.append(most)
        self.whole.append(int(whole))

    def row(
        self, terms: Iterable[Term], low: float = -float("inf"), high: float = float("inf")
    ) -> None:
        """Demand that the sum of these terms lies between two bounds."""
        found: dict[int, float] = {}
        for name, factor in terms:
            place = self.places[name]
            found[place] = found.get(place, 0.0) + factor
        self.rows.append(found)
        self.low.append(low)
        self.high.append(high)

    def solved(self, cost: Iterable[Term]) -> Solved | None:
        """The solution for which the sum of the terms `cost` is least; None if no values fit. A
        UserError if the solver had too little time to tell."""
        import numpy as np  # slow to import, as is SciPy
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        weights = np.zeros(len(self.places))
        for name, factor in cost:
            weights[self.places[name]] += factor
        entries = [(r, place, x) for r, row in enumerate(self.rows) for place, x in row.items()]
        rows, columns, factors = zip(*entries, strict=True)
        shape = len(self.rows), len(self.places)
        matrix = csr_array((factors, (rows, columns)), shape=shape)
        found = milp(
            weights,
            constraints=LinearConstraint(matrix, np.array(self.low), np.array(self.high)),
            integrality=self.whole,
            bounds=Bounds(np.zeros(len(self.most)), np.array(self.most)),
            options={"time_limit": TIME_LIMIT, "mip_rel_gap": 0.0},
        )
        if found.x is None and found.status == LIMIT_REACHED:
            raise UserError(f"the solver found no choice within {TIME_LIMIT:g} s")
        if found.x is None:
            return None
        values = {name: float(found.x[place]) for name, place in self.places.items()}
        least = found.fun if found.mip_dual_bound is None else found.mip_dual_bound
        return Solved(values, float(least), float(found.mip_gap or 0.0))
