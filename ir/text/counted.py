"""Counts in words: `1 variant`, `1,000 variants`."""


def counted(number: int, thing: str) -> str:
    """The text of a count of things, `thing` in the singular: `1 variant`, `1,000 variants`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"
