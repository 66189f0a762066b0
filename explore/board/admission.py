"""The beginning of a connection between a run and a board: each side proves that it knows the
token. A side that says nothing, or is gone, does not keep the other waiting."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from threading import Timer
from typing import Any

LIMIT = 30.0  # seconds in which a token must be proved
SILENT = 40  # seconds after which a side that acknowledges nothing counts as gone


def admitted(connection: "Connection[Any, Any]", token: bytes, seconds: float) -> None:
    """Let the caller at the other end of a new connection prove that it knows the token, and prove
    it to the caller. If it does not within so many seconds, the connection is closed, and an
    AuthenticationError, AssertionError, EOFError or OSError raised."""
    try:
        with broken_off(connection, seconds):
            deliver_challenge(connection, token)
            answer_challenge(connection, token)
    except BaseException:
        connection.close()
        raise


@contextmanager
def called(host: str, port: int, token: bytes) -> "Iterator[Connection[Any, Any]]":
    """The context of a new connection to the board that listens on this host and port; it is
    broken off if the context does not end within LIMIT, and closed if it fails. Raises
    AuthenticationError if one side does not know the token, and AssertionError, EOFError or OSError
    if no board answers."""
    connection = Client((host, port))
    try:
        with broken_off(connection, LIMIT):
            answer_challenge(connection, token)
            deliver_challenge(connection, token)
            yield connection
    except BaseException:
        connection.close()
        raise


@contextmanager
def broken_off(connection: "Connection[Any, Any]", seconds: float) -> Iterator[None]:
    """The context in which a connection is used for at most `seconds`: then both of its ends read
    that it has ended."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        _watch(same)
        timer = Timer(seconds, same.shutdown, [socket.SHUT_RDWR])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _watch(connection: socket.socket) -> None:
    """Let the system end a TCP connection whose other side has not acknowledged anything for
    SILENT seconds: it may have lost its power or its address."""
    if connection.family == getattr(socket, "AF_UNIX", None):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", SILENT // 2),
        ("TCP_KEEPINTVL", SILENT // 8),
        ("TCP_KEEPCNT", 4),
        ("TCP_USER_TIMEOUT", SILENT * 1000),
    ):
        if hasattr(socket, name):  # not every system has each
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
