"""Right results that were computed by earlier runs, kept in the user's cache by version, program
and seed. If a file there is damaged, its results are computed again."""

from pathlib import Path

from codegen.binaries import binary_cache as cache
from codegen.binaries.cache_folder import cache_folder
from explore.files.own_folder import OwnFolder
from explore.measure.reference_file import FILE, hash_of, is_reference_of
from explore.results.version import version
from ir.core.nodes import Program
from ir.text.show import show

KEPT = 512 << 20  # bytes of all
MOST = 64 << 20  # bytes of one: a larger one takes longer to copy than most to compute


def kept_reference(program: Program, seed: int, folder: Path) -> tuple[Path, str] | None:
    """The file with a program's right results, copied from the cache to `folder`, and its hash;
    None if the cache does not have them."""
    content = _cache().get(_key(program, seed))
    if content is None or not is_reference_of(program, content):
        return None
    with OwnFolder.opened(folder) as own:
        own.write(FILE, content)
    return folder / FILE, hash_of(folder / FILE)


def keep_reference(program: Program, seed: int, file: Path) -> None:
    """Put the right results of a program, which `file` holds, into the cache, unless they are
    large."""
    if file.stat().st_size <= MOST:
        _cache().put(_key(program, seed), file.read_bytes())


def _cache() -> cache.BinaryCache:
    return cache.BinaryCache(cache_folder() / "references", KEPT)


def _key(program: Program, seed: int) -> str:
    return cache.key("reference 3", version(), show(program), str(seed))
