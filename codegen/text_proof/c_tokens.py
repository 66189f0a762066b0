"""OpenCL C as tokens, read one after the other."""

import re
from bisect import bisect_right
from typing import NoReturn

_TOKEN = re.compile(
    r"\s+|//[^\n]*"
    r"|(?P<token>\#[^\n]*"
    r"|[A-Za-z_]\w*"
    r"|(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?[fh]?|\d+e[+-]?\d+[fh]?|\d+[Lfh]?"
    r"|\+\+|&&|[<>=!]=|[-+*/%<>=?:;,.(){}\[\]&|^])"
    r"|(?P<other>.)",
    re.ASCII | re.DOTALL,
)
_CONTINUED = re.compile(r"\\|\?\?/")  # a line, even a comment, goes on after one
END = ""


class NotRead(Exception):
    """A text that is not what kernels are printed in: what was found, what was expected, where."""


class Tokens:
    """The tokens of a text and how far they are read; the last one is empty."""

    __slots__ = ("at", "ends", "starts", "words")

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.starts: list[int] = []
        self.ends = [n for n, c in enumerate(text) if c == "\n"]
        self.at = 0
        if (found := _CONTINUED.search(text)) is not None:
            raise NotRead(f"line {self.line_of(found.start())}: found {found.group()!r}")
        for found in _TOKEN.finditer(text):
            if found.lastgroup == "token":
                self.words.append(found.group())
                self.starts.append(found.start())
            elif found.lastgroup == "other":
                raise NotRead(f"line {self.line_of(found.start())}: found {found.group()!r}")
        self.words.append(END)
        self.starts.append(len(text))

    @property
    def word(self) -> str:
        """The next token."""
        return self.words[self.at]

    @property
    def line(self) -> int:
        """The number of the line of the next token."""
        return self.line_of(self.starts[self.at])

    def line_of(self, offset: int) -> int:
        return bisect_right(self.ends, offset - 1) + 1

    def ahead(self, n: int) -> str:
        """The token after n others."""
        return self.words[min(self.at + n, len(self.words) - 1)]

    def take(self) -> str:
        """The next token, read."""
        word = self.words[self.at]
        if word == END:
            self.refuse("more")
        self.at += 1
        return word

    def accept(self, word: str) -> bool:
        """Whether the next token is this one, which is read then."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, *words: str) -> None:
        """Reads these tokens."""
        for word in words:
            if self.words[self.at] != word:
                self.refuse(repr(word))
            self.at += 1

    def name(self) -> str:
        """The next token, an identifier."""
        if not self.word.isidentifier():
            self.refuse("a name")
        return self.take()

    def number(self) -> int:
        """The next token, an integer that is written plainly."""
        word = self.word
        if not word.isdecimal() or (len(word) > 1 and word[0] == "0"):  # C reads 010 as 8
            self.refuse("a whole number, in decimal digits")
        return int(self.take())

    def refuse(self, expected: str) -> NoReturn:
        found = repr(self.word) if self.word else "the end"
        raise NotRead(f"line {self.line}: expected {expected}, found {found}")
