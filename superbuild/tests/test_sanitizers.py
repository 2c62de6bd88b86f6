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
for option in ${TSAN_OPTIONS//:/ }; do
  case $option in log_path=*) [ ! -s ../../../../races ] || cp ../../../../races "${option#*=}.12" ;; esac
done
echo '<r><testcase suitename="main" name="lock" status="pass"/></r>' >"$report" """

# What is at 0x1 of a module is ours, what is at 0x4 and 0x5 in the seventh line of a file of upstream's.
SYMBOLIZER = """while read -r offset; do
  case $offset in
    0x1) file=buf0lruflush.cc ;;
    0x4) file=hooked.cc ;;
    0x5) file=plain.cc ;;
    *) file=buf0buf.cc ;;
  esac
  printf 'in_%s\\n/src/%s:7:3\\n\\n' "${1##*/}" "$file"
done"""
RACE = """==================
WARNING: ThreadSanitizer: data race (pid=12)
  Write of size 8 at 0x7b0400000800 by thread T1:
    #0 <null> <null> ({}) (BuildId: 1)

  Previous read of size 8 at 0x7b0400000800 by thread T2:
    #0 <null> <null> (mysqld+0x2) (BuildId: 1)

==================
"""


@pytest.fixture
def run(checkout):
    checkout.stand_in("perl", PERL)
    checkout.stand_in("llvm-symbolizer-19", SYMBOLIZER)
    pretend_to_have_built(checkout, "asan", "debug", "tsan")
    folder = checkout.path / "storage/innobase/buf"
    folder.mkdir(parents=True)
    (folder / "buf0lruflush.cc").touch()
    (checkout.path / "patches/flush.patch").write_text(
        "Files: storage/innobase/buf\n\ndiff \n+++ b/sql/hooked.cc\n+++ b/sql/plain.cc\n"
    )
    for name, seventh in ("hooked", "hook();"), ("plain", "line 7"):
        for tree, line in ("upstream", "line 7"), ("tree", seventh):
            file = checkout.path / "build" / tree / "sql" / f"{name}.cc"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"line {n}\n" for n in range(1, 7)) + line + "\n")

    def run(said="ready\n", preset="asan", races=""):
        (checkout.path / "said").write_text(said)
        (checkout.path / "races").write_text(races)
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


@pytest.mark.parametrize("address", ["0x3", "0x5"])
def test_a_race_of_upstreams(run, address):
    status, output = run(preset="tsan", races=RACE.format(f"mysqld+{address}"))
    assert status == 0, output
    assert "tsan: 0 reports of our files, 1 of upstream's in 1 places" in output
    assert "--sanitize" not in output and "1 passed, 0 failed" in output


@pytest.mark.parametrize("module", ["mysqld", "lru_stats.so"])
def test_a_race_of_ours(run, module):
    status, output = run(preset="tsan", races=RACE.format(f"{module}+0x1"))
    assert status == 1
    assert f"in_{module} buf0lruflush.cc:7" in output
    assert "tsan: 1 reports of our files, 0 of upstream's" in output


def test_a_race_of_a_line_that_a_patch_adds(run):
    status, output = run(preset="tsan", races=RACE.format("mysqld+0x4"))
    assert status == 1
    assert "in_mysqld hooked.cc:7" in output


def test_a_thread_sanitizer_that_is_silent(run):
    status, output = run(preset="tsan")
    assert status == 1
    assert "nothing says that the thread sanitizer looked" in output
