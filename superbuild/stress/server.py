# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A server of a preset that a stress runs, on a data directory of its own."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pymysql

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "superbuild"))

import keyring

SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:")
#: InnoDB's assertions, and those of assert().
COMPLAINT = re.compile(
    SANITIZER.pattern + r"|Assertion failure|: Assertion .* failed|mysqld got signal|\[FATAL\]"
)
#: How long a start takes at most, also of a large one on a busy machine.
START_SECONDS = 1800
#: What a client is told when its server is gone.
GONE = {2006, 2013}

SANITIZERS = os.environ | {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # exitcode: reports are judged here, see tsan_reports.py.
    "TSAN_OPTIONS": "halt_on_error=0:exitcode=0:symbolize=0",
}

#: ER_CANT_CREATE_THREAD
CANNOT_CREATE_THREAD = 1135


class Failure(Exception):
    """What must not happen has happened."""


def is_gone(error: Exception, connection: pymysql.Connection | None) -> bool:
    """Has a client lost its connection, or got none?"""
    return isinstance(error, pymysql.Error) and (
        connection is None or error.args[0] in GONE or not connection.open
    )


class Server:
    """One mysqld on a socket in a directory of its own."""

    def __init__(
        self,
        preset: str,
        home: Path,
        options: list[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.objects = objects = ROOT / "build" / preset / "obj"
        binary = objects / "runtime_output_directory" / "mysqld"
        if not binary.is_file():
            raise SystemExit(f"stress: there is no {binary.relative_to(ROOT)}; 'make {preset}'")
        self.home = home
        self.data = home / "data"
        self.log = home / "mysqld.log"
        self.output = home / "output"
        # The server looks for its keyring beside its binary: a name of its own.
        programs = home / "bin"
        programs.mkdir()
        self.binary = programs / "mysqld"
        self._provide(binary)
        plugins = objects / "plugin_output_directory"
        self.can_encrypt = (plugins / keyring.LIBRARY).is_file()
        if self.can_encrypt:
            (programs / "mysqld.my").write_text(keyring.MANIFEST, encoding="ascii")
            keyring.plugins(plugins, home / "plugins", keyring.kept_in(home / "keyring"))
            plugins = home / "plugins"
        self._command = [
            str(self.binary),
            "--no-defaults",
            f"--basedir={objects}",
            f"--lc-messages-dir={objects / 'share'}",
            f"--plugin-dir={plugins}",
            f"--datadir={self.data}",
            f"--user={getpass.getuser()}",
            f"--log-error={self.log}",
        ]
        self._options = options
        self._environment = SANITIZERS | dict(environment or {})
        self.socket = home / "sock"
        self._process: subprocess.Popen[bytes] | None = None

    def _provide(self, binary: Path) -> None:
        try:
            os.link(binary, self.binary)
        except OSError:
            shutil.copy2(binary, self.binary)

    def initialize(self) -> None:
        subprocess.run(
            [*self._command, "--initialize-insecure"],
            check=True,
            env=SANITIZERS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start(self, seconds: float = START_SECONDS) -> float:
        """Seconds until the first answer."""
        began = time.monotonic()
        if not self.try_to_start(seconds):
            raise Failure(f"the server did not start:\n{self.last_words()}")
        return time.monotonic() - began

    def try_to_start(self, seconds: float = START_SECONDS) -> bool:
        """True when it answers, False if it has ended; neither within seconds is a failure."""
        end = time.monotonic() + seconds
        self.socket.unlink(missing_ok=True)  # of a server that was killed
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._command, f"--socket={self.socket}", "--skip-networking", *self._options],
                stdout=output,
                stderr=output,
                env=self._environment,
            )
        while True:
            if self._process.poll() is not None:
                return False
            if time.monotonic() > end:
                self.kill()
                raise Failure(f"it neither starts nor ends:\n{self.last_words()}")
            if self.socket.exists():
                try:
                    self.connect(database=None).close()
                    return True
                except pymysql.Error as error:
                    # It has no thread for a session, but that is an answer.
                    if error.args[0] == CANNOT_CREATE_THREAD:
                        return True
            time.sleep(0.05)

    #: A server that hangs is a finding: an answer takes seconds.
    connection_options: ClassVar[dict[str, Any]] = {"read_timeout": 900, "write_timeout": 900}

    def connect(self, database: str | None = "stress") -> pymysql.Connection:
        return pymysql.connect(
            unix_socket=str(self.socket),
            user="root",
            database=database,
            autocommit=True,
            connect_timeout=300,  # a busy machine takes its time
            **self.connection_options,
        )

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        """None while it runs; of a signal the negative number."""
        return None if self._process is None else self._process.poll()

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def ask_to_stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        self.ask_to_stop()
        assert self._process is not None
        return self._process.wait(timeout=900)

    def last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-60:])

    def complaints(self, what: re.Pattern[str] = COMPLAINT) -> list[str]:
        """Lines of its log and output that nobody should see."""
        found = []
        for file in (self.log, self.output):
            if file.exists():
                with file.open(errors="replace") as lines:
                    found += [line.rstrip() for line in lines if what.search(line)]
        return found
