"""Random quantised convolutions by every family: all bits of the results are compared with ONNX's
reference or TFLite's arithmetic.

    python -m benchmarks.quantised [--count 200] [--seed SEED] [--device D]

Each case (strides, dilations, groups, padding, a scale and a zero point for each channel) is run
as QLinearConv, ConvInteger and TFLite's convolution in both roundings, each by another family, in a
form and at a point drawn at random. The table counts, for each family, the programs that ran, those
that it refused in all forms drawn, and those that ran in a form that takes zero points out of sums.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from random import Random

import numpy as np

from codegen.runtime.session import choose, open_device
from ir.meaning.inputs import Numbers
from tests.support.families import LOWERING, STORING
from tests.support.quantised import ONNX_RESULT, Quantised, drawn, tflite_once, tflite_twice
from tests.support.quantised_kernels import tried

TFLITE = {
    "requantise_up(acc, q, shift)": tflite_once,
    "requantise_twice(acc, q, shift)": tflite_twice,
}


def asked(k: int, seed: str) -> Iterator[tuple[str, Quantised, str, Numbers]]:
    """The parts of random case k: for each operator, its name, the convolution that it is run on,
    the text of the term that makes a result of a sum, and the right numbers."""
    onnx, tflite = drawn(Random(f"{seed} {k}")), drawn(Random(f"{seed} tflite {k}"), tflite=True)
    yield "QLinearConv", onnx, ONNX_RESULT, onnx.by_onnx()
    yield "ConvInteger", onnx, "acc - bias", onnx.sums_by_onnx()
    for text, scale in TFLITE.items():
        scaled = np.vectorize(scale, otypes=[np.int64])(tflite.sums(), *tflite.multipliers())
        right = np.clip(scaled + tflite.zeros[1], -128, 127).astype(np.int8)
        yield text.split("(")[0], tflite, f"char_sat({text} + {{yz}})", right


def main() -> None:
    """Run the cases, print those that are wrong and the table, and fail if any is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--seed", default="1")
    arguments.add_argument("--device")
    given = arguments.parse_args()
    session = open_device(choose(given.device))
    ran, refused, apart, wrong = Counter[str](), Counter[str](), Counter[str](), 0
    names = cycle((*LOWERING, *STORING))
    for k in range(given.count):
        for (kind, case, text, right), family in zip(asked(k, given.seed), names, strict=False):
            r = Random(f"{given.seed} {k} {kind}")
            program, inputs = case.program(text), case.inputs()
            found = tried(program, family, inputs, right, sessions=(session,), r=r)
            refused[family] += found is None
            ran[family] += found is not None
            apart[family] += found is not None and "zero-points" in found.form.split()
            if found is not None and not found.right:
                wrong += 1
                print(f"wrong: case {k}, {kind}, {family} {found.form}", flush=True)
    print(f"{given.count} cases, seed {given.seed}, {session.device.name}; {wrong} wrong")
    print(f"{'family':16}{'right':>8}{'refused':>9}{'zero points out':>17}")
    for family in ran:
        print(f"{family:16}{ran[family]:8}{refused[family]:9}{apart[family]:17}")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
