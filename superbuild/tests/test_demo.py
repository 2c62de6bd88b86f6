"""The demonstration's server: found, stopped, started again, and never root's."""

import os
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
    process.wait(timeout=60)
    output, _ = other.communicate(timeout=60)
    return other.returncode, output


def test_stop_leaves_others_alone(checkout, server):
    process, _ = server("build/bench/data")
    status, output = checkout.run("demo/stop.sh")
    assert (status, output) == (0, "stop: no server is running\n")
    assert process.poll() is None


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

    def script(self, name):
        return subprocess.run(
            [ROOT / "demo" / name], env=self.variables, cwd="/", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=300, check=False,
        )  # fmt: skip

    def process(self):
        (found,) = [
            cwd.parent for cwd in Path("/proc").glob("[0-9]*/cwd")
            if same(cwd, self.home / "data") and (cwd.parent / "comm").read_text() == "mysqld\n"
        ]  # fmt: skip
        return found

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


@pytest.fixture
def demonstration():
    # In the checkout, where the server's user can be let in.
    home = ROOT / "build" / "home-of-test-demo"
    shutil.rmtree(home, ignore_errors=True)
    demonstration = Demonstration(home)
    yield demonstration
    stopped = demonstration.script("stop.sh")
    assert stopped.returncode == 0, stopped.stdout
    shutil.rmtree(home)


def test_make_run(demonstration):
    output = demonstration.run()
    assert "PAGES_MADE_YOUNG" in output
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
    # The lean server lacks what some loose_ options are for.
    said = [line for line in run.stderr.splitlines() if "unknown variable 'loose_" not in line]
    assert (run.returncode, run.stdout, said) == (0, "", [])
