"""Numbers as OpenCL C literals."""

from ir.core.types import RANGES


def number_text(number: float, scalar: str) -> str:
    """The text of a number as a literal of the scalar type `scalar`."""
    if scalar in RANGES:
        return _whole_text(int(number), scalar)
    number = float(number)
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        infinity = "(half)INFINITY" if scalar == "half" else "INFINITY"
        return infinity if number > 0 else f"-{infinity}"
    text = repr(number)
    if "e" not in text and "." not in text:
        text += ".0"
    return text + ("h" if scalar == "half" else "f")


def _whole_text(number: int, scalar: str) -> str:
    mark, (least, _) = "L" if scalar == "long" else "", RANGES[scalar]
    if scalar not in ("int", "long"):
        return f"({scalar}){number}"
    return f"{number}{mark}" if number > least else f"({least + 1}{mark} - 1{mark})"
