# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The date dimension against the calendar of Python's standard library."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

import pandas as pd
import pytest

from ssb.dates import date_dimension


@pytest.fixture(scope="module")
def days() -> pd.DataFrame:
    return date_dimension()


def test_seven_years_less_a_day(days: pd.DataFrame) -> None:
    assert len(days) == 2556
    assert days["d_datekey"].iloc[[0, -1]].tolist() == [19920101, 19981230]
    assert days["d_datekey"].is_monotonic_increasing
    assert days["d_datekey"].is_unique


def test_every_day(days: pd.DataFrame) -> None:
    day = date(1992, 1, 1)
    for row in days.itertuples():
        sunday_first = day.isoweekday() % 7 + 1
        assert row.d_datekey == int(day.strftime("%Y%m%d"))
        assert row.d_date == f"{calendar.month_name[day.month]} {day.day}, {day.year}"
        assert row.d_dayofweek == calendar.day_name[day.weekday()]
        assert row.d_month == calendar.month_name[day.month]
        assert row.d_year == day.year
        assert row.d_yearmonthnum == day.year * 100 + day.month
        assert row.d_yearmonth == f"{calendar.month_abbr[day.month]}{day.year}"
        assert row.d_daynuminweek == sunday_first
        assert row.d_daynuminmonth == day.day
        assert row.d_daynuminyear == day.timetuple().tm_yday
        assert row.d_monthnuminyear == day.month
        assert row.d_weeknuminyear == day.timetuple().tm_yday // 7 + 1
        assert row.d_lastdayinweekfl == (day.weekday() == calendar.SATURDAY)
        assert row.d_lastdayinmonthfl == ((day + timedelta(1)).month != day.month)
        assert row.d_weekdayfl == (day.weekday() < calendar.SATURDAY)
        day += timedelta(1)


def test_the_paper_s_examples(days: pd.DataFrame) -> None:
    row = days.set_index("d_datekey").loc[19980327]
    assert (row["d_yearmonth"], row["d_yearmonthnum"]) == ("Mar1998", 199803)
    assert days["d_date"].str.len().max() == len("September 10, 1998")
    assert days["d_weeknuminyear"].between(1, 53).all()
    assert days["d_daynuminyear"].max() == 366


def test_the_week_that_q1_3_reads(days: pd.DataFrame) -> None:
    week = days[(days["d_year"] == 1994) & (days["d_weeknuminyear"] == 6)]
    assert week["d_datekey"].tolist() == list(range(19940204, 19940211))


def test_seasons_and_holidays(days: pd.DataFrame) -> None:
    assert set(days["d_sellingseason"]) == {"Christmas", "Summer", "Winter", "Spring", "Fall"}
    december = days["d_monthnuminyear"] == 12
    assert set(days[december]["d_sellingseason"]) == {"Christmas"}
    assert days["d_holidayfl"].sum() == 10 * 7
