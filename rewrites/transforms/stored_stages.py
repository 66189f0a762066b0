"""The stages of transforms, each a kernel of its own that stores what it makes: transformed data,
transformed kernels, a matrix product for each point, and results."""

# key: d dimensions of windows, w nest of windows

from ir.core.size import Size, named
from ir.instructions.fragments import Fragment
from rewrites.engine.places import of_array, of_part
from rewrites.engine.rule import Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import seq
from rewrites.nest.labels import labels
from rewrites.nest.named_nest import Nest, standing
from rewrites.nest.named_views import stored, stored_as
from rewrites.nest.spine import inside
from rewrites.nest.window_nest import Windowed
from rewrites.storing.constant_panels import panels
from rewrites.storing.fragment_order import in_fragments
from rewrites.transforms.matrix_kernels import tidied, transform_kernel
from rewrites.transforms.tile_lanes import Lanes
from rewrites.transforms.tile_transforms import beneath, on_made, three_stages

VI, VO = named("vi"), named("vo")


def stored_stages(panel: Size | Fragment, w: Windowed, lanes: Lanes) -> Strategy:
    """The strategy that makes each stage of the nest w (the transforms, the products, the results)
    a kernel of its own, with the transform's points outermost in what is stored; kernels are stored
    in panels of `panel` rows, or as a fragment says. Vectors go over `lanes`: if results lie along
    planes, those of the products and of the results, too."""
    own, tiles = w.own, w.outer - w.own
    apart = stage("data transformed", _data(w, lanes.plane))
    packed = standing(own=own, tiles=tiles, kernels=1, points=w.d)
    if own:
        apart = seq(of_part(0, apart), of_part(1, _kernels(w, None)))
    elif isinstance(panel, Fragment):
        packed = packed.at("kernels", of_array(_kernels_in_fragments(panel, w.d)))
    elif lanes.across:
        packed = packed.at("kernels", of_array(_kernels(w, VI)))
    else:
        panelled = kernels_in_panels(panel, w.d, beside=lanes.kernels)
        packed = packed.at("kernels", of_array(panelled))
    sums = _along_planes(packed, lanes.plane or 0) if lanes.across else _along_kernels(packed)
    told = stage("products: a matrix product for each point", sums)
    results = transform_kernel(own + tiles + 1, VO, lanes=lanes.plane if lanes.across else None)
    return seq(
        three_stages(w.outer, own),
        inside(on_made(seq(of_array(apart), told))),
        stage("results transformed", results),
    )


def kernels_in_panels(panel: Size, d: int, by_step: bool = False, beside: bool = False) -> Strategy:
    """The strategy that transforms kernels and stores them in panels of `panel` rows, before any
    run if they are constant. `d` is the number of dimensions that windows slide along. In a panel
    channels lie inside the points of the transform, or, with `by_step`, around them. Kernels are
    transformed one by one, or, if they lie `beside` each other in memory, in vectors."""
    made = transform_kernel(2, VI, lanes=0) if beside else transform_kernel(2, None)
    packed = panels(d + 2, panel, made=beneath(made), by_step=by_step)
    return stage("kernels transformed, in panels", packed)


def _kernels_in_fragments(f: Fragment, d: int) -> Strategy:
    """The strategy that transforms kernels, and stores them again in the order of the fragment f.
    `d` is the number of dimensions that windows slide along."""
    made = beneath(stored(transform_kernel(2, None)))
    return stage("kernels transformed, as lanes hold them", in_fragments(f, d + 2, made))


def _kernels(w: Windowed, v: Size | None) -> Strategy:
    """The strategy that makes the transformed kernels of the nest w a kernel of its own, the
    kernels innermost in what is stored: one by one, or in vectors of v."""
    dims = labels(own=w.own, kernels=1, points=w.d, channels=1)
    made = transform_kernel(w.own + 2, v, lanes=w.own if v else None)
    return stage(
        "kernels transformed", stored_as(dims, ("points", "own", "channels", "kernels"), made)
    )


def _data(w: Windowed, plane: int | None) -> Strategy:
    """The strategy that makes the transformed data of the nest w a kernel of its own, in vectors of
    what lies next to each other in memory: channels, or, if `plane` is given, the elements of that
    map around windows. They are innermost in what is stored, the transform's points outermost."""
    own, d, tiles = w.own, w.d, w.outer - w.own
    if plane is None:
        made = transform_kernel(own + tiles + 1, VI)
        return stored_as(labels(own=own, tiles=tiles, points=d), ("points", "own", "tiles"), made)
    made = transform_kernel(own + tiles + 1, VI, lanes=own + plane)
    after = tiles - plane - 1
    dims = labels(own=own, before=plane, planes=1, after=after, points=d, channels=1)
    return stored_as(dims, ("points", "own", "channels", "before", "after", "planes"), made)


def _along_kernels(maps: Nest) -> Strategy:
    """The strategy that makes the sums of a nest matrix products of tiles and kernels, which store
    kernels next to each other."""
    sums = (
        maps.order("points", "own", "tiles", "kernels")
        .then(tidied)
        .merge("tiles")
        .exchange("tiles", "kernels")
        .then(tidied)
    )
    return seq(sums, inside(stored_as(sums.labels, ("points", "own", "tiles", "kernels"), tidied)))


def _along_planes(maps: Nest, plane: int) -> Strategy:
    """The strategy that makes the sums of a nest matrix products of kernels and tiles, which store
    the elements of the map number `plane` among those over tiles next to each other."""
    after = maps.count("tiles") - plane - 1
    apart = maps.called_each("tiles", before=plane, planes=1, after=after)
    sums = (
        apart.order("points", "own", "before", "after", "planes", "kernels")
        .then(tidied)
        .merge("tiles", "before", "after", "planes")
        .then(tidied)
    )
    return seq(sums, inside(stored_as(sums.labels, ("points", "own", "kernels", "tiles"), tidied)))
