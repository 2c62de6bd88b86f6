"""Where upstream's tarball comes from, and how it says that it does not."""

import contextlib
import fcntl
import hashlib
import socket
import threading

import pytest
from conftest import ROOT

CONTENT = b"a tarball"
PIN = """UPSTREAM_VERSION=9.7.2
UPSTREAM_FILE=mysql.tar.gz
UPSTREAM_SHA256={sum}
UPSTREAM_SIZE=9000000
UPSTREAM_URLS=http://127.0.0.1:{port}/mysql.tar.gz
DEBIAN_SOURCE=mysql
DEBIAN_SUITE=unstable
DEBIAN_ACCEPT=x
"""


@contextlib.contextmanager
def site(answer):
    """Takes connections on loopback and sends each the answer, then keeps quiet."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    kept.append(connection)
                    connection.recv(4096)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        for connection in kept:
            connection.close()


def http(length, content):
    return f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode() + content


@pytest.fixture
def fetch(checkout, tmp_path):
    checkout.stand_in("apt-get", "exit 1")
    cache = tmp_path / "cache"

    def variables(port):
        pin = checkout.path / "pin"
        pin.write_text(PIN.format(sum=hashlib.sha256(CONTENT).hexdigest(), port=port))
        return {"XDG_CACHE_HOME": str(cache), "UPSTREAM_PIN": str(pin)}

    return checkout, variables, cache / "sluice"


def test_a_download(fetch):
    checkout, variables, cache = fetch
    with site(http(len(CONTENT), CONTENT)) as port:
        status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(port))
    assert status == 0, output
    assert (cache / "mysql.tar.gz").read_bytes() == CONTENT


def test_a_stalled_download_ends(fetch):
    checkout, variables, _ = fetch
    with site(http(1000000, b"the beginning")) as port:
        stalled = variables(port) | {"UPSTREAM_STALLED": "2"}
        status, output = checkout.run("superbuild/upstream.sh", "fetch", **stalled)
    assert status == 1
    assert "Operation too slow" in output and "was found nowhere" in output


def test_who_waits_for_the_lock_says_so(fetch):
    checkout, variables, cache = fetch
    cache.mkdir(parents=True)
    with (cache / "lock").open("w") as lock, site(http(len(CONTENT), CONTENT)) as port:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = checkout.start("superbuild/upstream.sh", "fetch", **variables(port))
        assert "waiting for another download" in process.stdout.readline()
        fcntl.flock(lock, fcntl.LOCK_UN)
        process.communicate(timeout=600)
    assert process.returncode == 0


def test_a_full_disk(fetch):
    checkout, variables, cache = fetch
    checkout.stand_in("df", "echo Avail; echo 5M")
    status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(1))
    assert status == 1
    assert f"{cache} has 5 MB free, and the download takes 9 MB" in output


def test_no_such_tarball(fetch):
    checkout, variables, _ = fetch
    status, output = checkout.run(
        "superbuild/upstream.sh", "fetch", UPSTREAM_TARBALL="no/such", **variables(1)
    )
    assert status == 1
    assert (
        f"UPSTREAM_TARBALL=no/such: no such file (a relative path is taken from {checkout.path})"
        in output
    )


def test_make_passes_an_absolute_path(checkout):
    (checkout.path / "superbuild" / "upstream.sh").write_text(
        "#!/bin/bash\nenv | grep ^UPSTREAM_\n"
    )
    status, output = checkout.run("make", "upstream", "UPSTREAM_TARBALL=../my tarball")
    assert status == 0
    assert f"UPSTREAM_TARBALL={checkout.path.parent}/my tarball\n" in output


def test_ci_passes_an_absolute_path(checkout):
    script = checkout.path / ".ci" / "run"
    script.parent.mkdir()
    script.write_text((ROOT / ".ci" / "run").read_text())
    script.chmod(0o755)
    (checkout.path / "Makefile").write_text(
        ".PHONY: upstream\ndeps:\nupstream:\n\t@false\ntest:\n\t@echo tarball $(UPSTREAM_TARBALL) $(UPSTREAM_SHA256)\n"
    )
    shared = checkout.path.parent / "shared" / "upstream"
    shared.mkdir(parents=True)
    (shared / "SHA256SUMS").write_text("abc *repack.tar.xz\n")
    checkout.stand_in("ccache", "echo /nowhere")
    status, output = checkout.run(".ci/run")
    assert status == 0, output
    assert f"tarball {shared}/repack.tar.xz abc" in output


def test_a_folder_that_is_something_else_is_not_replaced(checkout):
    (checkout.path / "mine").mkdir()
    (checkout.path / "mine" / "letter").touch()
    status, output = checkout.run("superbuild/upstream.sh", "unpack", "mine")
    assert status == 1 and "is no unpacked MySQL source" in output
    assert (checkout.path / "mine/letter").exists()
