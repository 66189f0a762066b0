"""A plan that is built for a device: its buffers, its runs, its timings."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from codegen.memory.packed_constants import PackingStep, packing_steps
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime import buffer_arrays as arrays
from codegen.runtime.buffer_arrays import Array
from codegen.runtime.device_array import DeviceArray
from codegen.runtime.device_memory import GUARD_BYTES, DeviceMemory
from codegen.runtime.queue import Queue, Recorded
from codegen.runtime.results import GuardViolated
from codegen.runtime.series import Clock, Series, launched
from codegen.runtime.timings import Timing, agree, hopeless
from ir.errors import UserError
from ir.meaning.inputs import Data

KEPT = 4  # sets of the caller's buffers whose launches stay recorded


NOTHING: Mapping[str, DeviceArray] = MappingProxyType({})

Key = tuple[tuple[str, int], ...]  # names of buffers, and which these are


class Program:
    """A plan that is built for a device: call it on arrays, launch it on buffers, or time it."""

    def __init__(
        self,
        queue: Queue,
        plan: Plan,
        kernels: Sequence[Any],
        checking: bool,
        code_bytes: int | None = None,
    ) -> None:
        """A plan with its kernels, in the plan's order, on a queue. With `checking`, runs poison
        and guard its buffers; `code_bytes` is the size of the compiled kernels (None: not
        known)."""
        self._queue = queue
        self.plan = plan
        self.checking = checking
        self.code_bytes = code_bytes
        self.prepack_ns = 0.0
        self.checked_ns = 0.0  # device time of the last call in checking mode
        self._kernels = kernels
        self._buffers = {buffer.name: buffer for buffer in plan.buffers}
        self._inputs = arrays.names(plan, Role.INPUT)
        self._given = arrays.with_roles(plan, Role.INPUT, Role.CONST)
        self._own: Recorded | None = None  # launches on buffers that are all of this program
        self._outputs = arrays.outputs(plan)
        self._constants: dict[str, Array] = {}
        self._held = True
        self._ready = False
        self._poison = 0  # which of the two
        self._last = {n: i for i, k in enumerate(plan.kernels) for n in k.arguments}
        self._memory = self._no_memory()
        self._recorded: dict[Key, Recorded] = {}

    def __call__(self, inputs: Mapping[str, Data]) -> Any:
        """The output for these inputs, a tuple if the program has several outputs; constants among
        the inputs are set anew."""
        given = self._accepted(inputs)
        results, events = self._results(given)
        if self.checking:
            self.checked_ns = float(sum(self._queue.device_ns(events)))
            self._refuse_poison(given, results)
        return arrays.value_of(self._outputs, results)

    def _results(self, given: Mapping[str, Array]) -> tuple[tuple[Array, ...], list[Any]]:
        """The outputs of a run on these inputs, and its events."""
        self._prepare()
        for name, array in given.items():
            self._queue.write(self._memory.view(name), array)
        events: list[Any] = []
        if self.checking:
            events = self._run({}, checking=True)
        else:
            if self._own is None:
                self._own = self._record({})
            launched(self._own)
        return tuple(map(self._result, self._outputs)), events

    def _result(self, buffer: Buffer) -> Array:
        out = np.empty(buffer.shape, arrays.DTYPES[buffer.scalar])
        self._queue.read(out, self._memory.view(buffer.name))
        return out

    def _refuse_poison(self, given: Mapping[str, Array], results: Sequence[Array]) -> None:
        """Raise `PoisonFound` if elements of `results`, those of a run on the inputs `given`, were
        not written, or were computed from elements that were not.

        A result may happen to be the poison's value. So where poison is found, constants are packed
        and the run is repeated with the other poison: a true result is the same again, an unwritten
        element is the other poison.
        """
        left = [arrays.poisoned(b, r, 0) for b, r in zip(self._outputs, results, strict=True)]
        if not any(mask.any() for mask in left):
            return
        self._poison, self._ready = 1, False
        try:
            again, _ = self._results(given)
        finally:
            self._poison, self._ready = 0, False
        for buffer, mask, result in zip(self._outputs, left, again, strict=True):
            arrays.refuse_poison(buffer, mask & arrays.poisoned(buffer, result, 1))

    def set_constants(self, constants: Mapping[str, Data], held: bool = True) -> None:
        """Set some or all constants; prepack kernels run again before the next run. With `held`
        false the host's copies are dropped once the device has them, and later changes must give
        all constants."""
        expected = arrays.with_roles(self.plan, Role.CONST)
        self._constants |= arrays.accept(expected, constants)
        self._held, self._ready = held, False

    def launch(self, buffers: Mapping[str, Any]) -> None:
        """Enqueue an inference on the session's queue, with the caller's own pyopencl `buffers`, by
        name, as inputs and output; nothing is copied or waited for.

        The launches are recorded at the first call with these buffers. The last few sets of
        buffers, and their launches, are kept.
        """
        if not buffers or _key(buffers) not in self._recorded:
            self._demand_buffers(buffers)
        self._prepare()
        launched(self._launches_on(buffers))

    def on_device(self, inputs: Mapping[str, Any]) -> Any:
        """The results for these inputs as arrays that stay on the device; the call does not wait
        for them. Inputs may be arrays on this device; arrays of the host are copied. Constants are
        set as in a call."""
        there = {n: a for n, a in inputs.items() if isinstance(a, DeviceArray)}
        given = self._accepted({n: a for n, a in inputs.items() if n not in there}, there)
        for name, array in there.items():
            self._demand_here(name, array)
        out = [
            DeviceArray.empty(arrays.DTYPES[b.scalar], b.shape, self._queue) for b in self._outputs
        ]
        copied = {name: DeviceArray.of(array, self._queue) for name, array in given.items()}
        made = {b.name: array for b, array in zip(self._outputs, out, strict=True)}
        self.launch({name: array.buffer for name, array in {**copied, **there, **made}.items()})
        return arrays.value_of(self._outputs, out)

    def _demand_here(self, name: str, array: DeviceArray) -> None:
        if name not in self._inputs:
            raise UserError(
                f"expected a host's array for '{name}', found one on a device: only inputs that "
                f"are not constant may lie there, {', '.join(self._inputs) or 'here none'}"
            )
        if array.queue is not self._queue:
            raise UserError(
                f"'{name}' is an array of another device or session: expected one that to_device "
                "of this program made"
            )
        arrays.demand_kind(self._buffers[name], array.dtype, array.shape)

    def to_device(self, array: Array) -> DeviceArray:
        """A copy of an array on this device, which can be passed as an input."""
        return DeviceArray.of(array, self._queue)

    def series(
        self,
        inputs: Mapping[str, Data],
        turns: Sequence[Mapping[str, Any]] = (),
        clock: Clock = time.perf_counter_ns,
    ) -> Series:
        """Inferences on these inputs to be run back to back, as a user would. `turns` are buffers
        that hold copies of the inputs, used in turns; without any, one copy is made. `clock` gives
        the host's time in nanoseconds."""
        given = self._accepted(inputs)
        self._prepare()
        copies = turns or self._queue.copies(given)
        return Series(self._queue, [self._record(turn) for turn in copies], clock)

    def _launches_on(self, own: Mapping[str, Any]) -> Recorded:
        """The launches of an inference, recorded once, on the caller's buffers `own`, and on
        buffers of this program for all others."""
        key = _key(own)
        if key not in self._recorded:
            while len(self._recorded) >= KEPT:
                del self._recorded[next(iter(self._recorded))]
            self._recorded[key] = self._record(own)
        return self._recorded[key]

    def _record(self, own: Mapping[str, Any]) -> Recorded:
        """The launches of an inference on the buffers `own`, which are held, so that no other
        buffer gets the id of one of them, and on buffers of this program for all others."""
        todo = [(n, self.plan.kernels[n]) for n in self._numbers(prepack=False)]
        made = self._queue.record(
            [(self._kernels[n], launch, self._views(launch, own)) for n, launch in todo]
        )
        return replace(made, kept=(*made.kept, dict(own), self._memory))

    def _views(self, launch: Kernel, own: Mapping[str, Any]) -> list[Any]:
        """The arguments of a launch: the caller's `own` buffers, and ours."""
        return [own[n] if n in own else self._memory.view(n) for n in launch.arguments]

    def _demand_buffers(self, buffers: Mapping[str, Any]) -> None:
        expected = (*self._inputs, *(buffer.name for buffer in self._outputs))
        arrays.require(expected, buffers, "buffers")
        for name, buffer in buffers.items():
            if name not in expected:
                raise UserError(
                    f"found a buffer '{name}', expected those of inputs and outputs alone: "
                    f"{', '.join(expected)}"
                )
            if buffer.size < self._buffers[name].bytes:
                raise UserError(
                    f"buffer '{name}': expected at least {self._buffers[name].bytes} bytes, found "
                    f"{buffer.size}"
                )

    def time(
        self,
        inputs: Mapping[str, Data],
        runs: int = 20,
        warmup: int = 2,
        turns: Sequence[Mapping[str, Any]] = (),
        give_up_above_ns: float | None = None,
        limit_s: float | None = None,
        steady: float = 0.0,
        seen_ns: Sequence[float] = (),
    ) -> Timing:
        """The device times of runs on these inputs, up to `runs` of them after `warmup` that do not
        count.

        `turns` are buffers that hold copies of the inputs, taken in turns so that no run finds its
        inputs in a cache. No further run starts past `limit_s`, nor once the runs agree: their
        middle half is within `steady` of the median. It gives up when runs, with those of before
        (`seen_ns`), show that all will take longer than `give_up_above_ns`.
        """
        given = self._accepted(inputs)
        ceiling = float("inf") if give_up_above_ns is None else give_up_above_ns
        deadline = time.monotonic() + (float("inf") if limit_s is None else limit_s)
        self._prepare()
        self._queue.finish()
        copies = turns or self._queue.copies(given)
        samples: list[list[int]] = []
        gave_up = late = False
        while len(samples) < warmup + max(runs, 1) and not gave_up and not late:
            if agree([sum(sample) for sample in samples[warmup:]], steady):
                break
            turn = copies[len(samples) % len(copies)]
            samples.append(self._queue.device_ns(self._run(turn, checking=False)))
            gave_up = hopeless([*seen_ns, *map(sum, samples)], ceiling)
            late = time.monotonic() > deadline
        kept = [min(samples, key=sum)] if gave_up else samples[min(warmup, len(samples) - 1) :]
        return Timing.of(self.plan, kept, self.prepack_ns, gave_up)

    def unchecked(self) -> "Program":
        """The program with the same kernels, run without poison and guards."""
        return Program(self._queue, self.plan, self._kernels, False, self.code_bytes)

    @property
    def allocated_bytes(self) -> int:
        """The bytes of device memory that the buffers take now; after a call, those that live while
        it runs."""
        return self._memory.allocated_bytes

    @property
    def peak_bytes(self) -> int:
        """The most bytes of device memory that the buffers took at any time, also while constants
        were packed."""
        return self._memory.peak_bytes

    def release(self) -> None:
        """Give the device's memory back; the next call allocates again."""
        self._recorded.clear()
        self._own = None
        self._memory = self._no_memory()
        self._ready = False

    def _no_memory(self) -> DeviceMemory:
        """The memory of the plan with no buffer allocated yet; in checking mode, its buffers will
        have guard bands.

        A simulator gets buffers without bands that share nothing: it reports every access, reads
        too, that leaves a buffer.
        """
        if self.checking and self._queue.device.simulator:
            return DeviceMemory(self._queue, self.plan, guard=0, apart=True)
        units = -(-GUARD_BYTES // self._queue.alignment) if self.checking else 0
        return DeviceMemory(self._queue, self.plan, units * self._queue.alignment, apart=False)

    def _accepted(
        self, inputs: Mapping[str, Data], there: Mapping[str, DeviceArray] = NOTHING
    ) -> dict[str, Array]:
        """The inputs that must be uploaded, contiguous; constants among them are set, and left out.
        Inputs that are on the device already are given as `there`."""
        given = arrays.accept(self._given, inputs)
        constants = {n: a for n, a in given.items() if self._buffers[n].role is Role.CONST}
        if constants:
            self.set_constants(constants)
        rest = {name: array for name, array in given.items() if name not in constants}
        arrays.require(self._inputs, {**rest, **there}, "inputs")
        return rest

    def _prepare(self) -> None:
        """Put constants on the device and pack them, step by step; buffers that only packing needed
        are freed after each step. Unless constants are held, the host's copies are dropped one by
        one, too."""
        if self._ready:
            return
        took = sum(self._prepared(step) for step in self._steps())
        self.prepack_ns = float(took)
        self._ready = True

    def _steps(self) -> list[PackingStep]:
        arrays.require(arrays.names(self.plan, Role.CONST), self._constants, "constants")
        return packing_steps(self.plan)

    def _prepared(self, step: PackingStep) -> int:
        """Put the constants of a step on the device and pack them; returns the device's time."""
        for name in step.constants:
            self._queue.write(self._memory.view(name), self._constants[name])
            if not self._held:
                del self._constants[name]
        took = sum(self._queue.device_ns(self._run({}, self.checking, step.kernels)))
        for name in step.free:
            self._memory.free(name)
        return took

    def packed(self) -> dict[str, Array]:
        """The constants as kernels read them at each inference, packed or as they were given, by
        the names of their buffers."""
        self._prepare()
        return {name: self._result(self._buffers[name]) for name in self._kept()}

    def packed_in_turn(self) -> dict[str, Array]:
        """The constants as `packed` gives them. Those of each step are read back and freed before
        the next, so that the device never holds more than those of one step; the next call of the
        program needs constants again."""
        found, kept = dict[str, Array](), set(self._kept())
        for step in self._steps():
            self._prepared(step)
            for name in kept & self._memory.cells.keys():
                found[name] = self._result(self._buffers[name])
                self._memory.free(name)
        return {name: found[name] for name in self._kept()}

    def _kept(self) -> list[str]:
        """The names of the buffers of constants that kernels read at each inference."""
        read = {n for k in self.plan.kernels if not k.prepack for n in k.arguments}
        kept = (Role.CONST, Role.PACKED)
        return [b.name for b in self.plan.buffers if b.role in kept and b.name in read]

    def _numbers(self, prepack: bool) -> list[int]:
        """The numbers of the plan's kernels that pack, or of those that run at each inference."""
        return [n for n, kernel in enumerate(self.plan.kernels) if kernel.prepack is prepack]

    def _run(
        self, own: Mapping[str, Any], checking: bool, numbers: Sequence[int] | None = None
    ) -> list[Any]:
        """Enqueue the kernels with these numbers (None: those of an inference) on the caller's
        `own` buffers, and on buffers of this program for all others, and return their events; if
        `checking`, guards are inspected after each."""
        events = []
        living: set[str] = set()
        for number in self._numbers(prepack=False) if numbers is None else numbers:
            launch = self.plan.kernels[number]
            if checking:
                self._move_in(set(launch.arguments) - living, launch.prepack)
                living.update(launch.arguments)
            views = self._views(launch, own)
            events.append(self._queue.enqueue(self._kernels[number], launch, views))
            if checking:
                self._queue.device_ns(events[-1:])
                self._inspect(launch.name, living)
                living -= {n for n in launch.arguments if self._last[n] == number}
        return events

    def _move_in(self, names: set[str], prepack: bool) -> None:
        """Fill with poison those of the buffers `names` that kernels make: temporaries, and outputs
        or, with `prepack`, packed constants. It is called before their first use in a run."""
        made = {Role.TEMPORARY, Role.PACKED if prepack else Role.OUTPUT}
        for name in sorted(names):
            if self._buffers[name].role in made:
                self._memory.poison(name, self._poison)

    def _inspect(self, kernel: str, living: set[str]) -> None:
        """Raise GuardViolated, for this kernel, if the bands around a buffer lost their pattern.

        Of temporaries only those in `living` are inspected: the bands belong to a temporary from
        its first use in a run to its last.
        """
        for name in self._memory.cells:
            if self._buffers[name].role is not Role.TEMPORARY or name in living:
                at = self._memory.first_change(name)
                if at is not None:
                    raise GuardViolated(kernel, name, at)


def _key(buffers: Mapping[str, Any]) -> Key:
    return tuple((name, id(buffer)) for name, buffer in buffers.items())
