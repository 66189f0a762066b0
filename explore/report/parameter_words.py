"""The parameters of all families in words, for the report. The glossary lists them by family, with
the values that are tried."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "tx": "columns (pixels of a row) that a work-item or a group makes",
    "ty": "rows of pixels that a work-item or a group makes",
    "tp": "planes (images, channels of their own) that a group makes",
    "tr": "vectors (or tiles) of rows, such as channels, that a work-item or a sub-group makes",
    "tc": "columns (or tiles of them), such as pixels, that a work-item or a sub-group makes",
    "v": "numbers in a vector",
    "vi": "numbers in a vector where data are transformed",
    "vo": "numbers in a vector where results are transformed",
    "k": "steps of the sum that are unrolled, or staged at once, in a turn",
    "lx": "work-items of a group along rows (channels)",
    "ly": "work-items of a group along columns (pixels)",
    "sr": "sub-groups of a group along rows",
    "sc": "sub-groups of a group along columns",
    "rp": "room beside a staged line, so that lanes meet no bank conflict",
    "s": "steps of a part of the sum, which another group makes",
    "p": "slices of a group that share a sum",
    "theta": "side of a tile, in elements of the input",
    "theta_y": "side of a tile along the outer dimension",
    "rho": "windows added to a dimension so that tiles fit",
    "rho_y": "windows added to the outer dimension so that tiles fit",
    "kappa": "kernels for which a work-item sums",
    "sigma": "windows for which a work-item sums",
    "omega": "products in a chunk, a partial sum",
    "block_size": "rows that a group transforms",
    "num_blocks": "groups that share the rows of a kernel",
    "terms": "terms that a turn adds up in their own, narrow type",
    "ts": "blocks whose pixels are made wider at once",
    "u": "work-items that share a row of what is stored",
}
