# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""One server process: its data directory, start, questions, stop, kill."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pymysql.cursors

from harness import settings as neutral
from harness.errors import BenchError
from harness.server_definition import ServerDefinition
from harness.settings import Neutral, Translation, Value

_SOCKET_LIMIT = 104  #: a socket's path may be 107 bytes long, and names are added


class Server:
    """A server on a directory of its own, reached by a unix socket, and by the loopback if told.

    home/data is the data directory, home/binlog holds binary logs, home/mysqld.log
    is the error log. Only processes that this object started are ever signalled.
    """

    def __init__(self, definition: ServerDefinition, home: Path, common: Neutral) -> None:
        self.definition = definition
        self.name = definition.name
        self.home = home
        self.data = home / "data"
        self.binlog_directory = home / "binlog"
        self.log = home / "mysqld.log"
        self.not_told: dict[str, str] = {}
        self.settings: dict[str, Value] = {}  #: of the last start, under neutral names
        self.command: list[str] = []  #: of the last start
        self._common = common
        self._process: subprocess.Popen[bytes] | None = None
        self._environment: dict[str, str] = {}
        self._socket_home: str | None = None
        self._socket: Path | None = None

    # Its data directory

    def create(self) -> None:
        """An empty data directory; whatever was in home is removed first."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.binlog_directory.mkdir(parents=True)
        if not self.definition.mysqld.is_file():
            how = self.definition.build
            raise BenchError(
                f"{self.name}: there is no server {self.definition.mysqld}"
                + (f"; '{how}' builds it" if how else "")
            )
        command = self._base_command()
        if self.definition.bootstrap:
            (self.data / "mysql").mkdir(parents=True)
            (self.data / "test").mkdir()
            # What mysql_install_db feeds the server, without its perl.
            parts = ["USE mysql;\n", self.definition.bootstrap_first]
            parts += [path.read_text(encoding="latin1") for path in self.definition.bootstrap]
            command.append("--bootstrap")
            feed = "".join(parts).encode("latin1")
        else:
            command += ["--initialize-insecure"]
            feed = b""
        done = subprocess.run(
            command,
            input=feed,
            env=self._environment_of_process({}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            raise BenchError(
                f"{self.name}: no data directory could be made\n{self._last_words(done.stderr)}"
            )

        if self.definition.fixed_redo_log:
            for file in self.data.glob("ib_logfile*"):
                file.unlink()

    # Its life

    def start(
        self,
        changed: Mapping[str, Value],
        environment: Mapping[str, str] | None = None,
        extra: Sequence[str] = (),
        *,
        bare: bool = False,
        port: int | None = None,
        timeout: float = 900,
        under: Sequence[str] = (),
    ) -> float:
        """Start and wait until it answers; returns seconds from start to the first answer.

        changed: neutral settings other than those of settings.toml; extra: raw
        options; bare: no settings at all, the server's own defaults; port: of the
        loopback, where other servers are to reach it; under: a command that runs it.
        """
        if self.running:
            raise BenchError(f"{self.name} is running already")
        self.settings = {} if bare else {**self._common.values, **changed}
        told = Translation()
        if not bare:
            told = neutral.translate(
                self.settings,
                self._common.options,
                self.definition.options,
                self.definition.lacks,
                self.binlog_directory / "binlog",
            )
        self.not_told |= told.not_told
        switches = () if bare else self.definition.switches
        self.command = [*under, *self._base_command()]
        self.command += [f"--{option}" for option in [*told.options, *switches]] + list(extra)
        self._socket = self._socket_path()
        reached = ["--skip-networking"]
        if port is not None:
            reached = ["--bind-address=127.0.0.1", f"--port={port}"]
        self.command += [*reached, f"--socket={self._socket}"]
        self._environment = self._environment_of_process(environment or {})
        seconds = self._launch(timeout)
        self.not_told |= neutral.ignored(told.options, self.variables())
        return seconds

    def restart(self, timeout: float = 900) -> float:
        """Stop it cleanly (if it is up) and start it as before; seconds to the first answer."""
        self.stop()
        return self._launch(timeout)

    def stop(self, timeout: float = 900) -> None:
        """Clean shutdown, and wait for it. Nothing happens if it is not up."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise BenchError(
                f"{self.name} did not stop in {timeout:.0f} s and was killed; see {self.log}"
            ) from error
        finally:
            self._forget_socket()

    def kill(self) -> None:
        """SIGKILL, as a crash."""
        assert self._process is not None, "kill() of a server that is not up"
        process, self._process = self._process, None
        process.send_signal(signal.SIGKILL)
        process.wait()

    def freeze(self) -> None:
        """Stand still (SIGSTOP): nothing of it runs while another server is measured."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def processor_seconds(self) -> float:
        """Processor time of all its threads since its start, user and system."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, "no process"
        return self._process.pid

    @property
    def socket(self) -> Path:
        assert self._socket is not None, "the server was never started"
        return self._socket

    # Questions

    def connect(self, database: str | None = None, **more: Any) -> pymysql.Connection:
        """A connection as root, autocommit, rows as tuples."""
        return pymysql.connect(
            unix_socket=str(self.socket),
            user="root",
            database=database,
            autocommit=True,
            charset="utf8mb4",
            **more,
        )

    def execute(self, *statements: str, database: str | None = None) -> None:
        with self.connect(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self, query: str, database: str | None = None) -> list[dict[str, Any]]:
        rows_as_dicts = pymysql.cursors.DictCursor
        with self.connect(database) as connection, connection.cursor(rows_as_dicts) as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def pairs(self, query: str) -> dict[str, str]:
        """Two columns as a dictionary: SHOW STATUS, SHOW VARIABLES. Names in lower case."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return {str(row[0]).lower(): str(row[1]) for row in cursor.fetchall()}

    def status(self, like: str = "%") -> dict[str, str]:
        """SHOW GLOBAL STATUS LIKE."""
        return self.pairs(f"SHOW GLOBAL STATUS LIKE '{like}'")

    def variables(self, like: str = "%") -> dict[str, str]:
        """SHOW GLOBAL VARIABLES LIKE."""
        return self.pairs(f"SHOW GLOBAL VARIABLES LIKE '{like}'")

    # Inside

    def _base_command(self) -> list[str]:
        definition = self.definition
        command = [
            str(definition.mysqld),
            "--no-defaults",
            f"--basedir={definition.basedir}",
            f"--lc-messages-dir={definition.messages}",
            f"--datadir={self.data}",
            f"--pid-file={self.home / 'mysqld.pid'}",
            f"--log-error={self.log}",
            f"--user={getpass.getuser()}",
        ]
        if definition.plugins is not None:
            command.append(f"--plugin-dir={definition.plugins}")
        return command

    def _environment_of_process(self, more: Mapping[str, str]) -> dict[str, str]:
        environment = dict(os.environ) | dict(more)
        if self.definition.libraries:
            environment["LD_LIBRARY_PATH"] = ":".join(map(str, self.definition.libraries))
        preload = [*self.definition.preload, *filter(None, [more.get("LD_PRELOAD")])]
        if preload:
            environment["LD_PRELOAD"] = ":".join(preload)
        return environment

    def _launch(self, timeout: float) -> float:
        started = time.monotonic()
        # A process group of its own: Ctrl-C at the terminal is for the harness, which stops it.
        # Should the harness be killed, the kernel kills the server: it may be frozen, and its
        # data directory has to survive a crash anyway.
        # If it was killed before the kernel had been told, the shell sees another parent.
        alive = ["sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *alive, *self.command],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        while True:
            try:
                self.connect().close()
                break
            except pymysql.err.MySQLError as error:
                if self._process.poll() is not None:
                    self._process = None
                    raise BenchError(f"{self.name} did not start\n{self._last_words()}") from error
                if time.monotonic() - started > timeout:
                    raise BenchError(
                        f"{self.name} does not answer {timeout:.0f} s after its start; see {self.log}"
                    ) from error
            time.sleep(0.02)
        seconds = time.monotonic() - started
        version = str(self.rows("SELECT VERSION() AS version")[0]["version"])
        if not version.startswith(self.definition.version):
            raise BenchError(
                f"{self.definition.mysqld} says it is {version}; servers/{self.name}.toml expects "
                f"{self.definition.version}"
            )
        self.execute(*self.definition.setup)
        return seconds

    def _socket_path(self) -> Path:
        path = self.home / "mysql.sock"
        if len(str(path)) <= _SOCKET_LIMIT:
            return path
        if self._socket_home is None:
            self._socket_home = tempfile.mkdtemp(prefix="sluice-bench-")
        return Path(self._socket_home) / "mysql.sock"

    def _forget_socket(self) -> None:
        if self._socket_home is not None:
            shutil.rmtree(self._socket_home, ignore_errors=True)
            self._socket_home = None

    def _last_words(self, stderr: bytes = b"") -> str:
        """The end of the error log, for a message."""
        lines = stderr.decode(errors="replace").splitlines()
        if self.log.exists():
            lines += self.log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if "ERROR" in line] or lines
        return "\n".join(f"  {line}" for line in errors[-5:]) + f"\n  the whole log is {self.log}"
