# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A scale factor and how many rows the paper gives each table at it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

SMALLEST = Decimal("0.01")  # 20 suppliers; less leaves whole regions without one
LARGEST = Decimal(300)  # lo_orderkey is an INT up to here, as the paper says


@dataclass(frozen=True)
class Scale:
    """A scale factor; its text is a directory's name, so 1 and 1.0 are the same one."""

    factor: Decimal

    @classmethod
    def parse(cls, text: str) -> Scale:
        """The scale factor that a user wrote; ValueError says what is wrong with it."""
        try:
            factor = Decimal(text)
        except InvalidOperation:
            raise ValueError(f"scale factor {text!r} is not a number") from None
        if not factor.is_finite() or not SMALLEST <= factor <= LARGEST:
            raise ValueError(f"scale factor {text} is not between {SMALLEST} and {LARGEST}")
        return cls(factor)

    def __str__(self) -> str:
        return f"{self.factor.normalize():f}"

    @property
    def customers(self) -> int:
        """30 000 x SF rows."""
        return int(30_000 * self.factor)

    @property
    def suppliers(self) -> int:
        """2 000 x SF rows."""
        return int(2_000 * self.factor)

    @property
    def parts(self) -> int:
        """200 000 x floor(1 + log2 SF) rows; below SF 1, where that is none, 200 000 x SF."""
        if self.factor < 1:
            return int(200_000 * self.factor)
        # log2 of a power of two is exact, so floor() is safe at the steps.
        return 200_000 * math.floor(1 + math.log2(self.factor))
