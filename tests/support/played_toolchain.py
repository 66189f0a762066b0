"""A toolchain that is played by a shell script in place of the emulator: it answers as Mesa's
compiler for Mali does, and fails as a test wants it to."""

import json
from pathlib import Path

from explore.toolchain.toolchain import LIBRARIES, TOLD, Toolchain

# What it does with a kernel stands in the file `mood` beside the script: how it behaves, and, after
# that, a word of the kernels that are meant (all, if there is none).
SCRIPT = r"""#!/bin/sh
here=$(dirname "$0")
case "$*" in
  */tcc*) while [ "$1" != -o ]; do shift; done; : > "$2"; exit 0 ;;
esac
echo "device Mali-G72"
[ "$(cat "$here/mood")" = "no start" ] && { echo "libdrm: no such library"; exit 255; }
while read -r file; do
  read -r mood word < "$here/mood"
  grep -q "$word" "$file" || mood=works
  case $mood in
    refuses) printf 'failed -11\n<source>:1:9: error: no %s here\n' "$word" ;;
    crashes) kill -SEGV $$ ;;
    breaks) echo "no start" > "$here/mood"; exit 255 ;;
    lacks) echo "failed -6"; echo ;;
    *) name=$(sed -n 's/.*void \([a-z0-9_]*\)(.*/\1/p' "$file" | head -1)
       echo "SHADER-DB: MESA_SHADER_KERNEL shader: 82 inst, 71 tuples, 13 clauses, 5.0 ldst," \
         "66 quadwords, 2 threads, 1 loops, 0:0 spills:fills"
       echo built
       echo "kernel ${name:-none} private 0 local 0 group 256" ;;
  esac
  echo end
done
"""


def played_toolchain(folder: Path, mood: str = "works") -> Toolchain:
    """A toolchain in a folder, whose compiler behaves as the word `mood` says."""
    emulator = folder / "host/usr/bin/qemu-aarch64"
    emulator.parent.mkdir(parents=True)
    emulator.write_text(SCRIPT)
    emulator.chmod(0o755)
    played = folder / "root" / LIBRARIES / "libpanfrost_noop_drm_shim.so"
    played.parent.mkdir(parents=True)
    played.symlink_to(_any_library())  # so that the shell is started without a warning
    found = Toolchain(folder, "played", "a played compiler")
    told = {"identity": found.identity, "compiler": found.compiler}
    (folder / TOLD).write_text(json.dumps(told))
    behave(found, mood)
    return found


def _any_library() -> str:
    """The path of a library that is loaded in any case."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split()[-1] for line in maps if "/libc.so" in line or "/libc-" in line)


def behave(toolchain: Toolchain, mood: str) -> None:
    """Change how the compiler of a played toolchain behaves."""
    (toolchain.host / "usr/bin/mood").write_text(f"{mood}\n")
