"""What the maintainer scripts do, in a folder instead of the machine's root."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT

STAND_INS = {
    "mysqld": 'echo "mysqld $*"; case "$*" in *--initialize*) touch "$DATA/mysql.ibd" ;;\n'
    '*) echo $$ >"$ROOT/run/mysqld/mysqld.pid"; exec sleep 0.2 ;; esac',
    "mysql": "",
    "sync": 'echo "sync $*"',
    "my_print_defaults": 'cat "$ROOT/datadir" 2>/dev/null || true',
    "update-alternatives": 'echo "alternatives $*"\n'
    'case $1 in --install) [ -e "$2" ] || ln -s "$4" "$2" ;; --remove) rm -f "$ROOT/etc/mysql/my.cnf" ;; esac',
    "getent": "",
    "aa-enabled": "exit 1",
    "chown": "",
    "install": 'for last; do :; done; mkdir -p "$last"',
    "systemctl": 'echo "systemctl $*"; [ -e "$ROOT/failed" ]',
}


class Machine:
    def __init__(self, root: Path):
        self.root = root
        for folder in (
            "var/lib",
            "run/mysqld",
            "run/systemd/system",
            "etc/mysql",
            "usr/sbin",
            "bin",
        ):
            (root / folder).mkdir(parents=True)
        (root / "etc/mysql/sluice.cnf").write_text("")
        for name, text in STAND_INS.items():
            self.stand_in(name, text)
        self.data = root / "var/lib/mysql"

    def stand_in(self, name, text):
        (self.root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.root / "bin" / name).chmod(0o755)

    def fill(self, folder):
        """What a server's data directory holds."""
        (folder / "mysql").mkdir(parents=True)
        (folder / "mysql.ibd").write_text("data")

    def run(self, script, *arguments, **variables):
        text = (ROOT / "packaging/debian" / f"sluice-server.{script}").read_text()
        for top in ("var", "run", "etc", "usr"):
            text = text.replace(f"/{top}/", f"{self.root}/{top}/")
        text = text.replace("=/run", f"={self.root}/run")
        done = subprocess.run(
            ["sh", "-c", text, script, *arguments],
            env={"PATH": f"{self.root}/bin:{os.environ['PATH']}", "ROOT": str(self.root)}
            | {"DATA": str(self.data)}
            | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_a_first_installation_makes_a_data_directory(machine):
    status, output = machine.run("postinst", "configure", "")
    assert status == 0 and "--initialize" in output, output
    assert (machine.data / "mysql.ibd").exists()


@pytest.mark.parametrize("parent", ["exec sleep 1000", "wait"])
def test_the_mark_stays_until_the_server_has_ended(machine, parent):
    """A process that nobody collects has ended, too; and without /proc it is waited for."""
    machine.stand_in(
        "server",
        """trap 'sleep 1; ls "$ROOT/var/lib/mysql-files" >"$ROOT/at-stop"; exit' TERM
        echo $$ >"$ROOT/run/mysqld/mysqld.pid"
        while :; do sleep 0.1; done""",
    )
    machine.stand_in("parent", f'echo $$ >"$ROOT/parent"; server & {parent}')
    if parent == "wait":
        machine.stand_in("grep", 'case "$*" in */proc/*) exit 2 ;; esac; exec /bin/grep "$@"')
    machine.stand_in(
        "mysqld",
        """case "$*" in *--initialize*) touch "$DATA/mysql.ibd"; exit ;; esac
        parent >/dev/null 2>&1 &
        until [ -s "$ROOT/run/mysqld/mysqld.pid" ]; do sleep 0.1; done""",
    )
    try:
        status, output = machine.run("postinst", "configure", "")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((machine.root / "parent").read_text()), signal.SIGKILL)
    assert status == 0 and (machine.data / "mysql.ibd").exists(), output
    assert (machine.root / "at-stop").read_text() == "sluice-server-initialize.sql\n"
    assert list((machine.root / "var/lib/mysql-files").iterdir()) == []


def test_the_mark_is_on_disk_before_the_data(machine):
    output = machine.run("postinst", "configure", "")[1]
    assert 0 <= output.find("sync ") < output.find("--initialize"), output
    assert "sluice-server-initialize.sql" in output.partition("sync ")[2].partition("\n")[0]


def test_temporary_files_that_are_roots_alone_are_not_the_servers(machine):
    machine.stand_in("mysqld", f'echo "TMPDIR=${{TMPDIR-none}}"\n{STAND_INS["mysqld"]}')
    status, output = machine.run("postinst", "configure", "", TMPDIR="/tmp/user/0")
    assert status == 0 and output.count("TMPDIR=none") == 2, output


def test_what_a_removed_server_leaves_is_in_nobodys_way(machine):
    machine.fill(machine.data)
    units, rotation = machine.root / "etc/systemd/system", machine.root / "etc/logrotate.d"
    units.mkdir(parents=True)
    rotation.mkdir()
    (units / "mysql.service").symlink_to("mariadb.service")
    # The administrator's.
    (units / "mysqld.service").symlink_to("/dev/null")
    (rotation / "mariadb").write_text("/var/log/mysql/*.log {}\n")
    status, output = machine.run("postinst", "configure", "")
    assert status == 0 and "mariadb.dpkg-bak" in output, output
    assert [path.name for path in units.iterdir()] == ["mysqld.service"]
    assert [path.name for path in rotation.iterdir()] == ["mariadb.dpkg-bak"]


def test_an_upgrade_makes_none(machine):
    machine.fill(machine.data)
    status, output = machine.run("postinst", "configure", "1")
    assert status == 0 and "--initialize" not in output, output


def test_a_link_leads_to_the_data(machine):
    machine.fill(machine.root / "srv")
    machine.data.symlink_to(machine.root / "srv")
    status, output = machine.run("postinst", "configure", "1")
    assert status == 0 and "--initialize" not in output, output
    assert (machine.data / "mysql.ibd").read_text() == "data"


def test_data_that_is_not_mounted_is_not_made_anew(machine):
    (machine.data / "lost+found").mkdir(parents=True)
    status, output = machine.run("postinst", "configure", "1")
    assert status == 1 and "was in use before" in output, output
    assert "--initialize" not in output
    (machine.data / "lost+found").rmdir()
    # Its parent may be what is mounted.
    machine.data.rmdir()
    status, output = machine.run("postinst", "configure", "1")
    assert status == 1 and "--initialize" not in output, output
    status, output = machine.run("postinst", "configure", "1", SLUICE_NEW_DATA="yes")
    assert status == 0 and "--initialize" in output, output


@pytest.mark.parametrize("name", ["mysql.cnf", "my.cnf.migrated"])
def test_options_of_a_file_that_was_my_cnf(machine, name):
    """No server starts without its options: its data may be elsewhere."""
    old = machine.root / "etc/mysql" / name
    old.write_text("!includedir /etc/mysql/conf.d/\n[mysqld]\ndatadir = /srv/data\n")
    status, output = machine.run("postinst", "configure", "")
    assert status == 1 and f"{name} sets options" in output, output
    assert "--initialize" not in output
    # Who has Sluice already was told, or has it on purpose.
    machine.fill(machine.data)
    assert machine.run("postinst", "configure", "1")[0] == 0
    old.write_text("!includedir /etc/mysql/conf.d/\n[mysql]\n# [mysqld]\n")
    assert machine.run("postinst", "configure", "")[0] == 0


def test_options_of_a_file_that_is_still_read(machine):
    old = machine.root / "etc/mysql/mysql.cnf"
    old.write_text("[mysqld]\n")
    (machine.root / "etc/mysql/my.cnf").symlink_to(old)
    status, output = machine.run("postinst", "configure", "")
    assert status == 0 and "does not lead to" in output, output


def test_the_plugin_of_root_may_be_loaded_already(machine):
    machine.stand_in("mysqld", f'cat "$ROOT"/var/lib/mysql-files/*.sql\n{STAND_INS["mysqld"]}')
    assert "INSTALL PLUGIN auth_socket" in machine.run("postinst", "configure", "")[1]
    for option in ("--plugin-load-add=auth_socket.so", "--plugin_load=a=b.so;auth_socket.so"):
        (machine.data / "mysql.ibd").unlink()
        (machine.root / "datadir").write_text(f"{option}\n--plugin-load-add=lru_stats.so\n")
        status, output = machine.run("postinst", "configure", "")
        assert status == 0 and "ALTER USER" in output and "INSTALL PLUGIN" not in output, output


def test_the_proof_is_asked_of_this_server(machine):
    machine.stand_in("mysql", 'echo "mysql $*"')
    output = machine.run("postinst", "configure", "")[1]
    assert "--protocol=socket --host=localhost" in output.partition("\nmysql ")[2], output


@pytest.mark.parametrize("option", ["--bind-address", "--bind_address"])
def test_a_server_that_other_machines_do_not_reach(machine, option):
    """Oracle's listened on all addresses."""
    machine.fill(machine.data)
    (machine.root / "datadir").write_text(f"{option}=127.0.0.1\n")
    said = "listens on 127.0.0.1 only"
    assert said in machine.run("postinst", "configure", "")[1]
    assert said not in machine.run("postinst", "configure", "1")[1]
    (machine.root / "datadir").write_text(f"{option}=127.0.0.1\n{option}=*\n")
    assert said not in machine.run("postinst", "configure", "")[1]


def test_what_the_server_is_told_while_a_data_directory_is_made(machine):
    machine.stand_in("my_print_defaults", 'echo "$*" >>"$ROOT/asked"')
    status, output = machine.run("postinst", "configure", "")
    assert status == 0, output
    made, started = re.findall("^mysqld (.*)$", output, re.MULTILINE)
    assert "--initialize" in made and "--init-file=" in started
    # What the message of a failure names, whatever the option files say.
    for arguments in (made, started):
        assert f"--log-error={machine.root}/var/log/mysql/error.log" in arguments
    assert "--loose-group-replication-start-on-boot=OFF" in started
    # The groups that mysqld reads itself.
    assert set((machine.root / "asked").read_text().splitlines()) == {"mysqld server mysqld-9.7"}


def test_the_folder_of_logs_is_made_before_a_start(machine):
    """The purge of another server's package removes it."""
    unit = (ROOT / "packaging/debian/sluice-server.mysql.service").read_text()
    command = re.search(r"^ExecStartPre=\+/bin/sh -c '(.*)'$", unit, re.MULTILINE)[1]
    command = command.replace("/var/", f"{machine.root}/var/")
    machine.stand_in("install", f'echo "$*"\n{STAND_INS["install"]}')
    path = {"PATH": f"{machine.root}/bin:{os.environ['PATH']}"}
    said = [
        subprocess.run(["sh", "-c", command], env=path, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    logs = f"{machine.root}/var/log/mysql"
    assert [done.stdout for done in said] == [f"-d -o mysql -g adm -m 2750 {logs}\n", ""]
    assert Path(logs).is_dir()


@pytest.mark.parametrize(
    ("main", "file", "program", "told"),
    [
        (True, False, "mysqld", True),
        (False, True, "mysqld", True),
        (False, True, "other", False),
        (False, False, "mysqld", False),
    ],
)
def test_a_rotation_tells_a_server_and_no_other_program(machine, main, file, program, told):
    """By systemd, or else by the file of the process, which a killed server leaves."""
    rotation = (ROOT / "packaging/debian/sluice-server.logrotate").read_text()
    text = re.search(r"postrotate\n(.*?)  endscript", rotation, re.DOTALL)[1]
    shutil.copy("/bin/sleep", machine.root / "bin" / program)
    process = subprocess.Popen([machine.root / "bin" / program, "1000"])
    try:
        machine.stand_in("systemctl", f"echo {process.pid if main else 0}")
        if file:
            (machine.root / "run/mysqld/mysqld.pid").write_text(f"{process.pid}\n")
        while Path(f"/proc/{process.pid}/comm").read_text() != f"{program}\n":
            time.sleep(0.01)
        subprocess.run(
            ["sh", "-c", text.replace("/run/", f"{machine.root}/run/")],
            env={"PATH": f"{machine.root}/bin:{os.environ['PATH']}"},
            check=True,
        )
        # Of two signals that wait, the kernel delivers USR1 first.
        process.terminate()
        assert process.wait(60) == -(signal.SIGUSR1 if told else signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def test_an_earlier_installation_that_was_cut_short(machine):
    files = machine.root / "var/lib/mysql-files"
    files.mkdir()
    (files / "sluice-server-initialize.sql").write_text("")
    status, output = machine.run("postinst", "configure", "")
    assert status == 1 and "ended while it made" in output and "kill" not in output, output
    (machine.root / "run/mysqld/mysqld.pid").write_text("4711\n")
    assert "may still run: kill 4711" in machine.run("postinst", "configure", "")[1]


def test_options_that_are_not_read_are_named(machine):
    machine.fill(machine.data)
    own = machine.root / "etc/mysql/my.cnf"
    own.write_text("[mysqld]\n")
    assert "does not lead to" in machine.run("postinst", "configure", "1")[1]
    own.write_text(f"!includedir {machine.root}/etc/mysql/sluice.conf.d/\n")
    assert "does not lead to" not in machine.run("postinst", "configure", "1")[1]
    own.unlink()
    assert "does not lead to" not in machine.run("postinst", "configure", "1")[1]


def test_a_removal_that_was_broken_off_gives_the_options_back(machine):
    machine.fill(machine.data)
    machine.run("postinst", "configure", "1")
    machine.run("prerm", "remove")
    assert not (machine.root / "etc/mysql/my.cnf").exists()
    assert machine.run("postinst", "abort-remove")[0] == 0
    assert (machine.root / "etc/mysql/my.cnf").exists()


def test_a_server_that_does_not_start_is_named(machine):
    machine.fill(machine.data)
    assert "does not start" not in machine.run("postinst", "configure", "1")[1]
    (machine.root / "failed").touch()
    assert "does not start" in machine.run("postinst", "configure", "1")[1]


@pytest.mark.parametrize("other", ["mysqld", "mariadbd"])
def test_a_server_that_took_our_place_keeps_its_data(machine, other):
    machine.fill(machine.data)
    (machine.root / "usr/sbin" / other).write_text("#!/bin/sh\n")
    (machine.root / "usr/sbin" / other).chmod(0o755)
    assert machine.run("postrm", "purge", SLUICE_REMOVE_DATA="yes")[0] == 0
    assert (machine.data / "mysql.ibd").exists()


def test_data_that_is_not_ours_stays(machine):
    (machine.data / "mysql").mkdir(parents=True)
    status, output = machine.run("postrm", "purge", SLUICE_REMOVE_DATA="yes")
    assert status == 0 and "another server's" in output, output
    assert (machine.data / "mysql").exists()


def test_data_goes_when_asked_for(machine):
    machine.fill(machine.data)
    assert "the data stays" in machine.run("postrm", "purge")[1]
    assert (machine.data / "mysql.ibd").exists()
    assert machine.run("postrm", "purge", SLUICE_REMOVE_DATA="yes")[0] == 0
    assert not machine.data.exists()


def test_data_behind_a_link_goes_too(machine):
    machine.fill(machine.root / "srv")
    (machine.root / "srv/lost+found").mkdir()
    machine.data.symlink_to(machine.root / "srv")
    assert machine.run("postrm", "purge", SLUICE_REMOVE_DATA="yes")[0] == 0
    assert [path.name for path in (machine.root / "srv").iterdir()] == ["lost+found"]
