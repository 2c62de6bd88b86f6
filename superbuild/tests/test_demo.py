"""The demonstration's server: found, stopped, started again, and never root's."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.fixture
def server(checkout):
    """A process that looks like one of ours."""
    started = []

    def start(folder):
        data = checkout.path / folder
        data.mkdir(parents=True)
        binary = checkout.path / "mysqld"
        shutil.copy("/bin/sleep", binary)
        process = subprocess.Popen([binary, "300"], cwd=data)
        started.append(process)
        return process, binary

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_stop_finds_a_server_whose_binary_was_built_again(checkout, server):
    process, binary = server("build/run/data")
    binary.unlink()
    status, output = run_and_reap(checkout, process, "demo/stop.sh")
    assert status == 0 and f"process {process.pid}, is down" in output


def run_and_reap(checkout, process, *command):
    """As the server is our child, it is there until somebody waits for it."""
    other = checkout.start(*command)
    process.wait(timeout=600)
    output, _ = other.communicate(timeout=600)
    return other.returncode, output


def test_stop_leaves_others_alone(checkout, server):
    process, _ = server("build/bench/data")
    status, output = checkout.run("demo/stop.sh")
    assert (status, output) == (0, "stop: no server is running\n")
    assert process.poll() is None


def test_stop_does_not_mind_processes_that_end_meanwhile(checkout):
    churn = subprocess.Popen(["bash", "-c", "while :; do /bin/true; done"])
    try:
        for _ in range(30):
            assert checkout.run("demo/stop.sh") == (0, "stop: no server is running\n")
    finally:
        churn.kill()
        churn.wait()


def test_stop_waits_for_what_monitor_left(checkout):
    """When it returns, nothing writes in build/run any more."""
    folder = checkout.path / "build/run/monitor"
    folder.mkdir(parents=True)
    program = checkout.path / "prometheus"
    late = "trap 'sleep 2; touch late; exit' TERM; touch ready; while :; do sleep 0.1; done"
    program.write_text(f"#!/bin/bash\n{late}\n")
    program.chmod(0o755)
    # In the background of a shell that ends: it is not our child, and no zombie of ours.
    subprocess.run(["sh", "-c", '"$0" >/dev/null 2>&1 &', program], cwd=folder, check=True)
    wait_until(lambda: (folder / "ready").exists())
    status, output = checkout.run("demo/stop.sh")
    assert status == 0 and "is told to end" in output, output
    assert (folder / "late").exists()


def test_clean_stops_the_demonstration_first(checkout, server):
    process, binary = server("build/run/data")
    binary.unlink()
    status, output = run_and_reap(checkout, process, "make", "clean")
    assert status == 0, output
    assert not (checkout.path / "build").exists()


def test_clean_leaves_a_server_its_files(checkout, server):
    process, _ = server("build/debug/test/var/data")
    status, output = checkout.run("make", "clean")
    assert status == 2
    assert f"a server is running, nothing was removed: process {process.pid}" in output
    assert (checkout.path / "build/debug/test/var/data").exists()


def built():
    """The preset to try it with."""
    for preset in ("debug", "release"):
        if Demonstration.objects(preset).is_dir():
            return preset
    raise AssertionError("no server is built; make debug builds one")


class Demonstration:
    def __init__(self, home):
        self.preset = built()
        self.home = home
        self.variables = os.environ | {
            "PRESET": self.preset, "DEMO_HOME": str(home), "ROWS": "1000", "SECONDS_OF_LOAD": "1",
        }  # fmt: skip

    @staticmethod
    def objects(preset):
        return ROOT / "build" / preset / "obj" / "runtime_output_directory"

    def run(self):
        run = self.script("run.sh")
        assert run.returncode == 0, run.stdout
        return run.stdout

    def script(self, name, *options):
        return subprocess.run(
            [ROOT / "demo" / name, *options], env=self.variables, cwd="/", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=1800, check=False,
        )  # fmt: skip

    def process(self):
        (found,) = self.processes("mysqld")
        return found

    def processes(self, name):
        """Those that work in the data directory."""
        return [
            process
            for process in Path("/proc").glob("[0-9]*")
            if same(process / "cwd", self.home / "data") and name_of(process) == name
        ]

    def ask(self, question):
        return subprocess.run(
            [self.objects(self.preset) / "mysql", "--no-defaults", "--socket=mysql.sock",
             "--user=root", "--batch", "--skip-column-names", f"--execute={question}"],
            cwd=self.home / "data", text=True, capture_output=True, check=True,
        ).stdout.split()  # fmt: skip


def same(one, other):
    try:
        return one.samefile(other)
    except OSError:
        return False


def name_of(process):
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return None


def wait_until(condition):
    until = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture
def demonstration():
    # In the checkout, where the server's user can be let in.
    home = ROOT / "build" / "home-of-test-demo"
    demonstration = Demonstration(home)
    # A run of the tests that was killed may have left a server.
    demonstration.script("stop.sh")
    shutil.rmtree(home, ignore_errors=True)
    yield demonstration
    stopped = demonstration.script("stop.sh")
    assert stopped.returncode == 0, stopped.stdout
    shutil.rmtree(home)


MEANWHILE = r"\d+ updates and \d+ point selects a second. What moved meanwhile:"
FIVE = ["pages evicted", "made young", "written ahead", "waits for a page", "the list now"]
COLUMNS = """SECONDS POOL_ID COUNTED_SINCE DATABASE_PAGES OLD_DATABASE_PAGES
 FREE_BUFFERS PAGES_MADE_YOUNG PAGES_EVICTED_OLD PAGES_EVICTED_OLD_ACCESSED_ONCE
 PAGES_EVICTED_YOUNG PAGES_FLUSHED_LRU_PAGE_CLEANER PAGES_FLUSHED_LRU_USER_THREADS
 FREE_LIST_WAITS FREE_LIST_WAIT_TIME FREE_LIST_WAIT_TIME_MAX""".split()  # noqa: SIM905


def samples(tmp_path, *rows):
    file = tmp_path / "samples.tsv"
    since = "2026-01-01 00:00:00.000000"
    lines = [COLUMNS, *([*row[:2], since, *row[2:]] for row in rows)]
    file.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    return file


def summary(file, *options, **variables):
    run = subprocess.run(
        [ROOT / "demo/summary.py", file, *options], env={"PATH": os.environ["PATH"]} | variables,
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr


MOVED = [
    (100, 0, 4000, 1480, 96, 5, 0, 0, 0, 0, 0, 0, 0, 9000),
    (101, 0, 4000, 1480, 96, 105, 400, 300, 0, 50, 0, 0, 0, 9000),
    (102, 0, 4000, 1480, 90, 205, 800, 600, 400, 150, 3, 2, 3000, 9000),
]


def test_five_lines_say_what_moved(tmp_path):
    status, output = summary(samples(tmp_path, *MOVED))
    assert status == 0
    assert output.splitlines() == [
        "  pages evicted     1 200  600/s  ▅█                              50 % of them had been used once",
        "  made young          200  100/s  ██                              moved to the head, as they are used again",
        "  written ahead       150   75/s  ▅█                              before anybody needed the page; clients wrote 3 themselves",
        "  waits for a page      2    1/s  ▁█                              1.5 ms each",
        "  the list now      4 000  pages  ███████████████████▁▁▁▁▁▁▁▁▁▁▁  63 % young, the rest old; 90 pages free",
    ]  # fmt: skip


def test_instances_are_added_up(tmp_path):
    second = [(row[0], 1, *row[2:]) for row in MOVED]
    rows = [row for pair in zip(MOVED, second, strict=True) for row in pair]
    status, output = summary(samples(tmp_path, *rows))
    assert status == 0
    assert " 2 400  1 200/s " in output and " 8 000 " in output
    assert summary(samples(tmp_path, *rows), "--all")[1].count("pool instance") == 2


def test_nothing_moved_and_another_character_set(tmp_path):
    still = [MOVED[0], (101, *MOVED[0][1:])]
    status, output = summary(samples(tmp_path, *still), LANG="de_DE.ISO-8859-1")
    assert status == 0 and output.isascii()
    assert "all data fit" in output and "a free page was always ready" in output


def test_pictures_are_no_wider_than_thirty(tmp_path):
    rows = [(100 + n, 0, 4000, 1480, 96, n, n * n, 0, 0, 0, 0, 0, 0, 0) for n in range(301)]
    status, output = summary(samples(tmp_path, *rows))
    assert status == 0
    (line,) = [line for line in output.splitlines() if "made young" in line]
    assert "█" * 30 in line and "█" * 31 not in line


def test_every_counter_on_demand(tmp_path):
    status, output = summary(samples(tmp_path, *MOVED), "--all")
    assert status == 0
    cells = {line.split()[0]: line.split()[1:] for line in output.splitlines()}
    assert cells["PAGES_MADE_YOUNG"] == ["5", "205", "200", "100.0"]
    assert cells["DATABASE_PAGES"] == ["4000", "4000"]
    assert cells["FREE_LIST_WAIT_TIME_MAX"] == ["9000", "9000"]
    assert "COUNTED_SINCE" not in cells and "SECONDS" not in cells


def test_without_samples(tmp_path):
    status, output = summary(tmp_path / "none")
    assert status == 1 and "is not there; 'make run' measures" in output
    for rows in ([], [MOVED[0]]):
        status, output = summary(samples(tmp_path, *rows))
        assert status == 1 and "holds no samples" in output and "Traceback" not in output
    (tmp_path / "samples.tsv").write_text("a\tb\n1\t2\n3\t4\n")
    status, output = summary(tmp_path / "samples.tsv")
    assert status == 1 and "holds no samples" in output and "Traceback" not in output


def test_make_run(demonstration):
    output = demonstration.run()
    lines = output.splitlines()
    (head,) = [n for n, line in enumerate(lines) if re.fullmatch(MEANWHILE, line)]
    names = [line.split("  ")[1] for line in lines[head + 1 : head + 6]]
    assert names == FIVE
    assert "PAGES_MADE_YOUNG" not in output
    assert "PAGES_MADE_YOUNG" in demonstration.script("run.sh", "--all").stdout
    process = demonstration.process()
    assert process.stat().st_uid != 0
    assert demonstration.ask("SELECT @@skip_networking, @@innodb_flush_log_at_trx_commit") == [
        "1",
        "2",
    ]
    assert demonstration.ask("SHOW VARIABLES LIKE 'mysqlx%'") == []
    # Nobody else gets as far as the socket.
    assert (demonstration.home / "data").stat().st_mode & 0o077 == 0

    assert f"up already, process {process.name}" in demonstration.run()
    assert demonstration.process() == process

    # Older than what was built since, as after a pull: it is started again.
    started = demonstration.home / "started"
    before = time.time() - 10 * 365 * 86400
    os.utime(started, (before, before))
    assert f"process {process.name}, is older than what is built" in demonstration.run()
    assert demonstration.process() != process


def test_a_second_run_at_once_and_one_that_is_ended(demonstration):
    variables = demonstration.variables | {"SECONDS_OF_LOAD": "1800"}
    first = subprocess.Popen(
        [ROOT / "demo/run.sh"], env=variables, cwd="/", text=True, stdout=subprocess.PIPE
    )
    assert any("seconds of updates" in line for line in first.stdout)
    second = demonstration.script("run.sh")
    assert second.returncode == 1
    assert f"another 'make run' uses {demonstration.home}; wait for its end" in second.stdout
    wait_until(lambda: len(demonstration.processes("sysbench")) == 2)
    first.terminate()
    first.communicate(timeout=600)
    wait_until(lambda: not demonstration.processes("sysbench"))


def test_monitor_names_missing_packages_before_it_builds(checkout):
    checkout.stand_in("dpkg-query", "exit 1")
    checkout.stand_in("apt-get", "exit 1")
    status, output = checkout.run("make", "monitor")
    assert status == 2
    assert output.startswith("monitor: these packages are missing"), output


@pytest.mark.parametrize("name", ["demonstration", "production"])
def test_option_files(name):
    """Each option is known, and has a value that is taken as it is."""
    preset = built()
    run = subprocess.run(
        [ROOT / "superbuild" / "as-user.sh", Demonstration.objects(preset) / "mysqld",
         f"--defaults-file={ROOT}/config/{name}.cnf", "--validate-config", "--log-error-verbosity=2",
         f"--plugin-dir={ROOT}/build/{preset}/obj/plugin_output_directory"],
        cwd="/", text=True, capture_output=True, check=False,
    )  # fmt: skip
    # The lean server lacks what some loose_ options are for; mysql-test-run beside this test
    # leaves a file beside the server, which says so.
    expected = re.compile(r"unknown variable 'loose_|Manifest file '.*mysqld\.my' is not read-only")
    said = [line for line in run.stderr.splitlines() if not expected.search(line)]
    assert (run.returncode, run.stdout, said) == (0, "", [])


def test_the_production_example_loses_no_commit(tmp_path):
    help_text = subprocess.run(
        [ROOT / "superbuild" / "as-user.sh", Demonstration.objects(built()) / "mysqld",
         f"--defaults-file={ROOT}/config/production.cnf", "--verbose", "--help"],
        cwd="/", text=True, capture_output=True, check=True,
    ).stdout  # fmt: skip
    values = dict(re.findall(r"^([a-z][a-z0-9-]+) +(\S+)$", help_text, re.MULTILINE))
    expected = {
        "innodb-flush-log-at-trx-commit": "1",
        "sync-binlog": "1",
        "innodb-doublewrite": "ON",
        "innodb-flush-method": "O_DIRECT",
        "log-bin": "binlog",
    }
    assert {name: values.get(name) for name in expected} == expected
