# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The server of a part of scale.py, and what it and the kernel tell of it."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from server import Failure, Server


class Plain(Server):
    """Without TLS, which costs a client more than all the rest of a connection."""

    connection_options: ClassVar[dict[str, Any]] = {"ssl_disabled": True}


def values(server: Server, statement: str) -> list[tuple[object, ...]]:
    with server.connect(None) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def value(server: Server, statement: str) -> str:
    return re.sub(r"\s", "", str(values(server, statement)[0][-1]))


def status(server: Server, name: str) -> int:
    """A status variable; 0 if this server has none of the name."""
    found = values(server, f"SHOW GLOBAL STATUS LIKE '{name}'")
    return int(str(found[0][1])) if found else 0


def memory(server: Server) -> int:
    """Megabytes that the server has in memory."""
    text = Path(f"/proc/{server.process_id}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) >> 10


def processor_seconds(server: Server) -> float:
    fields = Path(f"/proc/{server.process_id}/stat").read_text(encoding="ascii").split(") ")[1]
    return sum(int(ticks) for ticks in fields.split()[11:13]) / os.sysconf("SC_CLK_TCK")


def open_files(server: Server) -> list[str]:
    names = []
    for link in Path(f"/proc/{server.process_id}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            names.append(os.readlink(link))
    return names


def wait(what: str, condition: Callable[[], bool], seconds: float, every: float = 0.1) -> float:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise Failure(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)
    return time.monotonic() - began


def stop(server: Server) -> float:
    began = time.monotonic()
    if (code := server.stop()) != 0:
        raise Failure(f"the server ended with status {code}:\n{server.last_words()}")
    return time.monotonic() - began
