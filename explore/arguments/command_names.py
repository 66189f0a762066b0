"""The names of the commands of `explore`, with a line about each. Next to nothing is loaded for
them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its arguments as usage shows them, and a line that says what it does."""

    arguments: str
    line: str


COMMANDS = {
    "init": Command("[EXAMPLE]", "print an example to begin with; without a name, list all"),
    "resume": Command("RUN", "go on with a run that was stopped"),
    "front": Command("RUN", "print the variants that no other beats"),
    "show": Command("RUN [ID]", "print all variants as a table; or one, with all about it"),
    "report": Command("RUN", "write the report of a run as one HTML file"),
    "pick": Command("RUN", "choose a variant of the front, and export it"),
    "compare": Command("RUN", "measure a peer, such as PyTorch, beside the best variant"),
    "export": Command("RUN", "write variants as a table, or as T4 for other tools"),
    "net": Command("MODEL.onnx", "explore a whole network under a budget of memory"),
    "diff": Command("RUN RUN", "compare two runs of a program: faster, slower, other fronts"),
    "replay": Command("RUN", "search anew among the times of a run, without a device"),
    "records": Command("ACTION", "list, export, merge or prune what is kept from run to run"),
    "completion": Command("SHELL", "print the script that completes words in bash, zsh or fish"),
    "serve": Command("", "measure for runs on another machine, as a board does"),
    "devices": Command("", "list the devices here, what they can do, and what is broken"),
    "bundle": Command("PROGRAM", "write the best variants as a folder to run on a board or phone"),
    "absorb": Command("RUN FILE", "make a run of what a bundle brought back from a board"),
    "toolchain": Command("NAME", "fetch compilers for devices that are not here: mali, adreno"),
}
