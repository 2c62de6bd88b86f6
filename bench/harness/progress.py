# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The line that says what runs, which round, and when it will end."""

from __future__ import annotations

import time
from datetime import datetime, timedelta


class Progress:
    """Guesses of the work to come, corrected by how long the work took that is done."""

    def __init__(self, guesses: list[float]) -> None:
        self._left = sum(guesses)
        self._total = len(guesses)
        self._step = 0
        self._guessed = 0.0
        self._taken = 0.0
        self._started = time.monotonic()

    def begin(self, what: str) -> None:
        """A step begins: say what it is and when all will be done."""
        self._step += 1
        self._started = time.monotonic()
        end = datetime.now() + timedelta(seconds=self._left * self._correction)
        width = len(str(self._total))
        print(
            f"bench: [{self._step:{width}}/{self._total}] {what}; all ends about {end:%a %H:%M}",
            flush=True,
        )

    def end(self, guess: float) -> None:
        """The step that was guessed at so many seconds is over."""
        self._left -= guess
        self._guessed += guess
        self._taken += time.monotonic() - self._started

    @property
    def _correction(self) -> float:
        """Real over guessed, from what is done; the guess counts like one step of a minute."""
        return (self._taken + 60) / (self._guessed + 60)
