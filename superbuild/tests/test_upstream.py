"""Where upstream's tarball comes from, and how it says that it does not."""

import contextlib
import fcntl
import hashlib
import io
import socket
import tarfile
import threading

import pytest
from conftest import ROOT

CONTENT = b"a tarball"
WRONG = b"something else"
PIN = """UPSTREAM_VERSION=9.7.2
UPSTREAM_FILE=mysql.tar.gz
UPSTREAM_SHA256={sum}
UPSTREAM_SIZE=9000000
UPSTREAM_URLS=http://127.0.0.1:{port}/mysql.tar.gz
DEBIAN_SOURCE=mysql
DEBIAN_SUITE=unstable
DEBIAN_ACCEPT='^9\\.7\\.[0-9]+$'
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


def sum_of(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def fetch(checkout, tmp_path):
    checkout.stand_in("apt-get", "exit 1")
    cache = tmp_path / "cache"

    def variables(port):
        pin = checkout.path / "pin"
        pin.write_text(PIN.format(sum=sum_of(CONTENT), port=port))
        return {"XDG_CACHE_HOME": str(cache), "UPSTREAM_PIN": str(pin)}

    return checkout, variables, cache / "sluice"


def test_a_download(fetch):
    checkout, variables, cache = fetch
    with site(http(len(CONTENT), CONTENT)) as port:
        status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(port))
    assert status == 0, output
    assert (cache / "mysql.tar.gz").read_bytes() == CONTENT


def test_a_download_that_is_not_the_pinned_file_is_not_kept(fetch):
    checkout, variables, cache = fetch
    with site(http(len(WRONG), WRONG)) as port:
        status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(port))
    assert status == 1
    assert f"expected sha256 {sum_of(CONTENT)}" in output
    assert f"found    sha256 {sum_of(WRONG)}" in output
    assert "was found nowhere" in output and "UPSTREAM_TARBALL=/path/to/it" in output
    assert not list(cache.glob("mysql*"))


def test_a_damaged_file_in_the_cache_is_fetched_again(fetch):
    checkout, variables, cache = fetch
    cache.mkdir(parents=True)
    (cache / "mysql.tar.gz").write_bytes(WRONG)
    with site(http(len(CONTENT), CONTENT)) as port:
        status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(port))
    assert status == 0 and "removed from the download cache and fetched again" in output
    assert (cache / "mysql.tar.gz").read_bytes() == CONTENT


def test_a_cache_that_cannot_be_made(fetch):
    checkout, variables, cache = fetch
    cache.parent.touch()
    status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(1))
    assert status == 1 and "XDG_CACHE_HOME names another place" in output


@pytest.mark.parametrize(
    ("version", "signed", "content", "kept", "told"),
    [
        ("9.7.2", CONTENT, CONTENT, "mysql.tar.gz", ""),
        ("9.7.2", CONTENT, WRONG, None, "wrong checksum"),
        ("9.7.3", WRONG, WRONG, "mysql_9.7.3.orig.tar.gz", "WARNING: the pinned 9.7.2 is not"),
        ("9.7.3", CONTENT + WRONG, WRONG, None, "wrong checksum"),
        ("9.7.1", WRONG, WRONG, None, "that may stand in for 9.7.2"),
        ("9.8.0", WRONG, WRONG, None, "that may stand in for 9.7.2"),
    ],
)
def test_what_the_debian_archive_has(fetch, version, signed, content, kept, told):
    """Its index has signed the checksum of each version."""
    checkout, variables, cache = fetch
    (checkout.path / "superbuild/debian/archive.sh").write_text("#!/bin/sh\necho http://none\n")
    name = f"mysql_{version}.orig.tar.gz"
    checkout.stand_in(
        "apt-cache",
        f"echo 'Version: {version}-1'; echo Checksums-Sha256:; echo ' {sum_of(signed)} 9 {name}'",
    )
    checkout.stand_in(
        "apt-get", f'case " $* " in *" source "*) printf %s "{content.decode()}" >{name} ;; esac'
    )
    status, output = checkout.run("superbuild/upstream.sh", "fetch", **variables(1))
    assert status == (0 if kept else 1) and told in output, output
    left = {file.name: file.read_bytes() for file in cache.glob("mysql*")}
    assert left == ({kept: content} if kept else {})


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


def test_a_tarball_that_is_another_file(fetch):
    checkout, variables, _ = fetch
    (checkout.path / "mine").write_bytes(WRONG)
    status, output = checkout.run(
        "superbuild/upstream.sh", "fetch", UPSTREAM_TARBALL="mine", **variables(1)
    )
    assert status == 1
    assert f"expected sha256 {sum_of(CONTENT)}" in output
    assert f"found    sha256 {sum_of(WRONG)}" in output
    assert "UPSTREAM_TARBALL is not the file it should be" in output


SOURCE = {"MYSQL_VERSION": b"MYSQL_VERSION_MAJOR=9\n", "sql/a.cc": bytes(100_000)}


def unpack(checkout, files, length=None):
    """upstream.sh unpack of a repack of these files, or of its first bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"mysql-9.7.2/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    content = packed.getvalue()[:length]
    (checkout.path / "repack.tar").write_bytes(content)
    return checkout.run(
        "superbuild/upstream.sh",
        "unpack",
        "build/upstream",
        UPSTREAM_TARBALL="repack.tar",
        UPSTREAM_SHA256=sum_of(content),
    )


def test_a_tarball_is_unpacked_once(checkout):
    (checkout.path / "upstream/omit").write_text("# what is not needed\nextra\n")
    files = {**SOURCE, "extra/large": b"x", "sql/extra/small": b"x"}
    for _ in range(2):
        status, output = unpack(checkout, files)
        assert status == 0, output
        tree = checkout.path / "build/upstream"
        there = {str(f.relative_to(tree)): f.read_bytes() for f in tree.rglob("*") if f.is_file()}
        assert there == {**SOURCE, "sql/extra/small": b"x"}
    assert "unpacking" not in output
    # It comes back if somebody has removed it.
    tree.rename(tree.with_name("elsewhere"))
    status, output = unpack(checkout, files)
    assert status == 0 and (tree / "MYSQL_VERSION").exists(), output


@pytest.mark.parametrize(
    ("files", "length", "free", "told"),
    [
        (SOURCE, 50_000, None, "could not be unpacked; build/upstream is left as it was"),
        ({"sql/a.cc": b"x"}, None, None, "repack.tar holds no MySQL source tree"),
        (SOURCE, None, "5M", "has 5 MB free, and the unpacked source takes 1100 MB"),
    ],
)
def test_what_cannot_be_unpacked_leaves_the_tree_as_it_was(checkout, files, length, free, told):
    assert unpack(checkout, SOURCE)[0] == 0
    stamp = checkout.path / "build/upstream.stamp"
    stamp.write_text("an older pin\n")
    if free:
        checkout.stand_in("df", f"echo Avail; echo {free}")
    status, output = unpack(checkout, files, length)
    assert status == 1 and told in output, output
    assert (checkout.path / "build/upstream/sql/a.cc").read_bytes() == SOURCE["sql/a.cc"]
    assert stamp.read_text() == "an older pin\n"
    if length:  # a full disk would stay so
        assert not (checkout.path / "build/upstream.partial").exists()


def test_an_older_tree_that_was_removed_in_part(checkout):
    """The command was killed as it did so."""
    assert unpack(checkout, SOURCE)[0] == 0
    (checkout.path / "build/upstream.stamp").write_text("an older pin\n")
    checkout.stand_in(
        "rm",
        """for path; do
        [ ! -e "$path/MYSQL_VERSION" ] || { /bin/rm "$path/MYSQL_VERSION"; kill -9 $PPID; exit; }
        done; exec /bin/rm "$@\"""",
    )
    assert unpack(checkout, SOURCE)[0] == -9
    (checkout.programs / "rm").unlink()
    status, output = unpack(checkout, SOURCE)
    assert status == 0, output
    assert sorted(file.name for file in (checkout.path / "build").glob("upstream*")) == [
        "upstream",
        "upstream.lock",
        "upstream.stamp",
    ]


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
