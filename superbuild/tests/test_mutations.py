import os
import subprocess

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
    assert option.mysqld_options == ["--mysqld=--feature=OFF"]
    assert keyword.mysqld_options == ["--mysqld=--loose-debug=+d,mutate_gate"]


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


@pytest.mark.parametrize("file", ["suite.opt", "one-master.opt"])
def test_an_option_that_an_opt_file_sets_would_break_nothing(tree, file):
    (tree / "mysql-test" / "suite" / "s" / "t" / file).write_text("--other --loose_feature=ON\n")
    with pytest.raises(mutations.Problem, match=f"{file} sets feature, too"):
        write(tree, "--feature=OFF s.one all of it\n")


def verdict_of(tmp_path, case):
    report = tmp_path / "m1.xml"
    report.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    found = mutations.verdicts(report).get("s.one", ("not run", ""))
    return mutations.judge(("passed", ""), found)


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
        (FAILED.format("Test failed", "no XML: \x00"), CAUGHT),
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


def test_no_report_is_no_verdict(tmp_path):
    assert mutations.verdicts(tmp_path / "none.xml") == {}


GATE = Mutation("mutate_gate", "s.one", "a")
LOCK = Mutation("mutate_lock", "s.one", "b")


class Fake:
    """mysql-test-run, of which mutate_gate is noticed and mutate_lock is not."""

    def __init__(self, as_is="passed"):
        self.as_is = as_is
        self.runs = []

    def run(self, test, what, *options):
        self.runs.append((test, what, *options))
        if what == mutations.AS_IS:
            return self.as_is, ""
        return (CAUGHT, "-right") if what == GATE.what else ("passed", "")


def run(tree, runner):
    kept = mutations.Kept(tree / "kept.tsv", tree)
    rows = list(mutations.run_all([GATE, LOCK], runner, kept, 2))
    return {row.what: row for row in rows}


@pytest.fixture(autouse=True)
def no_cache():
    mutations.state_of_server.cache_clear()
    mutations.state_of_suite.cache_clear()


def test_a_mutation_that_survives_is_named(tree):
    runner = Fake()
    rows = run(tree, runner)
    assert [rows[what].verdict for what in (GATE.what, LOCK.what)] == [CAUGHT, "SURVIVED"]
    assert rows[GATE.what].how == "-right"
    table = mutations.table([(LOCK, rows[LOCK.what])])
    assert "mutate_lock  s.one  b       SURVIVED" in table
    assert runner.runs == [
        ("s.one", "-"),
        ("s.one", GATE.what, "--mysqld=--loose-debug=+d,mutate_gate"),
        ("s.one", LOCK.what, "--mysqld=--loose-debug=+d,mutate_lock"),
    ]


@pytest.mark.parametrize(
    ("before", "verdict"),
    [
        ("not run", "not run without it"),
        (CAUGHT, "fails without it"),
        ("skipped", "skipped without it"),
    ],
)
def test_a_test_that_does_not_pass_as_it_is_shows_nothing(tree, before, verdict):
    runner = Fake(before)
    assert {row.verdict for row in run(tree, runner).values()} == {verdict}
    assert runner.runs == [("s.one", "-")]


def test_an_error_is_not_lost(tree):
    class Broken:
        def run(self, *_):
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        run(tree, Broken())


def test_a_run_leaves_the_folder_of_another_alone(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name in (str(os.getpid()), str(ended.pid), "var1"):
        (tmp_path / name).mkdir()
    mutations.remove_ended(tmp_path)
    assert [folder.name for folder in tmp_path.iterdir()] == [str(os.getpid())]


def known(tree):
    """What a later run finds."""
    mutations.state_of_server.cache_clear()
    mutations.state_of_suite.cache_clear()
    row = mutations.Kept(tree / "kept.tsv", tree).find(GATE.what, GATE.test)
    return row.verdict if row else None


def test_what_was_caught_is_known_until_server_or_suite_change(tree):
    run(tree, Fake())
    assert known(tree) == CAUGHT
    (tree / "mysql-test" / "suite" / "s" / "mutations").write_text("# another line")
    (tree / "README").write_text("other words")
    assert known(tree) == CAUGHT
    (tree / "sql" / "ours.cc").write_text("another server")
    assert known(tree) is None
    run(tree, Fake())
    assert known(tree) == CAUGHT
    (tree / "mysql-test" / "suite" / "s" / "t" / "one.test").write_text("another test")
    assert known(tree) is None


def test_a_suite_changes_with_those_whose_files_it_takes(tree):
    other = tree / "mysql-test" / "suite" / "other" / "include"
    other.mkdir(parents=True)
    (other / "a.inc").write_text("SELECT 1;")
    one = tree / "mysql-test" / "suite" / "s" / "t" / "one.test"
    one.write_text("--source suite/other/include/a.inc")
    run(tree, Fake())
    assert known(tree) == CAUGHT
    (other / "a.inc").write_text("SELECT 2;")
    assert known(tree) is None


def test_a_test_that_passed_is_not_run_again_as_it_is(tree):
    run(tree, Fake())
    again = Fake()
    run(tree, again)
    assert [what for _, what, *_ in again.runs] == [GATE.what, LOCK.what]


def test_what_there_is_no_time_for_is_left_to_the_next_time(tree):
    class Slow(Fake):
        """Its first run takes all the time there is."""

        def run(self, *arguments):
            now.append(1)
            return super().run(*arguments)

    now = []
    runner = Slow()
    kept = mutations.Kept(tree / "kept.tsv", tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutations.time, "monotonic", lambda: float(len(now)))
        assert not list(mutations.run_all([GATE, LOCK], runner, kept, 2, until=1))
    assert runner.runs == [("s.one", "-")]
    assert set(run(tree, runner)) == {GATE.what, LOCK.what}
    assert [what for _, what, *_ in runner.runs] == ["-", GATE.what, LOCK.what]
