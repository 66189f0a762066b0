"""The source of a program, with which a run is started and which it stores."""

from functools import lru_cache

from explore.measure.reference import demand_arrays
from explore.options.options import Options
from explore.results.run_environment import Environment
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.parse import parse


@frozen
class Source:
    """The text of a program, and the name of its file for messages."""

    text: str
    name: str

    @staticmethod
    def of(stored: Environment) -> "Source":
        """The source that a run has stored."""
        return Source(stored.program, str(stored.options.get("file", stored.name)))

    def program(self, options: Options) -> Program:
        """The program of this text, with the sizes of the run."""
        return _parsed(self, options.sizes)


@lru_cache(maxsize=4)
def _parsed(source: Source, sizes: tuple[tuple[str, int], ...]) -> Program:
    """The program of a source at these sizes; the same object each time."""
    return demand_arrays(parse(source.text, source.name, dict(sizes)))
