#!/usr/bin/env python3
"""Starts the container image as users do, with a container runtime and without a daemon.

  test.py IMAGE      build/packages/sluice-*.oci.tar

As root, with umoci and crun (apt-get install umoci crun). Each container has namespaces of its
own, a root file system that it cannot write to, and no network but its loopback. Writes a line a
check; exits with 1 when one failed.
"""

import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
WORK = HERE / "build/image-test"
ROOT_PASSWORD = 'it\'s "all" \\ ours'
# What Docker lets a container do that asks for nothing.
CAPABILITIES = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
]
failed = 0


def check(words, passed, seen=""):
    global failed
    print(f"{'ok     ' if passed else 'FAILED '} image: {words}", flush=True)
    if not passed:
        failed += 1
        print("".join(f"          {line}\n" for line in str(seen).splitlines()[-12:]), end="")


def tool(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Container:
    count = 0

    def __init__(self, volume, *arguments, user=None, mounts=(), **variables):
        Container.count += 1
        self.name = f"sluice-test-{os.getpid()}-{Container.count}"
        self.log = WORK / f"{self.name}.log"
        bundle = WORK / self.name
        bundle.mkdir()
        config = json.loads((WORK / "bundle/config.json").read_text())
        process = config["process"]
        process["terminal"] = False
        process["env"] += [f"{name}={value}" for name, value in variables.items()]
        entry = json.loads((WORK / "image.json").read_text())["config"]
        process["args"] = entry["Entrypoint"] + list(arguments or entry["Cmd"])
        if user is not None:
            process["user"] = {"uid": user, "gid": user}
        kinds = (
            ["bounding", "permitted", "effective"] if process["user"]["uid"] == 0 else ["bounding"]
        )
        process["capabilities"] = {kind: CAPABILITIES for kind in kinds}
        process["noNewPrivileges"] = True
        config["root"] = {"path": str(WORK / "bundle/rootfs"), "readonly": True}
        binds = [(volume, "/var/lib/mysql", "rw"), *((*m, "ro") for m in mounts)]
        config["mounts"] = [m for m in config["mounts"] if m["destination"] != "/var/lib/mysql"]
        config["mounts"] += [
            {"destination": to, "type": "bind", "source": str(what), "options": ["bind", how]}
            for what, to, how in binds
        ]
        config["mounts"] += [
            {"destination": to, "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}
            for to in ("/tmp", "/run/mysqld")
        ]
        config["linux"].pop("resources", None)
        config["linux"].pop("cgroupsPath", None)
        (bundle / "config.json").write_text(json.dumps(config))
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*RUNTIME, "run", f"--bundle={bundle}", self.name],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def inside(self, *command, user="0"):
        return subprocess.run(
            [*RUNTIME, "exec", "--user", user, self.name, *command],
            check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def ask(self, statement, password=ROOT_PASSWORD, user="root"):
        done = self.inside(
            "env", f"MYSQL_PWD={password}", "mysql", f"--user={user}", "-NBe", statement
        )
        return (done.stdout + done.stderr).strip()

    def healthy(self):
        return self.inside("healthcheck.sh").returncode == 0

    def up(self):
        end = time.monotonic() + 600
        while self.process.poll() is None and time.monotonic() < end:
            if self.healthy():
                return True
            time.sleep(0.2)
        return False

    def said(self):
        return self.log.read_text()

    def stop(self):
        subprocess.run([*RUNTIME, "kill", self.name, "TERM"], check=False)
        return self.process.wait(timeout=600)

    def end(self):
        return self.process.wait(timeout=600)


RUNTIME = ["crun", f"--root={WORK}/state", "--cgroup-manager=disabled"]


def volume(name, owner=999):
    folder = WORK / f"volume-{name}"
    folder.mkdir()
    os.chown(folder, owner, owner)
    return folder


def unpack(image):
    layout = WORK / "layout"
    with tarfile.open(image) as archive:
        archive.extractall(layout)
    manifest = json.loads((layout / "index.json").read_text())["manifests"][0]
    tag = manifest["annotations"]["org.opencontainers.image.ref.name"]
    name = manifest["annotations"].get("io.containerd.image.name")
    check("podman and containerd load it as sluice", name == f"localhost/sluice:{tag}", name)
    tool("umoci", "unpack", "--image", f"{layout}:{tag}", WORK / "bundle")

    def blob(known):
        return json.loads((layout / "blobs/sha256" / known["digest"].split(":")[1]).read_text())

    config = blob(blob(manifest)["config"])
    (WORK / "image.json").write_text(json.dumps(config))
    return config["config"]


def scripts():
    folder = WORK / "scripts"
    folder.mkdir()
    (folder / "00.sql").write_text("CREATE TABLE t (how VARCHAR(20) PRIMARY KEY);")

    def insert(how):
        return f"INSERT INTO t VALUES ('{how}');".encode()

    zstd = subprocess.run(["zstd", "-c"], input=insert("zst"), capture_output=True, check=True)
    (folder / "10.sql.gz").write_bytes(gzip.compress(insert("gz")))
    (folder / "10.sql.xz").write_bytes(lzma.compress(insert("xz")))
    (folder / "10.sql.bz2").write_bytes(bz2.compress(insert("bz2")))
    (folder / "10.sql.zst").write_bytes(zstd.stdout)
    (folder / "20.sh").write_text("echo \"INSERT INTO t VALUES ('sh')\" | docker_process_sql\n")
    return folder


def main():
    for name in ("umoci", "crun", "zstd"):
        if not shutil.which(name):
            raise SystemExit(
                f"test-image: error: {name} is missing: apt-get install umoci crun zstd"
            )
    if os.getuid() != 0:
        raise SystemExit("test-image: error: containers with users of their own need root")
    if "--inside" not in sys.argv:
        # crun refuses a machine with both kinds of cgroups: here it sees one, in a mount namespace.
        mount = 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"'
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount,
                              "sh", __file__, sys.argv[1], "--inside"])  # fmt: skip
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    config = unpack(sys.argv[1])
    check("it is not root's", config["User"] == "999:999", config)
    check("ports, volume and health check are named", set(config["ExposedPorts"]) == {"3306/tcp", "33060/tcp"}
          and "/var/lib/mysql" in config["Volumes"] and "Healthcheck" in config, config)  # fmt: skip
    size = sum(f.stat().st_size for f in (WORK / "layout/blobs/sha256").iterdir())
    print(
        f"        image: {size // 10**6} MB packed, {folder_size(WORK / 'bundle/rootfs')} MB unpacked"
    )

    shadow = (WORK / "bundle/rootfs/etc/shadow").read_text()
    check("no account of the system has a password",
          shadow and all(line.split(":")[1] in ("*", "!", "!*") for line in shadow.splitlines()), shadow)  # fmt: skip

    ours, secret = volume("ours"), WORK / "secret"
    secret.write_text(ROOT_PASSWORD + "\n")
    site = WORK / "site.cnf"
    site.write_text("[mysqld]\nmax_connections = 77\n")
    # The place to mount it on stays for the containers that do without.
    (WORK / "bundle/rootfs/etc/mysql/conf.d/site.cnf").touch(0o644)
    mounts = [
        (scripts(), "/docker-entrypoint-initdb.d"),
        (secret, "/secret"),
        (site, "/etc/mysql/conf.d/site.cnf"),
    ]
    box = Container(
        ours, mounts=mounts, MYSQL_ROOT_PASSWORD_FILE="/secret", MYSQL_DATABASE="shop",
        MYSQL_USER="me", MYSQL_PASSWORD="mine",
    )  # fmt: skip
    check("it starts, and is healthy then", box.up(), box.said())
    check("all kinds of scripts were run", box.ask("SELECT GROUP_CONCAT(how ORDER BY how) FROM shop.t") == "bz2,gz,sh,xz,zst",
          box.said())  # fmt: skip
    check("the user has the database", box.ask("CREATE TABLE shop.mine (a INT)", "mine", "me") == ""
          and "denied" in box.ask("SELECT 1 FROM mysql.user", "mine", "me"), box.said())  # fmt: skip
    check(
        "root needs the password",
        "denied" in box.ask("DO 0", "wrong") and "denied" in box.ask("DO 0", ""),
    )
    check("it is Sluice, with its tables", re.search("-sluice\t1$", box.ask(
        "SELECT @@version, COUNT(*) FROM INFORMATION_SCHEMA.INNODB_LRU_STATS")) is not None)  # fmt: skip
    check("a mounted option file counts", box.ask("SELECT @@max_connections") == "77")
    check("the server is process 1 and not root's",
          box.inside("stat", "-c", "%u", "/proc/1").stdout.strip() == "999"
          and box.inside("cat", "/proc/1/comm").stdout.strip() == "mysqld")  # fmt: skip
    listens = box.inside("sh", "-c", "cat /proc/net/tcp6 /proc/net/tcp").stdout
    check(
        "it listens on 3306 and 33060",
        re.search(r":0CEA \S+ 0A", listens) and re.search(r":8124 \S+ 0A", listens),
        listens,
    )
    check(
        "time zones are there",
        box.ask("SELECT CONVERT_TZ('2026-01-01 12:00:00','UTC','Europe/Berlin')")
        == "2026-01-01 13:00:00",
    )
    check("its time is UTC", box.inside("date", "+%Z").stdout == "UTC\n"
          and box.ask("SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())") == "0")  # fmt: skip
    # Only the server's own user may read that.
    environment = box.inside("cat", "/proc/1/environ", user="999:999").stdout
    check("no password is in its environment", "PATH=" in environment
          and ROOT_PASSWORD not in environment and "mine" not in environment)  # fmt: skip
    check("it logs to where the container does", "ready for connections" in box.said(), box.said())
    check(
        "SIGTERM stops it cleanly",
        box.stop() == 0 and "Shutdown complete" in box.said(),
        box.said(),
    )

    box = Container(ours, "--max-connections=66")
    check("it starts again with its volume and options", box.up()
          and box.ask("SELECT COUNT(*), @@max_connections FROM shop.t") == "5\t66", box.said())  # fmt: skip
    check("and stops", box.stop() == 0, box.said())

    box = Container(
        volume("root", 0), user=0, MYSQL_RANDOM_ROOT_PASSWORD="yes", MYSQL_INITDB_SKIP_TZINFO="1"
    )
    up = box.up()
    password = re.search("GENERATED ROOT PASSWORD: (.*)", box.said())
    check("as root it takes over a volume, and goes on as mysql", up and password
          and box.ask("SELECT 1", password[1]) == "1" and box.inside("stat", "-c", "%u", "/proc/1").stdout.strip() == "999",
          box.said())  # fmt: skip
    box.stop()

    box = Container(
        volume("other", 12345),
        user=12345,
        MYSQL_ALLOW_EMPTY_PASSWORD="yes",
        MYSQL_INITDB_SKIP_TZINFO="1",
        MYSQL_TCP_PORT="3307",
    )
    check("any other user may run it, with another port", box.up()
          and box.ask("SELECT @@port", "") == "3307", box.said())  # fmt: skip
    box.stop()

    box = Container(volume("closed", 0), MYSQL_ROOT_PASSWORD="a")
    check(
        "a volume it may not write to is named",
        box.end() == 1 and "cannot write to /var/lib/mysql" in box.said(),
        box.said(),
    )
    photos = volume("photos", 0)
    (photos / "photo.jpg").touch()
    box = Container(photos, user=0, MYSQL_ROOT_PASSWORD="a")
    check("as root it leaves alone what is not a server's", box.end() == 1 and "is not empty" in box.said()
          and photos.stat().st_uid == 0, box.said())  # fmt: skip
    empty = volume("empty")
    box = Container(empty)
    check(
        "without a password it says what to set",
        box.end() == 1 and "MYSQL_RANDOM_ROOT_PASSWORD=yes" in box.said(),
        box.said(),
    )
    box = Container(empty, "sh", "-c", "id -u; mysqld --version")
    check(
        "another command runs",
        box.end() == 0 and re.search(r"^999\n.*-sluice", box.said()),
        box.said(),
    )

    bad = WORK / "bad"
    bad.mkdir()
    (bad / "bad.sql").write_text("this is no statement;")
    box = Container(
        empty,
        mounts=[(bad, "/docker-entrypoint-initdb.d")],
        MYSQL_ROOT_PASSWORD="a",
        MYSQL_INITDB_SKIP_TZINFO="1",
    )
    check("a script that fails leaves nothing", box.end() == 1 and "bad.sql failed" in box.said()
          and not list(empty.iterdir()), box.said())  # fmt: skip
    print(f"test-image: {failed} checks failed" + (f", logs in {WORK}" if failed else ""))
    if not failed:
        shutil.rmtree(WORK)
    return failed > 0


def folder_size(folder):
    return subprocess.run(
        ["du", "-sm", folder], check=True, capture_output=True, text=True
    ).stdout.split()[0]


if __name__ == "__main__":
    sys.exit(main())
