"""Debian packages of another release and architecture, found and downloaded by the machine's own
apt in a root of its own: nothing is installed, and no rights are needed.

The addresses come from the machine's sources, the checksums from the release's signed index; apt
checks both.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ir.core.frozen import frozen
from ir.errors import UserError

SOURCES = Path("/etc/apt")
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LINE = re.compile(r"'(?P<address>[^']+)' (?P<file>[^ /]+\.deb) (?P<bytes>\d+) ?(?P<sum>\S*)")
PATIENCE = 600.0  # seconds for an index or a download


@frozen
class PackageFile:
    """A package's file as an index has it: its name, its bytes, and its checksum, such as
    `SHA256:3f…`."""

    file: str
    bytes: int
    checksum: str


@frozen
class PrivateApt:
    """A root of apt in a folder, for packages of one release."""

    root: Path
    release: str
    architectures: tuple[str, ...]  # the first is that of packages without one in their name

    def update(self) -> None:
        """Fetch the release's index; a UserError if it cannot be had."""
        mirror = next(iter(mirrors(_sources())), None)
        if shutil.which("apt-get") is None or mirror is None:
            raise UserError(
                "packages are fetched by apt from a Debian mirror, and there is none here: "
                "give a folder of packages by --from"
            )
        for part in ("state/lists/partial", "archives/partial"):
            (self.root / part).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        signed = f"[signed-by={KEYS}] " if KEYS.exists() else ""
        line = f"deb {signed}{mirror} {self.release} main\n"
        (self.root / "sources.list").write_text(line)
        self._fetched("apt-get", "update")

    def files(self, packages: Sequence[str]) -> list[PackageFile]:
        """The files of packages and of all packages that they need, as the release's index has
        them."""
        said = self._run("apt-get", "install", "--print-uris", *packages)
        found = [PackageFile(m["file"], int(m["bytes"]), m["sum"]) for m in LINE.finditer(said)]
        if not found:
            raise UserError(
                f"expected the packages {' '.join(packages)} in Debian's index of {self.release}, "
                "found none of them"
            )
        return found

    def download(self, packages: Sequence[str]) -> Path:
        """The folder that holds the files of packages and of all that they need, downloaded and
        checked."""
        self._fetched("apt-get", "install", "--download-only", *packages)
        return self.root / "archives"

    def _fetched(self, *words: str) -> None:
        """Run a command of apt that needs the network."""
        try:
            self._run(*words)
        except UserError as error:
            raise UserError(
                f"packages cannot be had over the network: {error}. Where there is none, give a "
                "folder of packages by --from, which `explore toolchain mali --save FOLDER` wrote "
                "on another machine"
            ) from error

    def _run(self, *words: str) -> str:
        try:
            done = subprocess.run(
                [words[0], *self._options(), *words[1:]],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except OSError as error:
            raise UserError(f"apt could not be asked: {error}") from error
        except subprocess.TimeoutExpired:
            raise UserError(f"{' '.join(words[:2])} took longer than {PATIENCE:g} s") from None
        if done.returncode:
            told = re.findall(r"^E: (.*)", done.stderr, re.M) or ["it gave no reason"]
            raise UserError(f"{' '.join(words[:2])} failed: {' '.join(told[0].split())}")
        return done.stdout

    def _options(self) -> Iterator[str]:
        settings = {
            "Dir::State": self.root / "state",
            "Dir::State::status": self.root / "status",
            "Dir::Cache": self.root,
            "Dir::Cache::archives": self.root / "archives",
            "Dir::Etc::sourcelist": self.root / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Architecture": self.architectures[0],
            "APT::Install-Recommends": "false",
            "APT::Get::Assume-Yes": "true",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled": "false",
            "Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled": "false",
            "APT::Sandbox::User": "",
            "APT::Update::Error-Mode": "any",  # else an index that cannot be had is a warning
            "Acquire::Retries": "2",
            "Acquire::http::Timeout": "30",
            "Acquire::https::Timeout": "30",
            "Debug::NoLocking": "true",
        }
        for name, value in settings.items():
            yield f"-o{name}={value}"
        for architecture in self.architectures:
            yield f"-oAPT::Architectures::={architecture}"


def mirrors(sources: Iterable[str]) -> Iterator[str]:
    """The addresses of Debian's main archive in the texts of apt's sources: lists of lines, or the
    newer form with fields."""
    for text in sources:
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["deb"] or words[:1] == ["URIs:"]:
                for word in words[1:]:
                    if urlsplit(word).path.rstrip("/").endswith("/debian"):
                        yield word.rstrip("/")


def _sources() -> Iterator[str]:
    files = [SOURCES / "sources.list", *sorted((SOURCES / "sources.list.d").glob("*"))]
    for file in files:
        if file.suffix in (".list", ".sources") and file.is_file():
            yield file.read_text(encoding="utf-8", errors="replace")
