"""Two runs of the tests of one preset would take each other's files."""

import time

from conftest import pretend_to_have_built

PERL = """for option; do
  case $option in --xml-report=*) report=${option#*=} ;; esac
done
echo '<r><testcase suitename="main" name="lock" status="pass"/></r>' >"$report"
touch "$(dirname "$report")/begun"
[ -f ../../../../hold ] || exit 0
for ((i = 0; i < 6000; i++)); do [ ! -f ../../../../enough ] || break; sleep 0.1; done"""


def test_a_second_run_is_refused_and_leaves_the_first_alone(checkout):
    checkout.stand_in("perl", PERL)
    pretend_to_have_built(checkout, "debug", "release")
    (checkout.path / "hold").touch()
    first = checkout.start("superbuild/test.sh", "main.lock", PRESET="debug")
    begun = checkout.path / "build/debug/test/results/begun"
    wait_for(begun)
    status, output = checkout.run("superbuild/test.sh", "main.lock", PRESET="debug")
    assert status == 1
    assert f"the tests of build/debug are running already (process {first.pid})" in output
    assert begun.exists() and first.poll() is None
    (checkout.path / "enough").touch()
    # Another preset has a folder of its own.
    assert checkout.run("superbuild/test.sh", "main.lock", PRESET="release")[0] == 0
    output, _ = first.communicate(timeout=600)
    assert first.returncode == 0, output
    assert "1 passed, 0 failed" in output


def test_what_a_killed_run_left_behind_holds_up_no_other(checkout):
    checkout.stand_in("perl", PERL)
    pretend_to_have_built(checkout, "debug")
    (checkout.path / "hold").touch()
    first = checkout.start("superbuild/test.sh", "main.lock", PRESET="debug")
    wait_for(checkout.path / "build/debug/test/results/begun")
    first.kill()  # what it has started goes on
    first.wait()
    (checkout.path / "hold").unlink()
    status, output = checkout.run("superbuild/test.sh", "main.lock", PRESET="debug")
    (checkout.path / "enough").touch()
    assert status == 0, output


def wait_for(file):
    end = time.monotonic() + 600
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} did not come"
        time.sleep(0.05)
