"""The hands of a run whose variants are made on this machine and measured on a board."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.board.admission import LIMIT, called
from explore.board.board_pool import BoardPool
from explore.board.messages import Message, device_from, receive, send
from explore.board.serve import Given, given_message
from explore.building.build_worker import BUILD_LIMIT, BUILD_MEMORY, load, setup_for, work
from explore.measure.measure_tasks import RUN_LIMIT
from explore.measure.reference import inputs_of, largest_error
from explore.measure.reference_file import load_reference
from explore.options.options import Options
from explore.options.stored_fields import LONG, Fields
from explore.record_book.device_facts import LIMITS
from explore.results.read_record import NEVER
from explore.results.version import version
from explore.workers.pool import Pool
from explore.workers.workers import Workers
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import UserError
from ir.instructions.table import TABLE


@frozen
class Board:
    """A board: the host and port on which its `explore serve` listens, the token that it expects,
    and the function that prints messages about the connection (`note`)."""

    host: str
    port: int
    token: bytes
    note: Callable[[str], None]

    def connected(self) -> "tuple[Connection[Any, Any], Device]":
        """A new connection to the board, and the board's device; a UserError if there is no answer,
        if the board refuses the token, or if its version of convlift is another."""
        try:
            with called(self.host, self.port, self.token) as connection:
                hello = receive(connection)
        except AuthenticationError:
            raise UserError(
                f"the board at {self.host}:{self.port} refuses the token: expected the one that "
                "its `explore serve` was given, or printed"
            ) from None
        except (AssertionError, OSError, EOFError) as error:
            raise UserError(
                f"no board answers at {self.host}:{self.port} within {LIMIT:g} s "
                f"({error or 'it ended the connection'}): `explore serve` has to run there, and it "
                "serves one run at a time"
            ) from None
        if hello.kind != "hello" or (theirs := hello.checked.text("version")) != version():
            connection.close()
            raise UserError(
                f"the board has convlift {theirs if hello.kind == 'hello' else 'unknown'}, "
                f"here is {version()}: expected the same version on both"
            )
        return connection, device_from(hello.checked.fields("device"))

    def device(self) -> Device:
        """The device of the board."""
        connection, device = self.connected()
        connection.close()
        return device

    def builders(self, options: Options, device: Device | None, profile: Profile) -> Workers:
        """The workers on this machine that derive forms and make and prove variants; the board
        compiles their kernels."""
        return Pool(
            work,
            workers=options.workers,
            timeout=BUILD_LIMIT,
            stage="build",
            setup=setup_for(None, profile),
            load=load,
            max_memory=BUILD_MEMORY,
        )

    def meters(self, file: Path, program: Program, options: Options, device: Device) -> Workers:
        """The board as a worker that runs variants; it is sent the inputs and the right results in
        `file`."""
        given = Given(
            inputs_of(program, options.seed),
            inputs_of(program, options.seed, integers=True),
            tuple(p.var.name for p in program.params if not p.const),
            load_reference(file),
            largest_error(program, options.max_error),
        )
        return BoardPool(self._connection, given_message(given), RUN_LIMIT, self.note)

    def _connection(self) -> "Connection[Any, Any]":
        return self.connected()[0]

    def instructions(self, device: Device) -> tuple[str, ...]:
        """The names of those instructions in our table of instructions that the board's device
        carries out, as the board has tried."""
        said = self._asked("instructions").each("names", len(TABLE))
        return tuple(entry.one_of("value", tuple(TABLE)) for entry in said)

    def _asked(self, kind: str) -> Fields:
        """The fields of the board's answer to a message of this kind, which has no contents; a
        UserError with the board's reason if it refuses."""
        connection, _ = self.connected()
        with closing(connection):
            send(connection, Message(kind))
            answer = receive(connection)
        if answer.kind == "refused":
            reason = answer.checked.text("reason", LONG)
            raise UserError(f"the board at {self.host}:{self.port} refuses: {reason}")
        return answer.checked

    def limits(self, device: Device) -> Mapping[str, float | None]:
        """The limits of the board's device by their names in `Bounds`, measured there; None for
        what could not be measured."""
        found = self._asked("limits")
        number = partial(found.number, most=NEVER * 1e3)
        return {name: found.maybe(name, number) for name in LIMITS}
