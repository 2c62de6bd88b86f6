# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The date dimension: the 2556 days from 1992-01-01 on, with all 17 columns of the paper."""

from __future__ import annotations

import pandas as pd

DAYS = 2556  # the paper's figure; with two leap years it ends on 1998-12-30, a day early

# The paper has the columns but no calendar; months and days are those of its authors'
# generator. No query reads these two columns.
SEASON_OF_MONTH = ["Winter"] * 3 + ["Spring"] + ["Summer"] * 4 + ["Fall"] * 2 + ["Christmas"] * 2
HOLIDAYS = {
    (1, 1), (2, 20), (4, 20), (5, 20), (7, 20), (8, 20), (9, 20), (10, 20), (11, 20), (12, 24)
}  # fmt: skip


def date_dimension() -> pd.DataFrame:
    """One row a day, columns in the order of schema.sql. Flags are 0 or 1."""
    day = pd.Series(pd.date_range("1992-01-01", periods=DAYS))
    date = day.dt
    number_in_week = (date.day_of_week + 1) % 7 + 1  # pandas has Monday 0, the paper Sunday first
    month_and_day = zip(date.month, date.day, strict=True)
    return pd.DataFrame(
        {
            "d_datekey": date.year * 10_000 + date.month * 100 + date.day,
            "d_date": date.month_name() + " " + date.day.astype(str) + ", " + date.year.astype(str),
            "d_dayofweek": date.day_name(),
            "d_month": date.month_name(),
            "d_year": date.year,
            "d_yearmonthnum": date.year * 100 + date.month,
            "d_yearmonth": date.month_name().str[:3] + date.year.astype(str),
            "d_daynuminweek": number_in_week,
            "d_daynuminmonth": date.day,
            "d_daynuminyear": date.day_of_year,
            "d_monthnuminyear": date.month,
            # As the authors' generator counts: the first week has six days. Another rule
            # would let Q1.3 read other days than everybody else's Q1.3.
            "d_weeknuminyear": date.day_of_year // 7 + 1,
            "d_sellingseason": date.month.map(lambda month: SEASON_OF_MONTH[month - 1]),
            "d_lastdayinweekfl": (number_in_week == 7).astype(int),
            "d_lastdayinmonthfl": date.is_month_end.astype(int),
            "d_holidayfl": [int(pair in HOLIDAYS) for pair in month_and_day],
            "d_weekdayfl": number_in_week.between(2, 6).astype(int),
        }
    )
