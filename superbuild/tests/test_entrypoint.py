"""The entry point of the container image, with a server that was built and without an image."""

import bz2
import fcntl
import gzip
import lzma
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pymysql
import pytest
from conftest import ROOT
from loopback import free_port

IMAGE = ROOT / "packaging/image"
AS_USER = ROOT / "superbuild/as-user.sh"
PASSWORD = r"""it's "all" \ & %_ `ours` ü"""


class Container:
    """What a container would give the entry point: folders, variables, a command."""

    def __init__(self):
        # A socket's path is limited.
        self.home = Path(tempfile.mkdtemp(prefix="sluice-entrypoint-", dir="/tmp"))
        self.data, self.scripts = self.home / "data", self.home / "scripts"
        self.log = self.home / "log"
        self.path = os.environ["PATH"]
        self.command = ()
        self.process = None
        self.data.mkdir()
        self.scripts.mkdir()
        # No folder in the root of this machine.
        text = (IMAGE / "entrypoint.sh").read_text()
        self.entrypoint = self.home / "entrypoint.sh"
        self.entrypoint.write_text(
            text.replace("scripts=/docker-entrypoint-initdb.d", f"scripts={self.scripts}")
        )
        self.entrypoint.chmod(0o755)
        assert str(self.scripts) in self.entrypoint.read_text()

    def stand_in(self):
        """A server that says where its data would be, and that it was started; clients that write down SQL."""
        self.program(
            "mysqld",
            'case "$*" in\n'
            "*--no-such*) echo '[ERROR] unknown variable no-such'; exit 1 ;;\n"
            f"*--verbose*) echo ' socket creation'; echo '------- -------'; echo 'datadir  {self.data}/'\n"
            f"echo 'socket  {self.home}/s' ;;\n"
            f"*--initialize*) touch {self.data}/mysql.ibd ;;\n"
            "*--skip-networking*) trap 'exit 0' TERM; while :; do sleep 0.1; done ;;\n"
            '*) echo "started $*"; env | grep PASSWORD || true ;;\nesac',
        )
        self.program("mysqladmin", "")
        self.program("mysql", f"cat >>{self.home}/sql")
        self.path = f"{self.home}/bin:{self.path}"

    def program(self, name, text):
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    def server(self):
        for preset in ("debug", "release"):
            objects = ROOT / "build" / preset / "obj"
            if (objects / "runtime_output_directory/mysqld").is_file():
                break
        else:
            raise AssertionError("no server is built; make debug builds one")
        self.port = free_port()
        self.path = f"{objects}/runtime_output_directory:{self.path}"
        self.command = (
            "mysqld",
            "--no-defaults",
            f"--datadir={self.data}",
            f"--basedir={objects}",
            f"--lc-messages-dir={objects}/share",
            f"--socket={self.home}/s",
            f"--pid-file={self.home}/pid",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--loose-mysqlx=OFF",
            "--innodb-flush-log-at-trx-commit=0",
        )

    def script(self, name, text, mode=0o644):
        (self.scripts / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        (self.scripts / name).chmod(mode)

    def start(self, *command, **variables):
        subprocess.run([AS_USER, "--own", self.home], check=True)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("MYSQL_")}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [AS_USER, self.entrypoint, *(command or self.command)],
                cwd="/",
                env=inherited | {"PATH": self.path, "LC_ALL": "C.UTF-8"} | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # To be found by whoever has to end it.
                start_new_session=True,
            )

    def run(self, *command, **variables):
        """Exit status and what was said."""
        self.start(*command, **variables)
        return self.process.wait(timeout=1800), self.log.read_text()

    def until(self, condition):
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)

    def connect(self, user="root", password="", **more):
        # An account whose password has expired may not even set autocommit.
        return pymysql.connect(
            unix_socket=f"{self.home}/s",
            user=user,
            password=password.encode(),
            autocommit=None,
            **more,
        )

    def up(self):
        """The server itself is up, on the network, too."""
        self.until(lambda: self.healthy())

    def healthy(self):
        return (
            subprocess.run(
                [IMAGE / "healthcheck.sh"],
                env={"PATH": self.path, "MYSQL_TCP_PORT": str(self.port)},
                check=False,
            ).returncode
            == 0
        )

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=1800)

    def left(self):
        return sorted(p.name for p in self.data.iterdir())

    def processes(self):
        """Whatever runs on this data directory."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = entry.read_bytes()
            except OSError:
                continue
            if f"--datadir={self.data}".encode() in line or str(self.scripts).encode() in line:
                found.append(int(entry.parent.name))
        return found

    def await_end(self):
        """Nothing uses the data directory. A process that is ending loses its command line
        before its files: only the lock says that it has none of them."""
        while self.processes():
            time.sleep(0.1)
        folder = os.open(self.data, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        os.close(folder)

    def remove(self):
        while found := self.processes():
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if self.process:
                self.process.poll()
            time.sleep(0.1)
        shutil.rmtree(self.home)


def ask(connection, statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


@pytest.fixture
def container():
    container = Container()
    yield container
    container.remove()


@pytest.fixture
def stand_in(container):
    container.stand_in()
    return container


@pytest.fixture
def server(container):
    container.server()
    return container


# What needs no server


@pytest.mark.parametrize(
    "variables, says",
    [
        ({}, ["MYSQL_ROOT_PASSWORD ", "MYSQL_RANDOM_ROOT_PASSWORD=yes", "_FILE"]),
        ({"MYSQL_RANDOM_ROOT_PASSWORD": "no"}, ["nothing says what root's password"]),
        ({"MYSQL_ALLOW_EMPTY_PASSWORD": "maybe"}, ["MYSQL_ALLOW_EMPTY_PASSWORD is 'maybe'"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_RANDOM_ROOT_PASSWORD": "1"}, ["both MYSQL_ROOT_PASSWORD and"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_ROOT_PASSWORD_FILE": "/etc/hostname"}, ["both MYSQL_ROOT_PASSWORD and MYSQL_ROOT_PASSWORD_FILE"]),
        ({"MYSQL_ROOT_PASSWORD_FILE": "/nowhere"}, ["MYSQL_ROOT_PASSWORD_FILE is /nowhere", "cannot read"]),
        ({"MYSQL_ROOT_PASSWORD_FILE": "/etc"}, ["MYSQL_ROOT_PASSWORD_FILE is /etc", "cannot read"]),
        ({"MYSQL_ROOT_PASSWORD_FILE": "/dev/null"}, ["MYSQL_ROOT_PASSWORD_FILE is /dev/null", "empty"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_USER": "me"}, ["MYSQL_USER is set, and MYSQL_PASSWORD is not"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_PASSWORD": "b"}, ["MYSQL_PASSWORD is set, and MYSQL_USER is not"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_USER": "root", "MYSQL_PASSWORD": "b"}, ["MYSQL_USER is root"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_USER": "mysql.sys", "MYSQL_PASSWORD": "b"}, ["MYSQL_USER is mysql.sys"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_USER": "u" * 33, "MYSQL_PASSWORD": "b"}, ["MYSQL_USER is longer than 32"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_DATABASE": "Mysql"}, ["MYSQL_DATABASE is Mysql"]),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_DATABASE": "d" * 65}, ["MYSQL_DATABASE is longer than 64"]),
    ],
)  # fmt: skip
def test_bad_values_are_named_before_anything_is_written(stand_in, variables, says):
    status, output = stand_in.run("mysqld", **variables)
    assert status == 1 and "started" not in output, output
    for words in says:
        assert words in output
    assert stand_in.left() == []


def test_options_that_the_server_refuses(stand_in):
    status, output = stand_in.run("--no-such", MYSQL_ROOT_PASSWORD="a")
    assert status == 1 and "refuses its options" in output and "unknown variable no-such" in output
    assert stand_in.left() == []


@pytest.mark.parametrize(
    "command, output",
    [
        (("echo", "hello"), "hello\n"),
        (("mysqld", "--version"), "started --version\n"),
        (("--version",), "started --version\n"),
    ],
)
def test_other_commands_run_as_they_are(stand_in, command, output):
    assert stand_in.run(*command) == (0, output)
    assert stand_in.left() == []


@pytest.mark.parametrize(
    "file, says",
    [("mysql/user.frm", "MariaDB or MySQL before 8.0"), ("photo.jpg", "is not empty")],
)
def test_what_is_not_ours_is_left_alone(stand_in, file, says):
    (stand_in.data / file).parent.mkdir(exist_ok=True)
    (stand_in.data / file).touch()
    status, output = stand_in.run("mysqld", MYSQL_ROOT_PASSWORD="a")
    assert status == 1 and says in output and "not changed" in output, output
    assert (stand_in.data / file).exists()


def test_a_data_directory_is_started_and_nothing_is_asked(stand_in):
    (stand_in.data / "mysql.ibd").touch()
    # Nor does the server carry a password.
    passwords = {"MYSQL_ROOT_PASSWORD": "a", "MYSQL_PASSWORD": "b"}
    assert stand_in.run("--port=1", **passwords) == (0, "started --port=1\n")
    assert stand_in.left() == ["mysql.ibd"]


def test_a_script_may_call_the_client_as_in_the_official_image(stand_in):
    stand_in.script("10.sh", '"${mysql[@]}" <<<"CREATE TABLE t (a INT)"\n')
    status, output = stand_in.run(MYSQL_ROOT_PASSWORD="a", MYSQL_INITDB_SKIP_TZINFO="1")
    assert status == 0 and output.endswith("started \n"), output
    assert "CREATE TABLE t" in (stand_in.home / "sql").read_text()
    assert stand_in.left() == ["mysql.ibd"]


def test_what_is_older_than_an_unfinished_initialisation_stays(stand_in):
    data, mark = stand_in.data / "mysql.ibd", stand_in.data / ".entrypoint-unfinished"
    data.touch()
    mark.touch()
    # Root's, as a rule.
    lost = stand_in.data / "lost+found"
    lost.mkdir(mode=0)
    os.utime(lost, (1, 1))
    os.utime(data, (1, 1))
    status, output = stand_in.run(MYSQL_ROOT_PASSWORD="a")
    assert status == 1 and "was not changed" in output and f"remove {mark}" in output, output
    assert data.exists() and mark.exists()
    os.utime(mark, (0, 0))
    status, output = stand_in.run()
    assert status == 1 and "it begins anew" in output, output
    assert stand_in.left() == ["lost+found"]
    lost.chmod(0o755)


def test_a_member_of_a_group_is_not_one_while_its_data_is_made(stand_in):
    """It would be read-only."""
    program = stand_in.home / "bin/mysqld"
    text = program.read_text().replace(
        "*--skip-networking*) ", '*--skip-networking*) echo "first $*"; '
    )
    program.write_text(text)
    status, output = stand_in.run(MYSQL_ROOT_PASSWORD="a", MYSQL_INITDB_SKIP_TZINFO="yes")
    option = "--loose-group-replication-start-on-boot=OFF"
    assert status == 0 and option in output.partition("first ")[2].partition("\n")[0], output
    assert option not in output.partition("started ")[2], output


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize(
    "file, marked, given_away",
    [("photo.jpg", False, False), ("mysql.ibd", False, True), ("mysql.ibd", True, False)],
)
def test_root_gives_away_only_what_is_ours(stand_in, file, marked, given_away, is_link):
    if is_link:
        stand_in.data.rename(stand_in.home / "volume")
        stand_in.data.symlink_to("volume")
    (stand_in.data / file).touch()
    if marked:  # a backup, in a volume whose initialisation did not end
        os.utime(stand_in.data / file, (1, 1))
        (stand_in.data / ".entrypoint-unfinished").touch()
    stand_in.program("id", "echo 0")
    stand_in.program("chown", 'echo "chown $1"; shift 3; stat --format=%F -- "$@"')
    stand_in.program("setpriv", "")
    # Not for as-user.sh.
    text = stand_in.entrypoint.read_text().replace("-user mysql", "-user nobody")
    stand_in.entrypoint.write_text(text.replace("\nset ", f"\nPATH={stand_in.path}\nset ", 1))
    stand_in.path = os.environ["PATH"]
    status, output = stand_in.run()
    assert status == (0 if given_away else 1), output
    given = "--no-dereference\ndirectory\nregular empty file\n" if given_away else ""
    assert output.partition("chown ")[2] == given, output


def test_a_link_that_leads_to_what_is_not_ours(stand_in):
    other = stand_in.home / "other"
    stand_in.data.rename(other)
    stand_in.data.symlink_to(other)
    (other / "photo.jpg").touch()
    status, output = stand_in.run(MYSQL_ROOT_PASSWORD="a")
    assert status == 1 and "is not empty" in output, output
    assert stand_in.left() == ["photo.jpg"]


def test_a_folder_that_cannot_be_written_to(stand_in):
    stand_in.data.chmod(0o555)
    status, output = stand_in.run("mysqld", MYSQL_ROOT_PASSWORD="a")
    assert status == 1 and f"cannot write to {stand_in.data}" in output, output
    assert "chown" in output


# What does


def compressed(statement):
    zstd = subprocess.run(["zstd", "-c"], input=statement, capture_output=True, check=True).stdout
    return {
        "sql": statement,
        "sql.bz2": bz2.compress(statement),
        "sql.gz": gzip.compress(statement),
        "sql.xz": lzma.compress(statement),
        "sql.zst": zstd,
    }


def test_all_that_can_be_asked_for(server):
    (server.home / "secret").write_text(PASSWORD + "\n")
    server.script("00.sql", "CREATE TABLE t (how VARCHAR(20) PRIMARY KEY);")
    unpackers = {
        "sql": "cat",
        "sql.bz2": "bzip2",
        "sql.gz": "gzip",
        "sql.xz": "xz",
        "sql.zst": "zstd",
    }
    expected = set()
    for suffix in filter(lambda s: shutil.which(unpackers[s]), unpackers):
        statement = f"INSERT INTO t VALUES ('{suffix}');".encode()
        server.script(f"10.{suffix}", compressed(statement)[suffix])
        expected.add(suffix)
    server.script(
        "20.sh",
        '#!/bin/sh\nexec mysql --no-defaults -S "$(dirname "$0")/../s" -uroot -p"$MYSQL_ROOT_PASSWORD" '
        "-e \"INSERT INTO $MYSQL_DATABASE.t VALUES ('program')\"\n",
        0o755,
    )
    server.script(
        "30.sh", "echo \"INSERT INTO t VALUES ('read in')\" | docker_process_sql\nexit 0\n"
    )
    server.script("40.txt", "what is this?\n")
    server.start(
        MYSQL_ROOT_PASSWORD_FILE=str(server.home / "secret"),
        MYSQL_DATABASE="shop_1",
        MYSQL_USER="it's me",
        MYSQL_PASSWORD=PASSWORD,
        MYSQL_INITDB_SKIP_TZINFO="yes",
    )
    server.up()
    log = server.log.read_text()
    assert "leaving out" in log and "40.txt" in log
    root = server.connect(password=PASSWORD)
    assert {how for (how,) in ask(root, "SELECT how FROM shop_1.t")} == expected | {
        "program",
        "read in",
    }
    assert ask(root, "SELECT user, host FROM mysql.user WHERE user = 'root' ORDER BY host") == (
        ("root", "%"),
        ("root", "localhost"),
    )
    # The name of the database is no pattern.
    ask(root, "CREATE DATABASE shopx1")
    me = server.connect("it's me", PASSWORD, database="shop_1")
    ask(me, "CREATE TABLE mine (a INT)")
    with pytest.raises(pymysql.err.OperationalError, match="denied"):
        server.connect("it's me", PASSWORD, database="shopx1")
    for password in ("", "wrong"):
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            server.connect(password=password)
    # The check of its health is no login, which could lock an account.
    ask(
        root,
        "ALTER USER 'root'@'%', 'root'@'localhost' FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME UNBOUNDED",
    )
    assert server.healthy()
    server.connect(password=PASSWORD)
    pymysql.connect(host="127.0.0.1", port=server.port, user="root", password=PASSWORD.encode())
    # The process that runs from now on does not carry them.
    environment = Path(f"/proc/{server.process.pid}/environ").read_text()
    assert "ours" not in environment
    assert server.left().count(".entrypoint-unfinished") == 0
    assert server.stop() == 0
    assert "Shutdown complete" in server.log.read_text()

    # Again on the same volume: nothing is asked for, and nothing is run a second time.
    server.start()
    server.up()
    root = server.connect(password=PASSWORD)
    assert ask(root, "SELECT COUNT(*) FROM shop_1.t") == ((len(expected) + 2,),)
    assert server.stop() == 0


def test_a_password_that_is_made_and_expires(server):
    server.start(
        MYSQL_RANDOM_ROOT_PASSWORD="yes",
        MYSQL_ONETIME_PASSWORD="yes",
        MYSQL_ROOT_HOST="localhost",
        MYSQL_INITDB_SKIP_TZINFO="1",
    )
    server.up()
    (password,) = re.findall("GENERATED ROOT PASSWORD: (.*)", server.log.read_text())
    with pytest.raises(pymysql.err.MySQLError, match="1820|1862"):
        ask(server.connect(password=password), "SELECT 1")
    # Until it is changed, by a client that knows how.
    client = ["mysql", "--no-defaults", f"--socket={server.home}/s", "--user=root", "-NB"]
    client += ["--connect-expired-password"]
    done = subprocess.run(
        [*client, "--execute=ALTER USER USER() IDENTIFIED BY 'mine'"],
        env={"PATH": server.path, "MYSQL_PWD": password},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    # Nobody but the container itself is root.
    root = server.connect(password="mine")
    assert ask(root, "SELECT host FROM mysql.user WHERE user = 'root'") == (("localhost",),)


@pytest.mark.parametrize(
    "name, text, mode",
    [
        ("50.sql", "CREATE TABLE here (a INT); CREATE TABEL there (a INT);", 0o644),
        ("50.sql.gz", "this is not compressed", 0o644),
        ("50.sh", "#!/bin/sh\nexit 3\n", 0o755),
        ("50.sh", "false\necho this is not reached\n", 0o644),
    ],
)
def test_nothing_stays_of_an_initialisation_that_fails(server, name, text, mode):
    server.script(name, text, mode)
    status, output = server.run(
        MYSQL_ROOT_PASSWORD="a", MYSQL_DATABASE="shop", MYSQL_INITDB_SKIP_TZINFO="yes"
    )
    assert status == 1 and "not reached" not in output, output
    assert f"{name} failed" in output and "nothing of it was kept" in output
    assert server.left() == [] and server.processes() == []


def hold(server):
    """A script that goes on for ever; returns when it runs."""
    server.script(
        "50.sh",
        f"#!/bin/sh\ntouch {server.data}/of-a-script\nps -o pgid= $$ >{server.home}/group.new\n"
        f"mv {server.home}/group.new {server.home}/group\nexec sleep 1000000\n",
        0o755,
    )
    server.start(MYSQL_ROOT_PASSWORD="a", MYSQL_INITDB_SKIP_TZINFO="yes")
    server.until((server.home / "group").exists)
    assert not server.healthy()
    return int((server.home / "group").read_text())


def test_an_initialisation_is_stopped_at_once(server):
    hold(server)
    assert server.stop() == 143
    assert "was stopped; nothing of it was kept" in server.log.read_text()
    assert server.left() == [] and server.processes() == []


def test_two_containers_on_one_volume(server):
    hold(server)
    first, log = server.process, server.log
    server.log = server.home / "second"
    status, output = server.run(MYSQL_ROOT_PASSWORD="b")
    assert status == 1 and "another container uses" in output, output
    server.process, server.log = first, log
    assert first.poll() is None and "of-a-script" in server.left()
    assert server.stop() == 143


def test_an_initialisation_that_was_killed_begins_anew(server):
    group = hold(server)
    # All of a container dies at once.
    server.process.kill()
    os.killpg(group, signal.SIGKILL)
    server.process.wait(timeout=1800)
    server.await_end()
    assert ".entrypoint-unfinished" in server.left() and "of-a-script" in server.left()
    (server.scripts / "50.sh").unlink()
    server.start(MYSQL_ROOT_PASSWORD="b", MYSQL_INITDB_SKIP_TZINFO="yes")
    server.up()
    assert "did not end; it begins anew" in server.log.read_text()
    assert "of-a-script" not in server.left()
    ask(server.connect(password="b"), "DO 0")
    assert server.stop() == 0
