"""Numbers of things in words."""


def counted(number: int, thing: str) -> str:
    """The text of a number of things: `1 variant`, `1,000 variants`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"
