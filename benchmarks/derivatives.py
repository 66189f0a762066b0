"""Transposed convolutions and gradients, compared with those of PyTorch, which must be installed;
fails if any is wrong.

    python -m benchmarks.derivatives cases               the ConvTranspose cases of the onnx package
    python -m benchmarks.derivatives transposed [--count 300] [--seed SEED]
    python -m benchmarks.derivatives gradients  [--count 300] [--seed SEED] [--families 0]
                                                [--device D]

`transposed` draws geometries in one, two and three dimensions, and computes them by the prelude's
functions and by adjoints of convolutions; `gradients` draws chains of layers (`torch_layers`), and
computes the gradient in every parameter. Our programs are interpreted in double precision, and
PyTorch computes in it, too. With --families N each gradient also runs on a device, by N families in
turn, each in a form and at a point drawn at random.
"""

import argparse
from collections import Counter
from itertools import cycle, islice
from random import Random
from time import time

import numpy as np
import torch
from torch import Tensor

from benchmarks.torch_chain import Chain
from benchmarks.torch_geometries import geometry, onnx_cases
from benchmarks.torch_layers import chain
from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session, choose, open_device
from constraints.devices import profile
from explore.measure.reference import EPSILON, expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.interpret import evaluate
from rewrites.adjoint.program import gradient
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from tests.support.families import BILINEAR, LOWERING, STORING

CLOSE = 1e-10  # of two computations in double precision
ERROR = 1e-5  # of single precision, in parts of what a result would be if nothing cancelled
TRIES = 12  # forms that are drawn before a family counts as one that refuses the program


def away(found: object, right: np.ndarray) -> float:
    """The largest difference between the numbers of `found` and `right`, divided by the largest
    absolute number of `right`, or by 1 if that is larger; infinite if their shapes differ."""
    assert isinstance(found, np.ndarray)
    if found.shape != right.shape:
        return float("inf")
    return float(np.abs(found - right).max(initial=0) / max(1, np.abs(right).max(initial=0)))


def inputs_of(x: Chain, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random inputs for a chain's program: single-precision numbers, stored in double precision."""
    return {
        name: rng.normal(size=shape).astype(np.float32).astype(np.float64)
        for name, shape in x.shapes.items()
    }


def autograd(
    x: Chain, inputs: dict[str, np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """PyTorch's result for a chain and its inputs, a random cotangent of that result, and the
    gradients in all parameters by name."""
    given = {name: torch.tensor(a, requires_grad=True) for name, a in inputs.items()}
    out = x.by_torch(given)
    y = rng.normal(size=tuple(out.shape)).astype(np.float32).astype(np.float64)
    found: tuple[Tensor, ...] = torch.autograd.grad(
        out, list(given.values()), torch.tensor(y), materialize_grads=True
    )
    return out.detach().numpy(), y, {n: g.numpy() for n, g in zip(given, found, strict=True)}


def gradients(count: int, seed: str, families: int, session: Session | None) -> int:
    """Compare the gradients of `count` random chains with PyTorch's, and return how many are wrong.
    Each is interpreted; with a session, it is also computed on a device by `families` families."""
    tally, most, wrong = Counter[str](), 0.0, 0
    names, start = cycle((*LOWERING, *BILINEAR, *STORING)), time()
    for k in range(count):
        r = Random(f"{seed} {k}")
        x, rng = chain(r), np.random.default_rng(r.randrange(1 << 30))
        program, inputs = x.program(), inputs_of(x, rng)
        out, y, right = autograd(x, inputs, rng)
        lost = [away(evaluate(program, inputs), out)]
        for name in x.shapes:
            back = gradient(program, name)
            given = {**inputs, back.params[-1].var.name: y}
            given = {q.var.name: given[q.var.name] for q in back.params}
            lost.append(away(evaluate(back, given), right[name]))
            if session:
                for family in islice(names, families):
                    verdict = on_device(back, family, given, session, r)
                    tally[f"{family} {verdict}"] += 1
                    if verdict == "wrong":
                        print(f"seed {seed} draw {k} {name} by {family}", flush=True)
                        wrong += 1
        tally["gradients"] += len(x.shapes)
        most = max(most, *lost)
        if not max(lost) <= CLOSE:
            wrong += 1
            print(f"seed {seed} draw {k}: {lost} {list(x.shapes)} {x.terms}", flush=True)
    print(
        f"{count} programs, {tally.pop('gradients')} gradients, {wrong} wrong,"
        f" at most {most:.2g} away, {time() - start:.0f} s"
    )
    for key in sorted(tally):
        print(f"  {key}: {tally[key]}")
    return wrong


def on_device(
    p: Program, family: str, given: dict[str, np.ndarray], session: Session, r: Random
) -> str:
    """The verdict on a gradient (the program p) that a family computes from the inputs `given` on
    the session's device: refused, right or wrong. Form and point are drawn at random."""
    every = forms(p, family)
    for form in r.sample(every, min(TRIES, len(every))):
        try:
            low = lower(p, form)
        except Refused:
            continue
        _, found = points(low, profile("cpu"), 1, seed=r.randrange(1 << 20))
        if found:
            made = generate(bound(low.program, found[0]), max_work_group=64)
            demand_proofs(made)
            single = {name: a.astype(np.float32) for name, a in given.items()}
            out = np.asarray(session.build(made.plan, checking=True)(single))
            lost = expected(p, given).lost(out)
            if lost <= ERROR + low.derivation.rounding * EPSILON:
                return "right"
            print(f"{form.name} at {found[0]}: {lost:.2g} away")
            return "wrong"
    return "refused"


def transposed(count: int, seed: str) -> int:
    """Compare `count` random transposed convolutions with PyTorch's, both by the prelude's
    functions and as adjoints of convolutions, and return how many are wrong."""
    wrong, most = 0, 0.0
    for k in range(count):
        g = geometry(Random(f"{seed} {k}"))
        lost = [away(g.by_prelude(), g.by_torch()), away(g.by_adjoint(), g.by_torch())]
        most = max(most, *lost)
        if not max(lost) <= CLOSE:
            wrong += 1
            print(f"seed {seed} draw {k}: {lost} {g}")
    print(f"{count} geometries, {wrong} wrong, at most {most:.2g} away")
    return wrong


def cases() -> int:
    """Compare the ConvTranspose cases of the onnx package with PyTorch's results, and return how
    many are wrong."""
    wrong = 0
    for name, g, right in onnx_cases():
        lost = [away(g.by_prelude(), g.by_torch()), away(g.by_adjoint(), g.by_torch())]
        theirs = away(g.by_torch(), right)
        bad = not (max(lost) <= CLOSE and theirs <= 1e-6)
        wrong += bad
        print(f"{name}: {max(lost):.2g} from PyTorch's, which is {theirs:.2g} from the case's")
    return wrong


def main() -> None:
    """Run the benchmark that the arguments name; the exit status is 1 if any result is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=("cases", "transposed", "gradients"))
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", default="1")
    arguments.add_argument("--families", type=int, default=0)
    arguments.add_argument("--device")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    match given.what:
        case "cases":
            wrong = cases()
        case "transposed":
            wrong = transposed(given.count, given.seed)
        case _:
            session = open_device(choose(given.device)) if given.families else None
            wrong = gradients(given.count, given.seed, given.families, session)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
