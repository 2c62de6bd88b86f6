"""The logs of a test that failed are there when all runs are over, as each empties the folder of the last."""

from conftest import pretend_to_have_built

PERL = """for option; do
  case $option in
    --vardir=*) var=${option#*=} ;;
    --xml-report=*) report=${option#*=} ;;
  esac
done
mkdir -p "$var/log/main.lock"
echo "A long wait" >"$var/log/main.lock/mysqld.1.err"
echo '<r><testcase suitename="main" name="lock" status="'"$(cat ../../../../status)"'"/></r>' >"$report"
[ "$(cat ../../../../status)" = pass ]"""


def run(checkout, status):
    checkout.stand_in("perl", PERL)
    pretend_to_have_built(checkout, "debug")
    (checkout.path / "status").write_text(status)
    result = checkout.run("superbuild/test.sh", "main.lock", PRESET="debug")
    return *result, checkout.path / "build/debug/test/results/chosen.logs"


def test_of_a_run_that_failed(checkout):
    status, output, logs = run(checkout, "fail")
    assert status == 1
    assert f"are kept in {logs}" in output
    assert (logs / "main.lock/mysqld.1.err").read_text() == "A long wait\n"


def test_not_of_one_that_passed(checkout):
    status, output, logs = run(checkout, "pass")
    assert status == 0, output
    assert not logs.exists()
