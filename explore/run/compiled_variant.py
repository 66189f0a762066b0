"""A variant built for a device, which computes the program's output when called on arrays."""

from math import inf
from typing import Any

import numpy as np

from codegen.plan import Plan, Role
from codegen.runtime.buffer_arrays import outputs
from codegen.runtime.built_program import Program as Built
from codegen.runtime.device_array import DeviceArray
from codegen.runtime.session import session_of
from explore.options.units import show_bytes, show_time
from explore.results.records import Record
from explore.results.run_environment import Environment
from explore.run.target import device_of
from explore.run.trusted_plans import TrustedPlans
from ir.core.frozen import frozen
from ir.errors import UserError


@frozen
class Compiled:
    """A variant built for a device, called as `best(image, weights)` with arrays in the program's
    order, or by name."""

    plan: Plan
    built: Built
    names: tuple[str, ...]
    record: Record | None = None
    largest: float = inf  # number that inputs may hold: the run relied on it

    def __repr__(self) -> str:
        """The text of the variant: its parameters, time and memory, and the names of its inputs."""
        taken = ", ".join(self.names)
        if self.record is None:
            return f"<compiled ({taken}): {show_bytes(self.plan.memory_bytes)}>"
        numbers = f"{show_time(self.record.time_ns)}, {show_bytes(self.record.memory_bytes)}"
        return f"<compiled {self.record.variant.id}({taken}): {numbers}>"

    @staticmethod
    def of(record: Record, environment: Environment, trust: bool = False) -> "Compiled":
        """The variant of a stored run, made again here, on the device of that run. With `trust`,
        kernels that another version of convlift stored are taken, if they are proved safe to
        run."""
        device = device_of(environment)
        plan = TrustedPlans(environment, trust).of(record)
        names = tuple(b.name for b in plan.buffers if b.role in (Role.INPUT, Role.CONST))
        relied_on = environment.options.get("largest")
        largest = inf if relied_on is None else float(relied_on)
        return Compiled(plan, session_of(device).build(plan), names, record, largest)

    def __call__(self, *arrays: Any, **by_name: Any) -> Any:
        """The program's output for these arrays; a constant that is given once is kept.

        If one of them is an array of `to_device`, or what another variant made of such, the output
        stays on the device, and nothing waits; `np.asarray` reads it.
        """
        if len(arrays) > len(self.names):
            raise UserError(
                f"expected at most {len(self.names)} arrays, for {', '.join(self.names)}; "
                f"found {len(arrays)}"
            )
        given = dict(zip(self.names, arrays, strict=False))
        if twice := sorted(given.keys() & by_name.keys()):
            raise UserError(f"{twice[0]} is given by position and by name: expected one")
        given |= by_name
        for name, array in given.items():
            self._demand_within(name, array)
        if any(isinstance(array, DeviceArray) for array in given.values()):
            return self.built.on_device(given)
        return self.built(given)

    def to_device(self, array: Any) -> DeviceArray:
        """A copy of an array on the variant's device, to pass to variants that run there."""
        self._demand_within("the array", array)
        return self.built.to_device(np.asarray(array))

    def _demand_within(self, name: str, array: Any) -> None:
        """Refuse an array for the input `name` with numbers larger than those that the run was made
        for. An array on the device was checked when it was copied there, or was made there."""
        if self.largest == inf or isinstance(array, DeviceArray):
            return
        if not np.all(np.abs(np.asarray(array)) <= self.largest):
            raise UserError(
                f"{name}: expected numbers within ±{self.largest:g}, as the run was told, found "
                f"{np.abs(np.asarray(array)).max():g}"
            )

    @property
    def source(self) -> str:
        """The OpenCL text of the variant's kernels."""
        return self.plan.source

    @property
    def output_shape(self) -> tuple[int, ...]:
        return outputs(self.plan)[0].shape
