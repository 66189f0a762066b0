"""The exception by which a strategy refuses a program."""


class Refused(Exception):
    """Raised where a strategy does not apply to a program; its message tells the user why."""
