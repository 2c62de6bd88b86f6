# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The Prometheus queries and the dashboard of docs/monitoring fit together and to the tables.

The collector file uses few of YAML's forms, and `_parse` knows just these: it is no reason to
add a YAML library to what the benchmarks need.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from harness import places

_MONITORING = places.ROOT / "docs" / "monitoring"
_COLLECTOR = _MONITORING / "lru_sql_exporter.collector.yml"
_DASHBOARD = _MONITORING / "lru_grafana.json"

#: The tables of lru_stats.so.
_TABLES = {
    "INNODB_LRU_STATS": """
        POOL_ID COUNTED_SINCE DATABASE_PAGES OLD_DATABASE_PAGES FREE_BUFFERS
        MODIFIED_DATABASE_PAGES PAGES_MADE_YOUNG PAGES_NOT_MADE_YOUNG_TIME
        PAGES_NOT_MADE_YOUNG_FIRST_ACCESS PAGES_NOT_MADE_YOUNG_NOT_OLD PAGES_YOUNG_MOVED_TO_HEAD
        PAGES_YOUNG_TO_OLD PAGES_EVICTED_OLD PAGES_EVICTED_OLD_NEVER_YOUNG
        PAGES_EVICTED_OLD_ACCESSED_ONCE PAGES_EVICTED_YOUNG READ_AHEAD_EVICTED
        PAGES_FLUSHED_LRU_PAGE_CLEANER PAGES_FLUSHED_LRU_USER_THREADS LRU_SCANS_USER_THREADS
        LRU_PAGES_SCANNED_USER_THREADS FREE_LIST_WAITS FREE_LIST_WAIT_TIME
        FREE_LIST_WAIT_TIME_MAX""",
    "INNODB_LRU_INDEX_STATS": """
        SPACE_ID INDEX_ID SCHEMA_NAME TABLE_NAME PARTITION_NAME INDEX_NAME COUNTED_SINCE
        PAGES_YOUNG PAGES_OLD PAGES_DIRTY PAGES_READ PAGES_READ_AHEAD PAGES_MADE_YOUNG
        PAGES_NOT_MADE_YOUNG PAGES_EVICTED_OLD PAGES_EVICTED_YOUNG PAGES_EVICTED_UNTOUCHED
        PAGES_READ_AGAIN BYTES_READ""",
    "INNODB_LRU_AGE_HISTOGRAM": """
        EVENT POOL_ID BUCKET LOW_MS HIGH_MS PAGES SAMPLES COUNTED_SINCE EVENTS_LOST""",
    "INNODB_LRU_WHATIF": """
        POOL_SIZE OLD_BLOCKS_PCT OLD_BLOCKS_TIME IS_RUNNING ESTIMATED_HIT_PCT
        ESTIMATED_READS_PER_SECOND MEASURED_HIT_PCT MEASURED_READS_PER_SECOND ERROR_HIT_PCT
        SAMPLED_REFERENCES SAMPLED_READS FILLED_PCT CONFIDENCE SAMPLING_RATE SECONDS
        COUNTED_SINCE EVENTS_LOST""",
}
_SQL = """
    AND AS ASC BY CASE CAST CHAR COALESCE CONCAT DESC ELSE END FIELD FROM GROUP IS LIMIT LOWER MAX
    NOT NULL ON OR ORDER OVER PARTITION PRECEDING ROWS SELECT SUM THEN UNBOUNDED UNION ALL WHEN
    WHERE WITH INFORMATION_SCHEMA"""


def _scalar(text: str) -> Any:
    if text.startswith("["):
        return [_scalar(part.strip()) for part in text[1:-1].split(",")]
    return text[1:-1] if text.startswith("'") else text


def _parse(text: str) -> dict[str, Any]:
    """Mappings of `key: value`, lists of such mappings or of words, and `|` blocks of text."""
    lines = text.splitlines()
    result: dict[str, Any] = {}
    records: list[dict[str, Any]] = []
    into, words, number = result, None, 0
    while number < len(lines):
        line = lines[number]
        number += 1
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if words is not None and indent == 6 and content.startswith("- "):
            words.append(_scalar(content[2:]))
            continue
        words = None
        if indent == 2 and content.startswith("- "):
            into = {}
            records.append(into)
            content = content[2:]
        elif indent == 0:
            into = result
        else:
            assert indent == 4, f"line {number}: {line!r} is a form that this does not know"
        key, colon, value = content.partition(":")
        value = value.strip()
        assert colon and key not in into, f"line {number}: {line!r}"
        if value == "|":
            block = []
            while number < len(lines) and (
                lines[number].startswith("      ") or not lines[number].strip()
            ):
                block.append(lines[number][6:])
                number += 1
            into[key] = "\n".join(block)
        elif value:
            into[key] = _scalar(value)
        elif indent == 0:
            into[key] = records = []
        else:
            into[key] = words = []
    return result


@pytest.fixture(scope="module")
def collector() -> dict[str, Any]:
    return _parse(_COLLECTOR.read_text())


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    return json.loads(_DASHBOARD.read_text())


def _query(collector: dict[str, Any], name: str) -> str:
    (query,) = [one["query"] for one in collector["queries"] if one["query_name"] == name]
    return query


def _expressions(node: Any) -> Iterator[str]:
    """What the dashboard asks Prometheus, wherever it stands."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("expr", "definition", "query") and isinstance(value, str):
                yield value
            else:
                yield from _expressions(value)
    elif isinstance(node, list):
        for one in node:
            yield from _expressions(one)


def test_the_parser_agrees_with_yaml() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not needed, but a second opinion")

    def plain(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: plain(value) for key, value in node.items()}
        if isinstance(node, list):
            return [plain(one) for one in node]
        return node.strip() if isinstance(node, str) else node

    text = _COLLECTOR.read_text()
    assert plain(yaml.safe_load(text)) == plain(_parse(text))


def test_metrics_are_complete(collector: dict[str, Any]) -> None:
    names = [metric["metric_name"] for metric in collector["metrics"]]
    assert len(names) == len(set(names)) > 10
    for metric in collector["metrics"]:
        assert metric["type"] in ("counter", "gauge") and metric["help"]
        assert ("value_label" in metric) == (len(metric["values"]) > 1)
        counts = metric["metric_name"].endswith(("_total", "_bucket"))
        assert counts == (metric["type"] == "counter")


def test_labels_and_values_are_selected(collector: dict[str, Any]) -> None:
    for metric in collector["metrics"]:
        query = _query(collector, metric["query_ref"])
        selected = set(re.findall(r"\bAS `?([a-z_]+)`?", query))
        wanted = set(metric.get("key_labels", [])) | set(metric["values"])
        assert wanted <= selected, metric["metric_name"]


def test_every_query_is_used(collector: dict[str, Any]) -> None:
    used = {metric["query_ref"] for metric in collector["metrics"]}
    assert used == {query["query_name"] for query in collector["queries"]}


def test_columns_are_those_of_the_tables(collector: dict[str, Any]) -> None:
    for query in collector["queries"]:
        text = re.sub(r"'[^']*'", "''", query["query"])
        words = set(re.findall(r"\b[A-Z][A-Z0-9_]*\b", text)) - set(_SQL.split())
        tables = words & set(_TABLES)
        assert len(tables) == 1, query["query_name"]
        columns = set(_TABLES[tables.pop()].split())
        unknown = words - set(_TABLES) - columns
        assert not unknown, f"{query['query_name']}: {sorted(unknown)}"


def test_the_dashboard_uses_what_is_exported(
    collector: dict[str, Any], dashboard: dict[str, Any]
) -> None:
    labels = {
        metric["metric_name"]: {
            "instance",
            *metric.get("key_labels", []),
            *([metric["value_label"]] if "value_label" in metric else []),
        }
        for metric in collector["metrics"]
    }
    used = set()
    for text in _expressions(dashboard):
        for name, selector in re.findall(r"\b(innodb_lru_\w+)(?:\{([^}]*)\})?", text):
            assert name in labels, text
            used.add(name)
            assert set(re.findall(r"(\w+)\s*=~?", selector)) <= labels[name], text
    assert used == set(labels), "exported, and on no panel"


def test_values_named_in_the_dashboard_are_exported(
    collector: dict[str, Any], dashboard: dict[str, Any]
) -> None:
    values = {
        (metric["metric_name"], metric["value_label"]): set(metric["values"])
        for metric in collector["metrics"]
        if "value_label" in metric
    }
    found = 0
    for text in _expressions(dashboard):
        for name, selector in re.findall(r"\b(innodb_lru_\w+)\{([^}]*)\}", text):
            for label, wanted in re.findall(r'(\w+)=~?"([a-z_|]+)"', selector):
                if (name, label) in values:
                    assert set(wanted.split("|")) <= values[name, label], text
                    found += 1
    assert found


def test_panels_have_places_of_their_own(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    identities = [panel["id"] for panel in dashboard["panels"]]
    assert len(identities) == len(set(identities))
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
