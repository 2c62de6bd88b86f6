import mutations
import pytest
from conftest import ROOT
from mutations import CAUGHT, Mutation


def test_the_files_name_tests_and_code_that_exist():
    mutations.read(ROOT)


@pytest.fixture
def tree(tmp_path):
    suite = tmp_path / "mysql-test" / "suite" / "s"
    (suite / "t").mkdir(parents=True)
    (suite / "t" / "one.test").touch()
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "ours.cc").write_text('DBUG_EXECUTE_IF("mutate_gate", return;);')
    return tmp_path


def write(tree, text):
    (tree / "mysql-test" / "suite" / "s" / "mutations").write_text(text)
    return mutations.read(tree)


def test_a_line(tree):
    option, keyword = write(
        tree,
        "# comment\n--feature=OFF s.one all of it\n\nmutate_gate  s.one  # later\n".replace(
            "# later", "the gate is left open"
        ),
    )
    assert option == Mutation("--feature=OFF", "s.one", "all of it")
    assert option.mysqld_option == "--feature=OFF"
    assert keyword.mysqld_option == "--loose-debug=+d,mutate_gate"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("mutate_gate s.one", "s/mutations:1: wants MUTATION"),
        ("mutate_gate s.two the gate", "there is no test s.two"),
        ("mutate_gat s.one the gate", "no code of ours evaluates mutate_gat"),
    ],
)
def test_a_wrong_line(tree, line, complaint):
    with pytest.raises(mutations.Problem, match=complaint):
        write(tree, line + "\n")


def verdict_of(tmp_path, case):
    report = tmp_path / "m1.xml"
    report.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    mutation = Mutation("mutate_gate", "s.one", "the gate")
    return mutations.judge(mutation, {"s.one": ("passed", "")}, mutations.verdicts(report))


FAILED = (
    '<testcase name="one" suitename="s" status="fail"><failure message="{}">{}</failure></testcase>'
)
PASSED = '<testcase name="one" suitename="s" status="pass" />'
SKIPPED = (
    '<testcase name="one" suitename="s" status="skipped"><skipped message="not here" /></testcase>'
)


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        (FAILED.format("Test failed: x", "+wrong"), CAUGHT),
        (PASSED, "SURVIVED"),
        (SKIPPED, "skipped"),
        (SKIPPED + PASSED, "SURVIVED"),
        (PASSED + FAILED.format("Test failed", "-right"), CAUGHT),
        (FAILED.format("Test failed, Test case timeout after 600 seconds", ""), "hung"),
        (FAILED.format("Test failed, Failed to start mysqld.1", ""), "no server"),
        (
            FAILED.format(
                "Could not execute 'check-testcase' before testcase 's.one' (res: 1)", ""
            ),
            "no server",
        ),
        ("", "not run"),
    ],
)
def test_verdicts(tmp_path, case, verdict):
    assert verdict_of(tmp_path, case)[0] == verdict


@pytest.mark.parametrize(
    ("before", "verdict"),
    [
        ({}, "not run without it"),
        ({"s.one": (CAUGHT, "")}, "fails without it"),
        ({"s.one": ("skipped", "")}, "skipped without it"),
    ],
)
def test_a_test_that_does_not_pass_as_it_is_shows_nothing(before, verdict):
    mutation = Mutation("mutate_gate", "s.one", "the gate")
    assert mutations.judge(mutation, before, {"s.one": (CAUGHT, "")})[0] == verdict


def test_no_report_is_no_verdict(tmp_path):
    assert mutations.verdicts(tmp_path / "none.xml") == {}


class Fake:
    """mysql-test-run, of which mutate_gate is noticed and mutate_lock is not."""

    def run(self, name, tests, *options):
        caught = any("mutate_gate" in option for option in options)
        return {
            test: (CAUGHT if caught else "passed", "-right" if caught else "") for test in tests
        }


def test_a_mutation_that_survives_is_named():
    gate, lock = Mutation("mutate_gate", "s.one", "a"), Mutation("mutate_lock", "s.one", "b")
    rows = sorted(mutations.run_all([gate, lock], Fake(), 2), key=lambda row: row[0].what)
    assert rows == [(gate, CAUGHT, "-right"), (lock, "SURVIVED", "")]
    assert "mutate_lock  s.one  b       SURVIVED" in mutations.table(rows)
