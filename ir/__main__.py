"""The command `python -m ir FILE`, which prints a typed program, `python -m ir eval FILE`, which
computes it, and `python -m ir fmt FILE…`, which tidies its text."""

import argparse
import sys
from collections.abc import Sequence

from ir.array_files import add_data, data_of, save
from ir.command import add_set, command_parser, guard, sizes_of
from ir.core.type_rules import type_of
from ir.core.types import show_type
from ir.errors import UserError
from ir.meaning.interpret import evaluate
from ir.parse import parse, parse_file
from ir.program_file import text_of
from ir.text.show import show
from ir.text.tidy import tidy
from ir.text.unused_helpers import notes_on

USAGE = """\
python -m ir FILE [--set NAME=SIZE]…
       python -m ir eval FILE (--input NAME=FILE.npy… | --random SEED)
                         --output OUT.npy [--set NAME=SIZE]… [--dtype float64]
       python -m ir fmt [--check] FILE…"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of the command, after it has run with the arguments `argv` (None: those of
    this process)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["eval"]:
        return guard(lambda: evaluate_file(_eval_options(words[1:])))
    if words[:1] == ["fmt"]:
        return guard(lambda: tidy_files(_fmt_options(words[1:])))
    return guard(lambda: print_file(_options(words)))


def _options(words: list[str]) -> argparse.Namespace:
    what = "Print a program with its types, calls of helpers expanded; eval computes it."
    parser = command_parser("python -m ir", what, USAGE)
    parser.add_argument("file", metavar="FILE", help="the file of a program (*.lift)")
    add_set(parser)
    return parser.parse_args(words)


def _eval_options(words: list[str]) -> argparse.Namespace:
    what = "Compute a program by the interpreter, and write its result."
    parser = command_parser("python -m ir eval", what, USAGE)
    parser.add_argument("file", metavar="FILE", help="the file of a program (*.lift)")
    add_data(parser)
    parser.add_argument(
        "--dtype",
        choices=("float64", "float32", "float16"),
        default="float64",
        help="the type that floats are computed in",
    )
    add_set(parser)
    return parser.parse_args(words)


def _fmt_options(words: list[str]) -> argparse.Namespace:
    what = "Tidy the spaces of programs in their files; comments and line breaks are kept."
    parser = command_parser("python -m ir fmt", what, USAGE)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="a program (*.lift); - is standard input"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file is not tidy"
    )
    return parser.parse_args(words)


def tidy_files(options: argparse.Namespace) -> int:
    """Tidy the text of each file in place, and print the names of the files that changed; returns
    the exit status. For the name `-`, standard input is tidied to standard output."""
    untidy = 0
    for file in options.files:
        text = sys.stdin.read() if file == "-" else text_of(file)
        made = tidy(text, file)
        untidy += made != text
        if file == "-" and not options.check:
            print(made, end="")
        elif made != text:
            print(file)
            if not options.check:
                written(file, made)
    return 1 if options.check and untidy else 0


def written(file: str, text: str) -> None:
    """Write a text to a file; a UserError if that fails."""
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}") from None


def print_file(options: argparse.Namespace) -> None:
    """Print the program as it is understood, and the type of its result."""
    text = text_of(options.file)
    program = parse(text, options.file, sizes_of(options))
    for note in notes_on(text, options.file):
        print(note, file=sys.stderr)
    print(f"{show(program)}-- {program.name} : {show_type(type_of(program.body))}")


def evaluate_file(options: argparse.Namespace) -> None:
    """Compute a program on the given inputs, and write its result to a file."""
    program = parse_file(options.file, sizes_of(options))
    result = evaluate(program, data_of(program, options), options.dtype)
    save(options.output, result)
    print(f"{options.output}: {program.name} : {show_type(type_of(program.body))}")


if __name__ == "__main__":
    sys.exit(main())
