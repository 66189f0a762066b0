"""NVIDIA's `mma.sync`: its texts, which are inline PTX and shuffles of a sub-group that emulate it,
and the entry that they make."""

# key: a b c operands, e elements in a register

from ir.core.frozen import frozen
from ir.core.nodes import Lam
from ir.instructions.entry import Entry
from ir.instructions.mma import LANES, NVIDIA, fragments, neighbours

# Words in capitals: the function's name, its operands' types (A, B, C), the vectors of registers
# (X, Y), the instruction in PTX, the registers it lists and what is passed in them.
_PTX = """
inline C NAME(A a, B b, C c)
{
  const X x = as_X(a);
  const Y y = as_Y(b);
  asm volatile("INSTRUCTION "
               "{%0, %1, %2, %3}, REGISTERS, {%0, %1, %2, %3};"
               : SUMS
               : GIVEN);
  return c;
}
"""
# Here DOT sums what two registers hold, multiplied pairwise, and STEPS does so for each half of k.
_SHUFFLES = """
inline KIND NAME_dot(uint a, uint b)
{
  return DOT;
}
inline C NAME(A a, B b, C c)
{
  const int g = get_sub_group_local_id() / 4, t = get_sub_group_local_id() % 4;
  const X x = as_X(a);
  const Y y = as_Y(b);
  KIND4 sums = as_KIND4(c);
  for (int s = 0; s < 4; ++s) {
    const int of_row = 4 * g + s, of_even = 8 * t + s, of_odd = 8 * t + 4 + s;
STEPS
  }
  return as_C(sums);
}
"""
_STEP = """\
    {
      const uint upper = sub_group_shuffle(UPPER, of_row);
      const uint lower = sub_group_shuffle(LOWER, of_row);
      const uint left = sub_group_shuffle(RIGHT, of_even);
      const uint right = sub_group_shuffle(RIGHT, of_odd);
      sums += (KIND4)(NAME_dot(upper, left), NAME_dot(upper, right),
                      NAME_dot(lower, left), NAME_dot(lower, right));
    }"""


@frozen
class Mma:
    """An instruction `mma.sync` by the name of its functions and its types: `a` and `b` are the
    OpenCL types of a number of each operand and `kinds` these types in PTX; e numbers are in a
    register, and `halves` registers of `b` in a lane. `dot` is the sum of the products of what the
    registers a and b hold, as an expression of OpenCL; sums are ints if `whole`, else floats."""

    name: str
    a: str
    b: str
    kinds: tuple[str, str]
    e: int
    halves: int
    dot: str
    whole: bool = False

    def entry(
        self, program: Lam, rounding: float, read: int | None = None, kept: int | None = None
    ) -> Entry:
        """The entry of the instruction, which computes `program` with this rounding; a device reads
        the leading `read` bits of an operand and keeps `kept` of a sum (None: all, or as ordinary
        additions do)."""
        return Entry(
            self.name,
            program,
            fragments(self.e, self.halves),
            neighbours(self.e, self.halves),
            LANES,
            rounding,
            {NVIDIA: self.ptx()},
            self.shuffles(),
            read,
            kept,
        )

    def ptx(self) -> str:
        """The OpenCL function that carries the instruction out on NVIDIA's devices."""
        letter = "r" if self.whole else "f"
        return self._filled(_PTX, {"SUMS": _each(f'"+{letter}"(c.{{}})', "xyzw")})

    def shuffles(self) -> str:
        """The OpenCL functions that emulate the instruction by shuffles of a sub-group. Ints are
        summed as unsigned ones, which wrap around."""
        x, y = self._left, self._right
        halves = [
            {"UPPER": x[2 * h], "LOWER": x[2 * h + 1], "RIGHT": y[h]} for h in range(self.halves)
        ]
        steps = "\n".join(_replaced(_STEP, half) for half in halves)
        return self._filled(_replaced(_SHUFFLES, {"STEPS": steps}), {})

    @property
    def _left(self) -> list[str]:
        return [f"x.{place}" for place in "xyzw"[: 2 * self.halves]]

    @property
    def _right(self) -> list[str]:
        return ["y"] if self.halves == 1 else ["y.x", "y.y"]

    def _filled(self, text: str, more: dict[str, str]) -> str:
        """The text with its words in capitals replaced by what they stand for here; `more` has
        others of them."""
        x, y, sums = self._left, self._right, "int" if self.whole else "float"
        numbers = [f"%{4 + n}" for n in range(len(x) + len(y))]
        kept = f"{'s' if self.whole else 'f'}32"
        places = (numbers[: len(x)], numbers[len(x) :])
        words = {
            "INSTRUCTION": f"mma.sync.aligned.m16n8k{4 * self.e * self.halves}.row.col."
            + ".".join((kept, *self.kinds, kept)),
            "REGISTERS": ", ".join("{" + ", ".join(part) + "}" for part in places),
            "GIVEN": _each('"r"({})', (*x, *y)),
            "KIND": "uint" if self.whole else "float",
            "NAME": self.name,
            "DOT": self.dot,
            "as_X": f"as_uint{len(x)}",
            "as_Y": "as_uint" if len(y) == 1 else f"as_uint{len(y)}",
            "const X": f"const uint{len(x)}",
            "const Y": "const uint" if len(y) == 1 else f"const uint{len(y)}",
            "as_C": f"as_{sums}4",
            "A a": f"{_vector(self.a, self.e * len(x))} a",
            "B b": f"{_vector(self.b, self.e * len(y))} b",
            "C c": f"{sums}4 c",
            "inline C": f"inline {sums}4",
        }
        return _replaced(text, words | more)


def _vector(scalar: str, width: int) -> str:
    return scalar if width == 1 else f"{scalar}{width}"


def _each(text: str, names: tuple[str, ...] | str) -> str:
    return ", ".join(text.format(name) for name in names)


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text
