"""What packages are made from and compared with, as far as it needs no build and no root."""

import fcntl
import re
import shutil
import subprocess
import sys

import pytest
from conftest import GIT, ROOT

sys.path.insert(0, str(ROOT / "packaging"))
import compare


@pytest.fixture
def trees(tmp_path):
    """A configured build that would install a program and a plugin, and upstream's lists."""
    objects = tmp_path / "obj"
    (objects / "client").mkdir(parents=True)
    (objects / "client/cmake_install.cmake").write_text(
        'file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/bin" TYPE EXECUTABLE FILES "/obj/mysql")\n'
        'file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/mysql/plugin" TYPE MODULE FILES "/obj/a.so")\n'
        'file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/mysql/plugin/debug" TYPE MODULE FILES "/obj/b.so")\n'
    )
    lists = tmp_path / "upstream/packaging/deb-in"
    lists.mkdir(parents=True)
    (lists / "mysql-server.install.in").write_text(
        "# usr/bin/nothing\nusr/bin/mysql\nusr/lib/mysql/plugin/a.so\n"
    )
    (lists / "mysql-router.install.in").write_text("usr/bin/mysqlrouter\n")
    return objects, tmp_path / "upstream", lists / "mysql-server.install.in"


def run(trees):
    done = subprocess.run(
        [ROOT / "packaging/compare.py", "lists", *trees[:2]],
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_nothing_is_missing(trees):
    status, output = run(trees)
    assert status == 0 and "0 missing" in output, output


@pytest.mark.parametrize("name", ["bin/mysqldump", "lib/mysql/plugin/b.so"])
def test_what_is_missing_is_named(trees, name):
    trees[2].write_text(trees[2].read_text() + f"usr/{name}\n")
    status, output = run(trees)
    assert status == 1
    assert re.search(rf"missing: .*{name}", output) and "1 missing" in output


def test_lists_that_are_not_there(trees):
    trees[2].write_text("")
    status, output = run(trees)
    assert status == 1 and "nothing was found to compare with" in output


def test_options_of_a_program(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho '  --max-rows=#  see --other_one'\necho 'port   0'\n")
    program.chmod(0o755)
    assert compare.options(program) == {"max-rows", "other-one"}


def newer(checkout, offers, *options):
    """upstream-newer.sh, in a checkout where upstream.sh offers this and gets nothing."""
    (checkout.path / "superbuild/upstream.sh").write_text(
        f"#!/bin/sh\n[ $1 = offers ] && echo '{offers}' && exit\necho no network; exit 1\n"
    )
    checkout.run("git", "init", "--quiet")
    checkout.run("git", "add", "--all")
    checkout.run("git", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "--quiet", "-m", "x")
    return checkout.run("superbuild/upstream-newer.sh", *options)


def test_the_pinned_release_is_the_newest(checkout):
    status, output = newer(checkout, "9.7.1 0000 1\n9.7.2 1111 2")
    assert status == 0 and "9.7.2, the pinned one, is the newest" in output
    assert not (checkout.path / "build/newer").exists()


def test_a_newer_release_is_seen(checkout):
    status, output = newer(checkout, "9.7.2 1111 2\n9.7.10 2222 3\n9.7.4 3333 4", "--look")
    assert status == 0 and "9.7.10 is there (pinned: 9.7.2), sha256 2222" in output
    assert not (checkout.path / "build/newer").exists()


def test_a_newer_release_is_tried_on_a_copy(checkout):
    status, output = newer(checkout, "9.7.4 2222 3")
    assert status == 1, output
    assert re.search(r"fetched and unpacked +FAILED", output) and "no network" in output
    pin = (checkout.path / "build/newer/sluice/upstream/pin").read_text()
    assert "UPSTREAM_VERSION=9.7.4\n" in pin and "UPSTREAM_SHA256=2222\n" in pin
    assert "mysql-9.7.4.tar.gz\n" in pin and "9.7.2" not in pin
    assert "UPSTREAM_VERSION=9.7.2\n" in (checkout.path / "upstream/pin").read_text()
    # Again; but not when somebody has begun to mend something in the copy.
    assert "no network" in newer(checkout, "9.7.4 2222 3")[1]
    mended = checkout.path / "build/newer/sluice/mended"
    mended.touch()
    status, output = newer(checkout, "9.7.4 2222 3")
    assert status == 1 and "has changes" in output and mended.exists()
    git = ("git", "-C", mended.parent, "-c", "user.name=n", "-c", "user.email=e@x")
    for command in (["add", "mended"], ["commit", "--quiet", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    status, output = newer(checkout, "9.7.4 2222 3")
    assert status == 1 and "commits" in output and mended.exists()


def test_the_packages_documents_have_no_dead_links(tmp_path):
    """As packaging/install.sh installs them."""
    script = (ROOT / "packaging/install.sh").read_text()
    documents = re.search(r"^documents=.*?dead-links.py[^\n]*\n", script, re.DOTALL | re.MULTILINE)
    variables = f'set -euo pipefail; here="{ROOT}" server="{tmp_path}"\n'
    subprocess.run(["bash", "-c", variables + documents[0]], check=True)
    installed = tmp_path / "share/doc/sluice-server"
    names = {str(path.relative_to(installed)) for path in installed.rglob("*.*")}
    assert {"README.md", "docs/user/install.md", "docs/pictures/purge.svg"} <= names
    assert not [name for name in names if "results" in name]
    links = 0
    for page in installed.rglob("*.md"):
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if not re.match(r"[a-z]+:", link):
                links += 1
                assert (page.parent / link.partition("#")[0]).exists(), f"{page}: {link}"
    assert links > 100
    readme = (installed / "README.md").read_text()
    assert "](LICENSE)" not in readme and "](docs/user/install.md)" in readme


def test_packages_are_made_of_a_complete_build_only(tmp_path):
    done = subprocess.run(
        [ROOT / "packaging/package.sh", tmp_path, tmp_path / "to"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "no build of the preset package" in done.stderr


@pytest.fixture
def built(checkout):
    """A checkout with what package.sh looks for, and a debhelper that makes two packages."""
    shutil.copytree(ROOT / "packaging", checkout.path / "packaging")
    (checkout.path / ".gitignore").write_text("/build/\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*GIT, *command], cwd=checkout.path, check=True)
    version = checkout.path / "build/upstream/MYSQL_VERSION"
    version.parent.mkdir(parents=True)
    numbers = zip(("MAJOR", "MINOR", "PATCH"), (9, 7, 2), strict=True)
    version.write_text("".join(f"MYSQL_VERSION_{part}={number}\n" for part, number in numbers))
    server = checkout.path / "build/package/obj/runtime_output_directory/mysqld"
    server.parent.mkdir(parents=True)
    server.touch(mode=0o755)
    (server.parents[1] / "CMakeCache.txt").write_text("INSTALL_LAYOUT:STRING=DEB\n")
    checkout.stand_in("apparmor_parser", "exit 0")
    checkout.stand_in(
        "dpkg-buildpackage",
        "for part in server client dev; do mkdir -p debian/sluice-$part/usr; done\n"
        "touch ../sluice-{server,client}_2.deb ../sluice_2.buildinfo ../sluice_2.changes",
    )
    sbom = 'while [ "$1" != --to ]; do shift; done; touch "$2"'
    (checkout.path / "packaging/sbom.py").write_text(sbom)
    packages = checkout.path / "build/packages"
    packages.mkdir()
    (packages / "sluice-server_1.deb").touch()
    return checkout


def package(checkout):
    status, output = checkout.run(
        "packaging/package.sh", "build/package/obj", "build/packages", PYTHON="bash"
    )
    return status, output, {file.name for file in (checkout.path / "build/packages").iterdir()}


def test_packages_replace_older_ones(built):
    status, output, there = package(built)
    assert status == 0, output
    assert {"sluice-server_2.deb", "sluice-client_2.deb", "SHA256SUMS"} <= there
    assert "sluice-server_1.deb" not in there and "package.work" not in there
    sums = (built.path / "build/packages/SHA256SUMS").read_text()
    assert len(re.findall(r"^[0-9a-f]{64}  \S+\.(?:deb|tar\.xz|json)$", sums, re.MULTILINE)) == 4


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        ("rm build/package/obj/runtime_output_directory/mysqld", "there is no server in"),
        ("rm build/upstream/MYSQL_VERSION", "nothing says which MySQL was built"),
        ("sed -i s/2/3/ build/upstream/MYSQL_VERSION", "what was built is MySQL 9.7.3, and"),
        ("rm .git/HEAD", "so the packages would have no version"),
        ("echo exit 1 >stand-ins/apparmor_parser", "the AppArmor profile cannot be parsed"),
        ("echo 'echo why; exit 1' >stand-ins/dpkg-buildpackage", "debhelper failed, see"),
    ],
)
def test_packages_that_cannot_be_made_leave_the_older_ones(built, breaks, told):
    subprocess.run(["bash", "-c", breaks], cwd=built.path, check=True)
    status, output, there = package(built)
    assert status == 1 and told in output, output
    assert "sluice-server_1.deb" in there and "sluice-server_2.deb" not in there


def test_two_runs_do_not_make_packages_in_one_folder(built):
    with (built.path / "build/packages/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, output, there = package(built)
    assert status == 1 and "another package.sh works in" in output
    assert "sluice-server_1.deb" in there


@pytest.mark.parametrize(
    ("breaks", "told", "archives"),
    [
        (
            "echo 'echo no libaio; exit 1' >packaging/libraries.sh",
            "the archive could not be made",
            0,
        ),
        (
            "echo 'echo part; exit 1' >stand-ins/xz; chmod +x stand-ins/xz",
            "the archive could not be made",
            0,
        ),
        ("echo 'exit 1' >packaging/sbom.py", "no bill of materials could be made", 1),
    ],
)
def test_what_is_not_complete_gets_no_checksums(built, breaks, told, archives):
    subprocess.run(["bash", "-c", breaks], cwd=built.path, check=True)
    status, output, there = package(built)
    assert status == 1 and told in output, output
    assert "SHA256SUMS" not in there
    assert sum(name.endswith(".tar.xz") for name in there) == archives


def test_options_for_other_servers_stay_out_of_their_sight():
    """What stock does not know stands in the file that only Sluice reads, or has loose_."""
    read = (ROOT / "packaging/debian/sluice.cnf").read_text()
    folders = re.findall(r"^!includedir (\S+)", read, re.MULTILINE)
    # The administrator's and another server's come later, and win.
    assert folders == [
        "/etc/mysql/sluice.conf.d/",
        "/etc/mysql/conf.d/",
        "/etc/mysql/mysql.conf.d/",
    ]
    installed = (ROOT / "packaging/debian/sluice-common.install").read_text()
    assert "debian/server.cnf etc/mysql/sluice.conf.d\n" in installed


# Of Oracle's packages (packaging/deb-in/control.in), what decides whether ours may take their place.
ORACLE = {
    "adduser": "",
    "mysql-common": "Conflicts: mysql-server-core, mysql-server-core-8.0, mysql-client-core-8.0\n",
    "mysql-community-client": "Depends: mysql-common (>= 9.7.2)\nConflicts: mysql-server-core\n",
    "mysql-community-server": "Depends: mysql-common (>= 9.7.2), mysql-community-client\n",
    "mysql-server": "Depends: mysql-community-server\n",
}


def test_oracles_packages_give_way(tmp_path):
    """As apt decides it, for packages that hold nothing."""
    rest = "Maintainer: n <n@localhost>\nArchitecture: all\nVersion: 9.7.2"
    (tmp_path / "status").write_text(
        "\n".join(
            f"Package: {name}\n{fields}{rest}-1\nDescription: d\nStatus: install ok installed\n"
            for name, fields in ORACLE.items()
        )
    )
    control = (ROOT / "packaging/debian/control").read_text()
    left_out = r"^#.*\n|^Pre-Depends:.*\n|^Architecture:.*\n|,\s*\$\{(?:misc|perl|shlibs):.*\}"
    control = re.sub(left_out, "", control, flags=re.MULTILINE)
    control = re.sub(r"\$\{.*?\}", "9.7.2+sluice1", control)
    files = []
    for stanza in control.strip().split("\n\n")[1:4]:
        folder = tmp_path / re.match("Package: (.*)", stanza)[1]
        (folder / "DEBIAN").mkdir(parents=True)
        (folder / "DEBIAN/control").write_text(f"{stanza}\n{rest}+sluice1\n")
        files.append(f"{folder}.deb")
        subprocess.run(["dpkg-deb", "--build", folder, files[-1]], check=True)
    places = {"State": "", "State::status": "status", "Cache": "", "Etc": ""}
    options = [f"-oDir::{name}={tmp_path / place}" for name, place in places.items()]
    simulated = ["apt-get", "--simulate", *options, "install", *files]
    done = subprocess.run(simulated, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    removed = set(re.findall(r"^Remv (\S+)", done.stdout, re.MULTILINE))
    assert removed == {"mysql-server", "mysql-community-server", "mysql-community-client"}
    installed = set(re.findall(r"^Inst (\S+)", done.stdout, re.MULTILINE))
    assert installed == {"sluice-server", "sluice-client", "sluice-common"}


@pytest.mark.parametrize("script", ["sluice-server.preinst", "sluice-server.postinst", "sluice-server.postrm",
                                    "sluice-server.prerm", ])  # fmt: skip
def test_maintainer_scripts_are_sound(script):
    path = ROOT / "packaging/debian" / script
    assert path.read_text().startswith("#!/bin/sh\nset -e\n") and "#DEBHELPER#" in path.read_text()
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0
