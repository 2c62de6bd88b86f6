# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The scenario's part of the report, from the CSV files of its measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table, Text
from harness.results import Results
from ssb import compare, queries
from ssb.counters import LRU_PREFIX, STATUS

_POINT = ["scale", "pool", "old_blocks_time"]
_RUNS = ["cold", "warm 1", "warm 2", "warm 3"]
_POOL_STATS = "INNODB_BUFFER_POOL_STATS"
_WHATIF = f"{LRU_PREFIX}WHATIF"
_LRU_STATS = f"{LRU_PREFIX}STATS"


def blocks(results: Results) -> Sequence[Block]:
    """Totals, what old_blocks_time does, query by query, the LRU, results, plans."""
    figures = results.figures()
    totals = figures[figures["figure"].isin(_RUNS)]
    timings = results.table("queries")
    counters = results.table("counters")
    return [
        *_totals(results, totals),
        *_old_blocks_time(results, totals),
        Table(
            spread.overview(figures, _POINT, ["data", "buffer pool"], results.servers),
            "Tables and keys, as information_schema counts their pages, and "
            "innodb_buffer_pool_size as the server has it.",
        ),
        *_by_query(results, timings),
        *_forced_joins(results, timings, counters),
        *_lru(results, counters),
        *_what_if(counters),
        *_answers(results),
        *_plans(results.table("plans")),
    ]


def _totals(results: Results, totals: pd.DataFrame) -> Iterator[Block]:
    for (pool, blocks_time), part in totals.groupby(["pool", "old_blocks_time"], sort=False):
        yield Plot(
            plots.bars(part, "figure", results.servers, "seconds for 13 queries"),
            f"totals-{pool}-{blocks_time}",
            f"pool={pool}, old_blocks_time={blocks_time}: seconds for the 13 queries. Bar, the "
            "rounds' median; whisker, their range.",
        )
    yield Table(
        spread.overview(totals, _POINT, _RUNS, results.servers),
        "Seconds for the 13 queries: median of the rounds, and their range in brackets.",
    )
    if results.base:
        yield Table(
            spread.ratios(totals, _POINT, _RUNS, results.servers, results.base),
            f"Seconds divided by those of {results.base} in the same round: median, and range in "
            "brackets. Less than 1 is faster.",
        )


def _old_blocks_time(results: Results, totals: pd.DataFrame) -> Iterator[Block]:
    """Each round's seconds at old_blocks_time 1000 by the same round's at 0."""
    by_setting = totals.pivot_table(
        index=["server", "scale", "pool", "figure", "round"],
        columns="old_blocks_time",
        values="value",
    )
    if not {0, 1000} <= set(by_setting.columns):
        return
    ratio = (by_setting[1000] / by_setting[0]).dropna().rename("value").reset_index()
    ratio["unit"] = "ratio"
    yield Table(
        spread.overview(ratio, ["scale", "pool"], _RUNS, results.servers),
        "Seconds at innodb_old_blocks_time=1000 divided by those at 0 in the same round: median, "
        "and range in brackets. More than 1: the default costs time.",
    )


def _by_query(results: Results, timings: pd.DataFrame) -> Iterator[Block]:
    warm = timings[timings["run"].str.startswith("warm")]
    warm = warm.rename(columns={"seconds": "value", "query": "figure"}).assign(unit="s")
    for (pool, blocks_time), part in warm.groupby(["pool", "old_blocks_time"], sort=False):
        yield Plot(
            _query_plot(part, results.servers),
            f"queries-{pool}-{blocks_time}",
            f"pool={pool}, old_blocks_time={blocks_time}: seconds of each query. Point, the median "
            "of the warm runs of all rounds; line, their range. The scale is logarithmic.",
        )
    yield Table(
        spread.overview(warm, _POINT, queries.QUERIES, results.servers),
        "Seconds of each query: median of the warm runs of all rounds, and their range in "
        "brackets.",
    )


def _query_plot(rows: pd.DataFrame, servers: Sequence[str]) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axis = figure.subplots()
    for place, server in enumerate(servers):
        mine = spread.summary(rows[rows["server"] == server], ["figure"]).set_index("figure")
        if mine.empty:
            continue
        mine = mine.reindex(queries.QUERIES)
        where = [at + (place - (len(servers) - 1) / 2) * 0.12 for at in range(len(mine))]
        ranges = [mine["median"] - mine["min"], mine["max"] - mine["median"]]
        shade = plots.colour(server, servers)
        axis.errorbar(where, mine["median"], ranges, fmt="o", ms=4, color=shade, label=server)
    axis.set_xticks(range(len(queries.QUERIES)), queries.QUERIES)
    axis.set_yscale("log")
    axis.set_ylabel("seconds")
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize=8)
    return figure


def _forced_joins(
    results: Results, timings: pd.DataFrame, counters: pd.DataFrame
) -> Iterator[Block]:
    """Q1.1 in both directions, with the pages that were made young, or not, meanwhile."""
    forced = timings[timings["run"] == "forced"].rename(columns={"seconds": "value"})
    pages = counters[(counters["run"] == "forced") & (counters["source"] == _POOL_STATS)]
    pages = pages[pages["counter"].isin(["PAGES_MADE_YOUNG", "PAGES_NOT_MADE_YOUNG"])]
    parts = [
        forced.assign(figure="seconds", unit="s"),
        _summed(pages, ["query", "counter"]).rename(columns={"counter": "figure"}),
    ]
    names = ["seconds", "PAGES_MADE_YOUNG", "PAGES_NOT_MADE_YOUNG"]
    yield Table(
        spread.overview(pd.concat(parts), [*_POINT, "query"], names, results.servers),
        "Q1.1 with the direction of its join forced, once after the warm runs: seconds, and by how "
        f"much two counters of {_POOL_STATS} grew. Median of the rounds, and their range in "
        "brackets.",
    )


def _lru(results: Results, counters: pd.DataFrame) -> Iterator[Block]:
    """What moved in a warm run, from the tables that all have and those of Sluice."""
    warm = counters[counters["run"] == "warm 3"]
    status = (warm["source"] == STATUS) & warm["counter"].isin(
        ["Innodb_pages_read", "Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_ahead"]
    )
    young = (warm["source"] == _POOL_STATS) & warm["counter"].isin(
        ["PAGES_MADE_YOUNG", "PAGES_NOT_MADE_YOUNG"]
    )
    stats = warm["source"] == _LRU_STATS
    moved = warm[status | young | stats]
    # Lengths of lists and maxima are states; what they grew by in a run says nothing.
    states = moved["counter"].str.contains(r"DATABASE_PAGES$|^FREE_BUFFERS$|_MAX$|_ID$")
    moved = _summed(moved[~states], ["source", "counter"]).rename(columns={"counter": "figure"})
    # A counter that stood still everywhere would fill a line a point with zeros.
    moved = moved[moved.groupby(["source", "figure"])["value"].transform("any")]
    for source, part in moved.groupby("source", sort=False):
        names = list(dict.fromkeys(part["figure"]))
        present = [server for server in results.servers if (part["server"] == server).any()]
        yield Table(
            spread.overview(part, _POINT, names, present),
            f"{'SHOW GLOBAL STATUS' if source == STATUS else source}: by how much counters grew "
            "in the third warm run, all 13 queries and pool instances together. Median of the "
            "rounds, and their range in brackets. Each query's are in counters.csv.",
        )


def _what_if(counters: pd.DataFrame) -> Iterator[Block]:
    """What a server predicts for other settings, beside what the other setting really read."""
    said = counters[counters["source"].str.startswith(_WHATIF) & (counters["run"] == "warm 3")]
    if said.empty:
        return
    where = ["server", "round", *_POINT]
    last = said.groupby([*where, "source", "row", "counter"], sort=False).tail(1)
    yield Table(
        last[[*where, "source", "row", "counter", "after"]],
        "The what-if prediction as it stood after the last query of the third warm run.",
    )
    read = counters[(counters["source"] == STATUS) & (counters["counter"] == "Innodb_pages_read")]
    read = read.groupby([*where, "run"], sort=False)["growth"].sum().reset_index()
    yield Table(
        read.rename(columns={"growth": "pages read"}),
        "What each setting really did: Innodb_pages_read by run.",
    )


def _answers(results: Results) -> Iterator[Block]:
    """Rows compared: with DuckDB's, between the runs of a server, and between servers."""
    wrong = results.table("wrong")
    between = pd.DataFrame(list(_between_servers(results)), columns=["point", "round", "what"])
    if wrong.empty and between.empty:
        yield Text(
            "Results: every row of every query is the same on all servers in all runs and rounds, "
            "and the same as DuckDB computes from the same data."
        )
        return
    yield Text("RESULTS DIFFER. The first row of each query that does:")
    if not wrong.empty:
        yield Table(wrong, "Against what DuckDB computes, and against a server's own first run.")
    if not between.empty:
        yield Table(between, "Between servers.")


def _between_servers(results: Results) -> Iterator[tuple[str, int, str]]:
    rows = results.table("results")
    for values, part in rows.groupby([*_POINT, "round"], sort=False):
        answers = {
            server: compare.from_frame(mine) for server, mine in part.groupby("server", sort=False)
        }
        first, *others = answers
        for other in others:
            both = [query for query in answers[first] if query in answers[other]]
            for difference in compare.differences(answers[first], answers[other], both):
                point = ", ".join(f"{name}={value}" for name, value in zip(_POINT, values[:-1]))
                yield point, values[-1], difference.describe(first, other)


def _plans(plans: pd.DataFrame) -> Iterator[Block]:
    """Queries that were not planned alike at a point, with each plan and who had it."""
    steps = plans.fillna({"key": "no key"})
    steps["step"] = steps["table"].astype(str) + " (" + steps["key"] + ")"
    query = [*_POINT, "query"]
    who = ["server", "round", "run", *query]
    joined = steps.groupby(who, sort=False)["step"].agg(" > ".join).rename("plan").reset_index()
    several = joined.groupby(query)["plan"].transform("nunique") > 1
    if not several.any():
        yield Text(
            "Plans: at each point, every server joined the tables of each query in the same "
            "order by the same keys, in every run."
        )
        return
    shares = joined[several].groupby([*query, "plan", "server"], sort=False).size()
    table = shares.unstack("server", fill_value=0).sort_index(level=query).reset_index()
    yield Table(
        table,
        "Queries that were not always planned alike at a point: the tables in the order of their "
        "join with the key of each, and how many runs of a server had that plan. A difference of "
        "time in these is one of plans first.",
    )


def _summed(counters: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Growth of all rows of a source and all queries, in the columns that spread wants.

    The last of the keys names the counter. A server that has other counters of the same
    source did not have this one grow: 0, as status variables that stand still are not saved.
    """
    counters = counters[counters["growth"].notna()]
    *others, counter = ["server", "round", *_POINT, *keys]
    parts = [
        part.groupby([*others, counter], sort=False)["growth"]
        .sum()
        .unstack(counter, fill_value=0)
        .stack()
        for _, part in counters.groupby("source", sort=False)
    ]
    if not parts:
        return pd.DataFrame(columns=[*others, counter, "value", "unit"])
    return pd.concat(parts).rename("value").reset_index().assign(unit="")
