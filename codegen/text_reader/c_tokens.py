"""The tokens of an OpenCL C text, read one after the other."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import NoReturn

from codegen.text_reader.c_syntax import CExpr
from ir.core.instruction import Instruction

_SKIPPED = r"(?:\s|//[^\n]*+)*+"  # for good: what is behind // is never read
_TOKEN = re.compile(
    _SKIPPED + r"(\#[^\n]*"
    r"|[A-Za-z_]\w*"
    r"|(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?[fh]?|\d+e[+-]?\d+[fh]?|\d+[Lfh]?"
    # All of C's, longest first, also those that are never printed: what C reads as one is one here.
    r"|<<=|>>=|\.\.\.|\+\+|--|->|&&|\|\||<<|>>|\#\#|<:|:>|<%|%>|%:|[-+*/%<>=!&|^]="
    r"|[-+*/%<>=?:;,.(){}\[\]&|^])",
    re.ASCII,
)
_SPACE = re.compile(_SKIPPED, re.ASCII)
# A line, even a comment, goes on after the first two, and ends at some of the last; a comment
# between the others may hide lines.
_MISLEADING = re.compile(r"\\|\?\?/|/\*|\*/|[\x00-\x09\x0b-\x1f\x7f]")
END = ""


class NotRead(Exception):
    """Raised for a text outside the language that kernels are printed in; its message says what was
    found, what was expected, and where."""


class Tokens:
    """The tokens of a text, and how many of them are read; after the last, tokens are empty."""

    __slots__ = ("at", "ends", "leaves", "several", "starts", "words")

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends = [found.start() for found in re.finditer("\n", text)]
        self.at = 0
        self.leaves: dict[str, CExpr] = {}  # names and numbers that were read before
        self.several: Mapping[str, tuple[Instruction, int]] = {}  # calls that stand for so many
        if (misleading := _MISLEADING.search(text)) is not None:
            raise self.no_token(misleading.start(), misleading.group())
        end = 0
        for each in _TOKEN.finditer(text):
            if each.start() != end:
                break
            self.words.append(each[1])
            self.starts.append(each.start(1))
            end = each.end()
        behind = _SPACE.match(text, end)
        if behind is not None and behind.end() < len(text):
            raise self.no_token(behind.end(), text[behind.end()])
        self.words += [END, END]  # one is looked ahead
        self.starts += [len(text), len(text)]

    @property
    def word(self) -> str:
        """The next token, not read yet."""
        return self.words[self.at]

    @property
    def line(self) -> int:
        """The number of the line of the next token."""
        return self.line_of(self.starts[self.at])

    def line_of(self, offset: int) -> int:
        return bisect_right(self.ends, offset - 1) + 1

    def ahead(self, n: int) -> str:
        """The token after the n next ones."""
        return self.words[min(self.at + n, len(self.words) - 1)]

    def take(self) -> str:
        """Read the next token, and return it."""
        word = self.words[self.at]
        if word == END:
            self.refuse("more")
        self.at += 1
        return word

    def accept(self, word: str) -> bool:
        """True if the next token is `word`, which is then read."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, *words: str) -> None:
        """Read these tokens; raises NotRead if the next ones are others."""
        for word in words:
            if self.words[self.at] != word:
                self.refuse(repr(word))
            self.at += 1

    def name(self) -> str:
        """Read the next token, which must be an identifier, and return it."""
        if not self.word.isidentifier():
            self.refuse("a name")
        return self.take()

    def number(self) -> int:
        """Read the next token, which must be a decimal integer, and return its value."""
        word = self.word
        if not word.isdecimal() or (len(word) > 1 and word[0] == "0"):  # C reads 010 as 8
            self.refuse("a whole number, in decimal digits")
        return int(self.take())

    def no_token(self, offset: int, found: str) -> NotRead:
        return NotRead(f"line {self.line_of(offset)}: expected a token, found {found!r}")

    def refuse(self, expected: str) -> NoReturn:
        found = repr(self.word) if self.word else "the end"
        raise NotRead(f"line {self.line}: expected {expected}, found {found}")
