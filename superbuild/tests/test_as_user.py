"""Commands that root calls run as an ordinary user, wherever the checkout lies."""

import os
import subprocess
from pathlib import Path

import pytest

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")


def as_user(checkout, *command):
    return checkout.run("superbuild/as-user.sh", *command)


@pytest.fixture
def mounts():
    run = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return run.returncode == 0


@root
def test_a_folder_that_only_root_can_enter(checkout, tmp_path, mounts):
    """pytest's own folder is one."""
    secret = tmp_path / "secret"
    secret.write_text("not the checkout's")
    assert tmp_path.parent.parent.stat().st_mode & 0o077 == 0
    (checkout.path / "bench").mkdir()
    (checkout.path / "bench" / "pytest.ini").touch()
    status, output = as_user(checkout, "--check")
    if not mounts:
        assert status == 1 and "Move the checkout to where everybody may enter" in output
        return
    assert status == 0, output
    script = f"id -un; cat superbuild/skips | head -n 1; cat {secret}; touch superbuild/x"
    status, output = as_user(checkout, "bash", "-c", script)
    lines = output.splitlines()
    assert lines[:2] == [
        "sluice",
        "# Tests that `make test` may skip, and why. One a line: its name, then the reason. A",
    ]
    assert "No such file" in lines[2] and "Permission denied" in lines[3]
    # Nobody else sees the difference.
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    assert tmp_path.parent.parent.stat().st_mode & 0o077 == 0


@root
def test_no_mount_namespaces(checkout):
    checkout.stand_in("unshare", "exit 1")
    status, output = as_user(checkout, "--check")
    assert status == 1
    assert "Move the checkout to where everybody may enter" in output


@root
def test_a_checkout_that_only_root_can_read(checkout, mounts):
    checkout.path.chmod(0o700)
    status, output = as_user(checkout, "--check")
    assert status == 1
    if mounts:
        assert f"chmod go+rx '{checkout.path}'" in output


@root
def test_folders_that_the_user_owns(checkout):
    status, output = as_user(checkout, "--own", "a/b")
    assert status == 0, output
    assert (checkout.path / "a/b").owner() == "sluice"
    assert (checkout.path / "a").owner() == "root"


def test_an_ordinary_user_stays_who_it_is(checkout):
    checkout.stand_in("id", "echo 1000")
    status, output = as_user(checkout, "bash", "-c", "echo $EUID")
    assert (status, output) == (0, f"{os.geteuid()}\n")
    assert as_user(checkout, "--check") == (0, "")
    assert as_user(checkout, "--own", "a/b")[0] == 0 and (checkout.path / "a/b").is_dir()


@root
def test_a_user_that_may_mount_fuse(checkout, mounts):
    """/dev/fuse may be root's alone, and stays so."""
    device = Path("/dev/fuse")
    if not device.exists() or not mounts:
        pytest.skip("no /dev/fuse, or mounts are refused")
    before = device.stat()
    script = "id -un; test -r /dev/fuse -a -w /dev/fuse && echo may"
    status, output = as_user(checkout, "--fuse", "bash", "-c", script)
    assert status == 0, output
    assert output.splitlines()[0] == "sluice"
    node = "mount -t tmpfs probe /mnt && mknod /mnt/fuse c 10 229"
    refused = subprocess.run(["unshare", "--mount", "sh", "-c", node], check=False).returncode
    assert "may" in output or (refused and "stays root's" in output)
    after = device.stat()
    assert (after.st_mode, after.st_ino, after.st_rdev) == (
        before.st_mode,
        before.st_ino,
        before.st_rdev,
    )
