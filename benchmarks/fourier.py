"""Convolutions by Fourier transforms of rows, by regular transforms, by im2col, and directly,
compared.

    python -m benchmarks.fourier [--sides 3,4,…,9] [--channels 32] [--image 26] [--batch 1]
                                 [--variants 300] [--time-limit 60s] [--against im2col]
                                 [--families fgfft,fft,im2col,registers] [--device D]

For each side of kernels, the time of a family is that of the fastest variant which `explore` finds;
all families get as many variants and as much time. So im2col is measured in its best form, be it
with `registers` or with `blocked`. Every family is compared with the family that `--against` names.
Beside our ratio of times stands that of Zhang (2019, table 4.5), which was measured on another
device and on images whose sizes we do not know: compare the trend.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from explore.api import explore
from explore.options.units import show_time
from ir.errors import UserError

ZHANG = {3: 1.74, 4: 1.60, 5: 1.34, 6: 1.19, 7: 1.14, 8: 1.02, 9: 0.96}
CONV = """
conv(const weights : [[[[float]C]K]K]C, images : [[[[float]C]W]W]N) =
  map(image ->
      map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
        slide2d(K, 1, pad2d(P, 0.0, image))),
    images)
where C = {channels}, W = {image}, N = {batch}, K = {side}, P = {pad}
"""


def fastest(options: argparse.Namespace, side: int, family: str) -> tuple[float, str]:
    """The time in nanoseconds, and the form, of a family's fastest variant for kernels of `side` ×
    `side`."""
    sizes = {name: getattr(options, name) for name in ("channels", "image", "batch")}
    text = CONV.format(side=side, pad=side // 2, **sizes)
    with TemporaryDirectory() as folder:
        run = explore(
            text,
            device=options.device,
            variants=options.variants,
            families=(family,),
            time_limit=options.time_limit,
            jobs=options.jobs,
            out=Path(folder) / "run",
        )
        times = [(r.time_ns, r.variant.form) for r in run.front if r.time_ns is not None]
    if not times:
        raise UserError(
            f"no variant of the family {family} could be measured for kernels of {side} × {side}"
        )
    return min(times)


def line(options: argparse.Namespace, side: int, families: list[str]) -> str:
    """The row of a table for kernels of `side` × `side`, with a cell for each of the families: its
    time, and the ratio to the time of the family `--against`; or the reason why the family has no
    variant."""
    cells, found = [], dict[str, tuple[float, str]]()
    for family in families:
        try:
            found[family] = fastest(options, side, family)
        except UserError as why:
            cells.append(f"{family}: {why}")
    base = found.get(options.against)
    for family, (time, form) in found.items():
        ratio = f" ({base[0] / time:.2f}x)" if base else ""
        cells.append(f"{family} {form}: {show_time(time)}{ratio}")
    return f"{side} x {side}  {'  '.join(cells)}  Zhang {ZHANG.get(side, float('nan')):.2f}x"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--sides", default=",".join(map(str, ZHANG)))
    options.add_argument("--channels", type=int, default=32)
    options.add_argument("--image", type=int, default=26)
    options.add_argument("--batch", type=int, default=1)
    options.add_argument("--variants", type=int, default=300)
    options.add_argument("--time-limit", default="60s")
    options.add_argument("--against", default="im2col")
    options.add_argument("--families", default="fgfft,fft,im2col,registers")
    options.add_argument("--device", default=None)
    options.add_argument("--jobs", type=int, default=None)
    given = options.parse_args()
    for side in map(int, given.sides.split(",")):
        print(line(given, side, given.families.split(",")), flush=True)


if __name__ == "__main__":
    main()
