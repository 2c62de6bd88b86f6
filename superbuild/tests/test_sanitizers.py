"""What a sanitizer reports fails a run, whatever mysql-test-run says of it."""

import pytest
from conftest import pretend_to_have_built

PERL = """for option; do
  case $option in
    --vardir=*) logs=${option#*=}/1/log ;;
    --xml-report=*) report=${option#*=} ;;
  esac
done
echo "$*"
mkdir -p "$logs"
cat ../../../../said >"$logs/mysqld.1.err"
echo '<r><testcase suitename="main" name="lock" status="pass"/></r>' >"$report" """


@pytest.fixture
def run(checkout):
    checkout.stand_in("perl", PERL)
    pretend_to_have_built(checkout, "asan", "debug")

    def run(said, preset="asan"):
        (checkout.path / "said").write_text(said)
        return checkout.run("superbuild/test.sh", "main.lock", PRESET=preset)

    return run


@pytest.mark.parametrize(
    "report",
    [
        "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010",
        "==12==ERROR: LeakSanitizer: detected memory leaks",
        "storage/innobase/buf/buf0lruflush.cc:7:3: runtime error: index 9 out of bounds",
    ],
)
def test_a_report_fails_the_run(run, report):
    status, output = run(f"ready\n{report}\n    #0 in walk\n")
    assert status == 1
    assert report in output and "#0 in walk" in output
    assert "1 passed, 0 failed" in output


def test_no_report(run):
    status, output = run("ready\n")
    assert status == 0, output
    assert "no report of a sanitizer in 1 logs" in output
    assert "--sanitize" in output and "--clean-vardir" not in output


def test_without_sanitizers_logs_go(run):
    status, output = run("ready\n", preset="debug")
    assert status == 0, output
    assert "--clean-vardir" in output and "report of a sanitizer" not in output
