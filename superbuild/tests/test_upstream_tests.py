"""Upstream's suites on two builds: what counts as a difference."""

import pytest
import upstream_tests

REPORT = """<testsuites><testsuite name="r">
<testcase name="a" suitename="s" status="pass" time="1.5"/>
<testcase name="b" suitename="s" status="pass" time="1" combination="row"/>
<testcase name="b" suitename="s" status="fail" time="2" combination="mix">
<failure>mysqltest: At line 3: query failed</failure></testcase>
<testcase name="c" suitename="s" status="skipped"><skipped message="no plugin"/></testcase>
<testcase name="shutdown_report" suitename="shutdown_report" status="pass"/>
</testsuite></testsuites>"""


def rows(**tests):
    return [
        {"test": f"s.{test}", "build": build, "outcome": outcome, "reason": ""}
        for test, outcomes in tests.items()
        for build, outcome in zip(("stock-debug", "debug", "debug on"), outcomes, strict=False)
        if outcome
    ]


def test_the_worst_combination_of_a_test_counts(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    found = upstream_tests.outcomes(report, "s", ["a", "b", "c", "big"], "debug")
    assert [(row["test"], row["outcome"]) for row in found] == [
        ("s.a", "passed"),
        ("s.b", "failed"),
        ("s.c", "skipped"),
        ("s.big", "skipped"),
    ]
    assert found[1]["reason"] == "mysqltest: At line 3: query failed"
    assert found[1]["seconds"] == 3.0
    assert found[3]["reason"] == "left out by mysql-test-run"
    found = upstream_tests.outcomes(report, "s", ["a", "late"], "debug", complete=False)
    assert [row["test"] for row in found] == ["s.a"], "the next run makes up for the other"


def test_logs_of_a_failure_are_kept(tmp_path):
    for folder in ("s.b-mix", "s.b-row", "s.bad-row", "s.a--help"):
        (tmp_path / "log" / folder / "data").mkdir(parents=True)
        (tmp_path / "log" / folder / "b.log").touch()
    for test in ("s.b", "s.a--help"):
        upstream_tests.keep_logs(tmp_path / "log", tmp_path / "kept", test)
    kept = sorted(str(path.relative_to(tmp_path / "kept")) for path in tmp_path.glob("kept/*/*"))
    assert kept == ["s.a--help/b.log", "s.b-mix/b.log", "s.b-row/b.log"]


def test_a_difference_needs_an_explanation():
    told = rows(
        same=("passed", "passed", "passed"),
        both=("failed", "failed", "failed"),
        worse=("passed", "passed", "failed"),
        known=("passed", "failed", "failed"),
        skipped=("passed", "skipped", "skipped"),
        other=("passed", "failed", "failed"),
    )
    for row in told:
        row["reason"] = "a crash" if row["test"] == "s.other" else "- one text + another"
    differences = {
        name: ("+ another", "another text") for name in ("s.known", "s.other", "s.skipped")
    }
    builds, lines, unexplained = upstream_tests.compare(told, differences)
    assert builds == ["debug", "debug on"]
    assert lines == [
        "| `s.both` | failed | failed | failed | fails on stock, too |",
        "| `s.known` | passed | failed | failed | another text |",
        "| `s.other` | passed | failed | failed | **not explained** |",
        "| `s.skipped` | passed | skipped | skipped | another text |",
        "| `s.worse` | passed | passed | failed | **not explained** |",
    ]
    assert unexplained == ["s.other", "s.worse"]


def test_without_stock_failures_are_open():
    told = rows(good=("", "passed"), bad=("", "failed"))
    _, lines, unexplained = upstream_tests.compare(told, {})
    assert lines == ["| `s.bad` | not run | failed | **not explained** |"]
    assert unexplained == ["s.bad"]


def test_an_explanation_has_a_reason(tmp_path):
    file = tmp_path / "differences"
    for bad in ("s.b", "s.b why so", 's.b "only a text"', 's.b "" why so'):
        file.write_text(f'# comment\ns.a "text" why so\n{bad}\n')
        with pytest.raises(SystemExit, match="s.b needs beside it, in quotes"):
            upstream_tests.read_differences(file)
    file.write_text('# comment\ns.a "text"  why so\n\n')
    assert upstream_tests.read_differences(file) == {"s.a": ("text", "why so")}


def test_the_list_can_be_read():
    upstream_tests.read_differences()
