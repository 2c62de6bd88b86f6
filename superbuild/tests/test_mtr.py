"""How mysql-test-run is run; perl is a stand-in that says what it was told."""

import errno
import os
import socket
import time

import pytest

PERL = """[ "${@: -1}" = quick ] || until [ -e ../../../../go ]; do sleep 0.1; done
echo "$(id -un): $*"; ls -- ../*_output_directory"""
PORTS = 'echo "ports $MTR_BUILD_THREAD"'
FILES = ("runtime_output_directory/mysqld.my", "plugin_output_directory/component_keyring_file.cnf")


@pytest.fixture
def objects(checkout):
    checkout.stand_in("perl", PERL)
    objects = checkout.path / "build" / "debug" / "obj"
    for folder in ("mysql-test", "runtime_output_directory", "plugin_output_directory"):
        (objects / folder).mkdir(parents=True)
    return objects


def test_as_whom_and_how(checkout, objects):
    status, output = checkout.run("superbuild/mtr.sh", "debug", "quick")
    assert status == 0, output
    # A line that says that the user is made may come first.
    told = next(line for line in output.splitlines() if "--force" in line)
    user, _, arguments = told.partition(": ")
    assert user != "root"
    assert {"--retry=0", "--bind-local", "--force"} <= set(arguments.split())


def test_a_failure_is_one(checkout, objects):
    checkout.stand_in("perl", "exit 3")
    assert checkout.run("superbuild/mtr.sh", "debug", "quick")[0] == 3


def test_ports_of_its_own(checkout, objects, monkeypatch):
    monkeypatch.delenv("MTR_BUILD_THREAD", raising=False)
    checkout.stand_in("perl", PORTS + "; until [ -e ../../../../go ]; do sleep 0.1; done")
    runs = [checkout.start("superbuild/mtr.sh", "debug", name) for name in ("one", "two")]
    chosen = [int(run.stdout.readline().split()[1]) for run in runs]
    (checkout.path / "go").touch()
    assert all(run.wait(timeout=600) == 0 for run in runs)
    assert abs(chosen[0] - chosen[1]) >= 240


def test_not_the_port_of_a_server(checkout, objects, monkeypatch):
    monkeypatch.delenv("MTR_BUILD_THREAD", raising=False)
    checkout.stand_in("perl", PORTS)
    # Not those of a run beside this one, which would end if it met the port.
    script = checkout.path / "superbuild" / "mtr.sh"
    script.write_text(script.read_text().replace("seq 300 ", "seq 1500 "))
    first = int(checkout.run("superbuild/mtr.sh", "debug", "quick")[1].split()[1])
    assert first >= 1500
    with server_on(10000 + 10 * first + 30):
        chosen = int(checkout.run("superbuild/mtr.sh", "debug", "quick")[1].split()[1])
    assert chosen != first


def server_on(port):
    """Waits until the same test of another checkout is done with it."""
    end = time.monotonic() + 600
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:
                raise
            time.sleep(0.05)


def test_ports_that_were_told(checkout, objects, monkeypatch):
    monkeypatch.setenv("MTR_BUILD_THREAD", "420")
    checkout.stand_in("perl", PORTS)
    assert "ports 420" in checkout.run("superbuild/mtr.sh", "debug", "quick")[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")
def test_a_run_leaves_another_its_files(checkout, objects):
    slow = checkout.start("superbuild/mtr.sh", "debug", "slow")
    while not (objects / FILES[1]).exists():
        assert slow.poll() is None
        time.sleep(0.05)
    assert checkout.run("superbuild/mtr.sh", "debug", "quick")[0] == 0
    assert all((objects / file).owner() == "sluice" for file in FILES)
    (checkout.path / "go").touch()
    output, _ = slow.communicate(timeout=600)
    assert "mysqld.my" in output and "component_keyring_file.cnf" in output
    assert not any((objects / file).exists() for file in FILES)
