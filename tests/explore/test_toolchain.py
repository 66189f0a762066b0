"""Tests of compilers for devices that this machine does not have: packages are read as data and
never run, the compilers' messages are read as numbers, and, if the toolchain is installed, a kernel
is compiled for each generation of devices."""

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from constraints.devices import PROFILES
from explore.files.made_beside import MARK, made_beside, put
from explore.options.stored_fields import Damaged, Fields
from explore.results.kernel_code import KernelCode, Refusal, code_from, code_json
from explore.toolchain.compile_kernel import CompileKernel, Compilers, compile_by
from explore.toolchain.deb_file import MAGIC, unpack
from explore.toolchain.install import PACKAGES, SUMS, checked, fetch, install, remove
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.private_apt import mirrors
from explore.toolchain.read_statistics import of_adreno, of_mali
from explore.toolchain.running_program import RunningProgram
from explore.toolchain.toolchain import (
    TOLD,
    VARIABLE,
    Said,
    TookTooLong,
    Toolchain,
    installed,
)
from ir.errors import UserError
from tests.support.played_toolchain import played_toolchain

NOTHING = re.compile(r"unwanted/")
TOOLCHAIN = installed()  # the user's, asked for before tests get a cache of their own


def package(folder: Path, name: str, files: dict[str, bytes], links: dict[str, str]) -> Path:
    """A Debian package with these files and symbolic links."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(f"./{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for path, target in links.items():
            member = tarfile.TarInfo(f"./{path}")
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    members = (("debian-binary", b"2.0\n"), ("data.tar.xz", data.getvalue()))
    made = MAGIC
    for member_name, content in members:
        head = f"{member_name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
        made += head.encode() + content + b"\n" * (len(content) % 2)
    (folder / name).write_bytes(made)
    return folder / name


@pytest.fixture(params=["filter of tarfile", "Python before 3.11.4"])
def by_any_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives are unpacked with the filter that Python has, and as if it had none."""
    if "before" in request.param:
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.mark.usefixtures("by_any_python")
def test_a_package_is_unpacked_but_for_what_is_unwanted(tmp_path: Path) -> None:
    files = {"usr/lib/a.so": b"abc", "unwanted/b": b"b"}
    made = package(tmp_path, "x.deb", files, {"usr/lib/c.so": "a.so"})
    assert unpack(made, tmp_path / "root", NOTHING) == 3
    assert (tmp_path / "root/usr/lib/c.so").read_bytes() == b"abc"
    assert not (tmp_path / "root/unwanted").exists()


@pytest.mark.usefixtures("by_any_python")
@pytest.mark.parametrize(
    ("files", "links"),
    [({"../out": b"x"}, {}), ({}, {"usr/link": "../../../etc"}), ({}, {"usr/link": "/etc"})],
)
def test_a_package_that_leads_out_of_its_folder_is_refused(
    tmp_path: Path, files: dict[str, bytes], links: dict[str, str]
) -> None:
    made = package(tmp_path, "x.deb", files, links)
    with pytest.raises(UserError, match="cannot be unpacked"):
        unpack(made, tmp_path / "root", NOTHING)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"!<arch>\n", b"no archive", MAGIC + b"x" * 70])
def test_what_is_no_package_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.deb").write_bytes(content)
    with pytest.raises(UserError, match="is no Debian package"):
        unpack(tmp_path / "x.deb", tmp_path / "root", NOTHING)


def test_a_folder_of_packages_must_be_as_its_checksums_say(tmp_path: Path) -> None:
    made = package(tmp_path, "x.deb", {"a": b"a"}, {})
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    (tmp_path / SUMS).write_text(f"{digest}  x.deb\n")
    assert checked(tmp_path) == [made]
    made.write_bytes(made.read_bytes() + b"\n")
    with pytest.raises(UserError, match="its checksum is not the one"):
        checked(tmp_path)


def saved(folder: Path, names: Sequence[str]) -> Path:
    """A folder of packages with these names, which hold nothing of use, and their checksums."""
    folder.mkdir()
    made = [package(folder, f"{name}_1_arm64.deb", {"usr/nothing": b""}, {}) for name in names]
    sums = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in made]
    (folder / SUMS).write_text("".join(sums))
    return folder


NAMES = [name.partition(":")[0] for name in PACKAGES]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "found an empty list"),
        (["tcc"], "expected mesa-opencl-icd, .* found 1 other package"),
        (NAMES, "no toolchain that works for mali-g72: .* has no emulator.*; all that they need"),
    ],
)
def test_a_toolchain_stays_until_another_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], words: str
) -> None:
    before = played_toolchain(tmp_path / "cache/toolchain")
    monkeypatch.setenv(VARIABLE, str(before.folder))
    with pytest.raises(UserError, match=words):
        install(saved(tmp_path / "saved", names), print)
    assert installed() == before
    assert [p.name for p in before.folder.parent.iterdir()] == ["toolchain"]
    assert remove()
    assert [*before.folder.parent.iterdir()] == []


def test_a_list_that_is_not_one_of_checksums_is_refused(tmp_path: Path) -> None:
    (tmp_path / SUMS).write_text("abc\n")
    with pytest.raises(UserError, match="expected a checksum and the name of a package, found"):
        checked(tmp_path)


def test_what_a_maker_that_was_killed_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / f"place{MARK}1"
    (left / "fresh").mkdir(parents=True)
    with made_beside(tmp_path / "place") as one:
        one.mkdir()
        assert not left.exists()
        with made_beside(tmp_path / "place") as other:
            assert one.exists()
            other.mkdir()
            (other / "new").touch()
            put(other, tmp_path / "place")
        assert one.exists()
    assert [p.name for p in tmp_path.iterdir()] == ["place"]
    assert (tmp_path / "place/new").exists()


def test_what_an_older_install_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "toolchain"))
    for part in ("root/usr/share", "programs"):
        (tmp_path / "toolchain" / part).mkdir(parents=True)
    assert remove()


def test_a_file_system_is_not_replaced_by_a_toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/proc")
    with pytest.raises(UserError, match="/proc is a file system: expected a folder in it"):
        install(None, print)


def test_packages_are_not_saved_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("all my work")
    with pytest.raises(UserError, match="is no folder for packages: File exists"):
        fetch(tmp_path / "mine", print)
    assert (tmp_path / "mine").read_text() == "all my work"


def test_a_folder_without_checksums_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no toolchain"):
        checked(tmp_path)


def test_a_folder_that_is_no_toolchain_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    monkeypatch.setenv(VARIABLE, str(mine))
    assert not remove()
    mine.mkdir()
    (mine / "thesis.tex").write_text("all my work")
    with pytest.raises(UserError, match="is no toolchain, so it stays"):
        remove()
    assert (mine / "thesis.tex").exists()
    (mine / TOLD).write_text("{}")
    assert remove()
    assert not mine.exists()


def test_mirrors_are_found_in_both_forms_of_sources() -> None:
    one = "deb [arch=amd64] http://a.example/debian stable main\ndeb-src http://b.example/debian x"
    two = "Types: deb\nURIs: http://c.example/debian http://d.example/debian-security\n"
    assert [*mirrors([one, two])] == ["http://a.example/debian", "http://c.example/debian"]


APT = """#!/bin/sh
echo "E: Failed to fetch http://a.example/debian  Temporary failure resolving 'a.example'" >&2
echo "E: Some index files failed to download." >&2
exit 100
"""


def test_where_no_network_is_the_message_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources.list").write_text("deb http://a.example/debian stable main\n")
    (tmp_path / "apt-get").write_text(APT)
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setattr("explore.toolchain.private_apt.SOURCES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    words = "over the network: .* Temporary failure resolving 'a.example'. .* by --from"
    with pytest.raises(UserError, match=words):
        fetch(tmp_path / "saved", print)


BIFROST = """SHADER-DB: MESA_SHADER_KERNEL shader: 93 inst, 77 tuples, 0:0 spills:fills
block0 {
SHADER-DB: MESA_SHADER_KERNEL shader: 82 inst, 71 tuples, 13 clauses, 5.000000 cycles, \
2.750000 arith, 0.000000 texture, 5.000000 ldst, 66 quadwords, 1 threads, 1 loops, \
41:135 spills:fills
"""
ADRENO = """MESA: info: ; CL prog 1/1: 119 instr, 30 nops, 89 non-nops, 224 dwords
MESA: info: code of the second
MESA: info: ; CL prog 2/1: 114 instr, 31 nops, 83 non-nops, 9 mov, 5 cov, 196 dwords
MESA: info: ; CL prog 2/1: 0 last-baryf, 0 half, 12 full, 12 constlen
MESA: info: ; CL prog 2/1: 34 cat0, 14 cat1, 48 cat2, 13 cat3, 0 cat4, 0 cat5, 5 cat6
"""


def test_the_last_kernel_that_was_printed_for_mali_is_read() -> None:
    found = of_mali(BIFROST)
    assert found is not None
    assert dict(found.counts) == {
        **{"instructions": 82, "tuples": 71, "clauses": 13, "messages": 5},
        **{"quadwords": 66, "threads": 1, "loops": 1},
    }
    assert (found.spills, found.fills) == (41, 135)
    assert found.before.strip().endswith("block0 {")


def test_the_last_kernel_that_was_printed_for_adreno_is_read() -> None:
    found = of_adreno(ADRENO)
    assert found is not None
    read = {
        name: found.count(name) for name in ("instructions", "nops", "full", "cat3", "messages")
    }
    assert read == {"instructions": 114, "nops": 31, "full": 12, "cat3": 13, "messages": 5}
    assert "code of the second" in found.before


@pytest.mark.parametrize("printed", ["", "no statistics", "SHADER-DB"])
def test_where_nothing_was_printed_nothing_is_read(printed: str) -> None:
    assert of_mali(printed) is None
    assert of_adreno(printed) is None


CODE = KernelCode(
    kernel="conv_",
    compiler="Mesa 25.0.7 for mali-g72",
    counts=(("instructions", 82.0), ("tuples", 71.0)),
    done=(("multiply_adds", 1024.0),),
    bytes=1056,
    spills=1,
    fills=2,
    private_bytes=16,
    local_bytes=0,
    threads=0.5,
    group_items=256,
)


def test_code_is_what_its_json_is_read_as() -> None:
    assert code_from(Fields.of(code_json(CODE), "code")) == CODE


@pytest.mark.parametrize(
    ("name", "value"), [("spills", -1), ("threads", 2.0), ("kernel", "a b"), ("counts", {"a b": 1})]
)
def test_json_that_is_no_code_is_refused(name: str, value: object) -> None:
    with pytest.raises(Damaged):
        code_from(Fields.of({**code_json(CODE), name: value}, "code"))


def test_each_device_that_is_compiled_for_has_a_profile() -> None:
    assert DEVICES.keys() <= PROFILES.keys()


SCALE = """__attribute__((reqd_work_group_size(8, 1, 1)))
__kernel void scale_(__global const float *restrict xs_, __global float *restrict out_)
{
  const int gid0 = get_global_id(0);
  out_[gid0] = fma(xs_[gid0], 2.0f, 1.0f);
}
"""


@pytest.fixture(scope="module")
def compilers() -> Iterator[Compilers]:
    found = Compilers()
    yield found
    found.close()


# A device of each generation, so of each of Mesa's code generators.
@pytest.mark.parametrize("profile", ["mali-g72", "mali-g52", "mali-g57", "mali-g610", "adreno-630"])
def test_a_kernel_is_compiled_for_each_generation(compilers: Compilers, profile: str) -> None:
    if TOOLCHAIN is None:
        pytest.skip("compilers for Mali and Adreno are not here: run explore toolchain mali")
    task = CompileKernel(0, SCALE, (64, 1, 1), (8, 1, 1), TOOLCHAIN, profile)
    found = compile_by(compilers, task)
    assert isinstance(found, KernelCode), found
    assert found.kernel == "scale_"
    assert (found.spills, found.fills, found.threads) == (0, 0, 1.0)
    assert found.bytes > 0
    assert found.instructions > 3
    assert dict(found.done)["multiply_adds"] == 1
    assert dict(found.done)["messages"] == 2
    wrong = compile_by(compilers, replace(task, text=SCALE.replace("fma", "fmad")))
    assert isinstance(wrong, Refusal)
    assert "fmad" in wrong.words
    assert compile_by(compilers, task) == found  # by the process that compiled both before


def holding(count: int) -> str:
    """A kernel whose work-items hold so many floats at the same time, all through a loop of 50
    turns."""
    held = range(count)
    return "\n".join(
        [
            "__attribute__((reqd_work_group_size(8, 1, 1)))",
            "__kernel void held_(__global const float *xs_, __global float *out_)",
            "{",
            "  const int gid0 = get_global_id(0);",
            *(f"  float a{n} = xs_[gid0 + {n}];" for n in held),
            "  for (int i = 0; i < 50; ++i) {",
            "    const float x = xs_[i];",
            *(f"    a{n} = fma(a{n}, x, {n}.5f);" for n in held),
            "  }",
            f"  out_[gid0] = {' + '.join(f'a{n}' for n in held)};",
            "}\n",
        ]
    )


def test_registers_that_spill_on_adreno_are_read_in_the_listing(compilers: Compilers) -> None:
    """An Adreno has 192 registers for a work-item: of 220 floats some spill, and are moved to
    memory and back in each turn; 20 do not."""
    if TOOLCHAIN is None:
        pytest.skip("compilers for Mali and Adreno are not here: run explore toolchain mali")
    few, many = (
        compile_by(
            compilers, CompileKernel(0, holding(n), (64, 1, 1), (8, 1, 1), TOOLCHAIN, "adreno-630")
        )
        for n in (20, 220)
    )
    assert isinstance(few, KernelCode), few
    assert (few.spills, few.fills, few.private_bytes) == (0, 0, 0)
    assert dict(few.done)["messages"] == 20 + 50 + 1
    assert isinstance(many, KernelCode), many
    assert many.spills >= 220 - 192
    assert many.fills >= 220 - 192
    assert many.private_bytes >= 4 * (220 - 192)
    assert dict(many.done)["messages"] > 220 + 50 + 1 + 2 * 50 * (220 - 192)


HALVES = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__attribute__((reqd_work_group_size(8, 1, 1)))
__kernel void halves_(__global const half *xs_, __global const half *ys_, __global half *out_)
{{
  const int gid0 = get_global_id(0);
  half4 acc = (half4)(0.0h);
  for (int i = 0; i < 50; ++i) {{
    const half4 y = *(const __global half4 *)(ys_ + 4 * i);
    const half4 z = *(const __global half4 *)(ys_ + 4 * i + 200);
    const half a = xs_[i], b = xs_[gid0 + i];
    acc = {sum};
  }}
  *(__global half4 *)(out_ + 4 * gid0) = acc;
}}
"""


@pytest.mark.parametrize("profile", ["mali-g72", "mali-g52", "mali-g57", "mali-g610"])
@pytest.mark.parametrize(
    "value",
    ["fma((half4)(b), z, fma((half4)(a), y, acc))", "acc + fma((half4)(b), z, (half4)(a) * y)"],
)
def test_products_of_halves_are_counted_in_pairs_and_one_by_one(
    compilers: Compilers, profile: str, value: str
) -> None:
    """Sums round a loop are made one by one, those of a turn in pairs; what is counted in the
    machine's instructions are the products either way."""
    if TOOLCHAIN is None:
        pytest.skip("compilers for Mali and Adreno are not here: run explore toolchain mali")
    text = HALVES.format(sum=value)
    found = compile_by(compilers, CompileKernel(0, text, (64, 1, 1), (8, 1, 1), TOOLCHAIN, profile))
    assert isinstance(found, KernelCode), found
    assert dict(found.done)["multiply_adds"] == dict(found.done)["products"] == 50 * 8


# A program that answers each line, in place of the emulator and what it runs.
ANSWERS = """#!/bin/sh
while read -r question; do
  case $question in
    spin) while :; do :; done ;;
    die) echo "last words"; exit 3 ;;
    *) echo "you asked $question"; echo end ;;
  esac
done
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[RunningProgram]:
    emulator = tmp_path / "host/usr/bin/qemu-aarch64"
    emulator.parent.mkdir(parents=True)
    emulator.write_text(ANSWERS)
    emulator.chmod(0o755)
    found = RunningProgram(Toolchain(tmp_path, "identity", "compiler"), ["program"], {})
    yield found
    found.close()


def test_a_running_program_answers_one_question_after_another(program: RunningProgram) -> None:
    for question in ("a", "b c"):
        assert program.ask(question, 60.0) == Said(f"you asked {question}\n", None)
    assert program.asked == 2


def test_a_running_program_that_ends_says_its_last_words(program: RunningProgram) -> None:
    assert program.ask("die", 60.0) == Said("last words\n", 3)
    assert program.ask("again", 60.0) == Said("", 3)


def test_a_running_program_that_computes_for_too_long_is_ended(program: RunningProgram) -> None:
    with pytest.raises(TookTooLong, match=r"took longer than 0\.1 s"):
        program.ask("spin", 0.1)
    assert program.ask("again", 60.0).status == -9


TABLE = """__attribute__((reqd_work_group_size(8, 1, 1)))
__kernel void scale_(__global const float *restrict xs_, __global float *restrict out_)
{
  __constant float table_[3] = {0.5f, 1.5f, 4.0f};
  const int gid0 = get_global_id(0);
  out_[gid0] = xs_[gid0] * table_[gid0 % 3];
}
"""


@pytest.mark.parametrize("profile", ["mali-g72", "mali-g610", "adreno-630"])
def test_a_kernel_with_a_table_of_constants_is_compiled(compilers: Compilers, profile: str) -> None:
    if TOOLCHAIN is None:
        pytest.skip("compilers for Mali and Adreno are not here: run explore toolchain mali")
    found = compile_by(
        compilers, CompileKernel(0, TABLE, (64, 1, 1), (8, 1, 1), TOOLCHAIN, profile)
    )
    assert isinstance(found, KernelCode), found
    assert dict(found.done)["messages"] >= 2
