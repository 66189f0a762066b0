"""The refusal of a strategy: what its user is told."""


class Refused(Exception):
    """A strategy does not apply to a program: the reason, for its user."""
