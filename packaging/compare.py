#!/usr/bin/env python3
"""Does what we package have all that upstream's community server has?

  compare.py lists OBJECTS UPSTREAM    against the lists of upstream's own Debian packages
                                       (nothing has to be built, only configured)
  compare.py builds OBJECTS STOCK      against unpatched upstream built alike (preset
                                       package-stock): installed files, options of each
                                       program, and what both servers say when they run

Prints what is missing, and then exits with 1.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def report(kinds):
    """kinds: {kind: (wanted, have)}. Prints a table, then what is missing."""
    missing = []
    print(f"{'kind':<28}{'upstream':>9}{'here':>7}{'missing':>9}")
    for kind, (wanted, have) in kinds.items():
        lost = sorted(wanted - have)
        print(f"{kind:<28}{len(wanted):>9}{len(have):>7}{len(lost):>9}")
        missing += [f"{kind}: {name}" for name in lost]
        if not wanted:
            missing.append(f"{kind}: nothing was found to compare with")
    for line in missing:
        print("missing:", line)
    print(f"{len(missing)} missing")
    return bool(missing)


def declared(objects):
    """What CMake would install, by its scripts: paths below the prefix."""
    found = set()
    for script in Path(objects).rglob("cmake_install.cmake"):
        for to, files in re.findall(
            r'file\(INSTALL DESTINATION "([^"]+)"[^\n]*? FILES ([^\n]*)',
            script.read_text(errors="replace"),
        ):
            to = to.replace("${CMAKE_INSTALL_PREFIX}/", "")
            found |= {f"{to}/{Path(name).name}" for name in re.findall(r'"([^"]+)"', files)}
    return found


def listed(upstream):
    """What upstream's own packages have, by their lists: paths below the prefix."""
    found = set()
    for file in sorted((Path(upstream) / "packaging/deb-in").glob("mysql-*.install.in")):
        if re.search(r"router|dbgsym|debug|data-node|management|java|backup", file.name):
            continue
        for line in file.read_text().splitlines():
            match = re.match(r"usr/((?:s?bin|lib/mysql/plugin)/[\w.@+-]+)$", line.strip())
            if match:
                found.add(match[1])
    return found


def lists(given):
    wanted, have = listed(given.other), declared(given.objects)
    folders = {
        "program": r"s?bin/",
        "plugin or component": r"lib/mysql/plugin/(?!debug/)",
    }
    return report(
        {
            kind: (
                {n for n in wanted if re.match(start, n)},
                {n for n in have if re.match(start, n)},
            )
            for kind, start in folders.items()
        }
    )


def installed(objects, to):
    """Installs all components; paths below the prefix."""
    subprocess.run(
        ["cmake", "--install", objects, "--prefix", to],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return {str(p.relative_to(to)) for p in Path(to).rglob("*") if p.is_file() or p.is_symlink()}


def options(program):
    """The long options that a program's --help names."""
    said = subprocess.run(
        [program, "--no-defaults", "--verbose", "--help"],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    return set(re.findall(r"(?<![\w-])--([a-z][a-z0-9_-]+)", said.stdout.replace("_", "-")))


# What a running server says of itself. With every plugin of its folder that loads.
QUESTIONS = {
    "server: variable": "SELECT VARIABLE_NAME FROM performance_schema.global_variables",
    "server: status": "SELECT VARIABLE_NAME FROM performance_schema.global_status",
    "server: plugin": "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE'",
    "server: component": "SELECT COMPONENT_URN FROM mysql.component",
    "server: table": """SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES
                        WHERE TABLE_SCHEMA <> 'test'""",
    "server: routine": """SELECT CONCAT(ROUTINE_SCHEMA, '.', ROUTINE_NAME)
                          FROM information_schema.ROUTINES""",
    "server: collation": "SELECT COLLATION_NAME FROM information_schema.COLLATIONS",
    "server: engine": "SELECT ENGINE FROM information_schema.ENGINES WHERE SUPPORT <> 'NO'",
    "server: privilege": """SELECT DISTINCT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES
                            WHERE GRANTEE LIKE '%root%'""",
    "server: instrument": "SELECT NAME FROM performance_schema.setup_instruments",
    "server: keyword": "SELECT WORD FROM information_schema.KEYWORDS",
}


def asked(root, names):
    """Answers of a server that is installed below root, with these plugins and components."""
    with tempfile.TemporaryDirectory(prefix="sluice-", dir="/tmp") as home:
        home = Path(home)
        plugins = root / "lib/mysql/plugin"
        server = [
            root / "sbin/mysqld",
            "--no-defaults",
            f"--datadir={home}/data",
            f"--basedir={root}",
        ]
        server += [f"--plugin-dir={plugins}", f"--lc-messages-dir={root}/share/mysql"]
        server += ["--secure-file-priv=NULL", f"--log-error={home}/log"]
        if os.getuid() == 0:
            as_user = [HERE.parent / "superbuild/as-user.sh"]
            subprocess.run([*as_user, "--own", home], check=True)
        else:
            as_user = []
        subprocess.run([*as_user, *server, "--initialize-insecure"], check=True)
        sockets = [
            f"--socket={home}/s",
            f"--pid-file={home}/pid",
            "--skip-networking",
            "--mysqlx=OFF",
        ]
        running = subprocess.Popen([*as_user, *server, *sockets])
        client = [
            root / "bin/mysql",
            "--no-defaults",
            f"--socket={home}/s",
            "--user=root",
        ]

        def ask(statement, check=True):
            done = subprocess.run(
                [*client, "--batch", "--skip-column-names", "--execute", statement],
                check=False,
                capture_output=True,
                text=True,
            )
            if check and done.returncode:
                raise SystemExit(f"compare: error: {statement}: {done.stderr}")
            return done

        try:
            while ask("DO 0", check=False).returncode:
                if running.poll() is not None:
                    raise SystemExit(
                        f"compare: error: {root}/sbin/mysqld:\n{(home / 'log').read_text()}"
                    )
                time.sleep(0.2)
            for name in names:
                ask(f"INSTALL COMPONENT 'file://{Path(name).stem}'", check=False)
            answers = {
                kind: set(ask(question).stdout.split("\n")) - {""}
                for kind, question in QUESTIONS.items()
            }
            ask("SHUTDOWN")
            running.wait()
        finally:
            if running.poll() is None:
                running.kill()
                running.wait()
        return answers


def builds(given):
    with tempfile.TemporaryDirectory(prefix="sluice-compare-", dir=given.work) as work:
        os.chmod(work, 0o755)
        ours, stock = Path(work) / "sluice", Path(work) / "stock"
        have, wanted = installed(given.objects, ours), installed(given.other, stock)
        kinds = {
            "file": (
                {n for n in wanted if not n.startswith("lib/mysql-test/")},
                {n for n in have if not n.startswith("lib/mysql-test/")},
            ),
            "test file": (
                {n for n in wanted if n.startswith("lib/mysql-test/")},
                {n for n in have if n.startswith("lib/mysql-test/")},
            ),
        }
        for name in sorted(n for n in wanted & have if re.match(r"s?bin/", n)):
            # Scripts and programs of the tests have no options to speak of.
            found = (
                options(stock / name) if (stock / name).read_bytes()[:4] == b"\x7fELF" else set()
            )
            if found:
                kinds[f"option of {Path(name).name}"] = (found, options(ours / name))
        components = sorted(
            Path(n).name
            for n in wanted
            if re.match(r"lib/mysql/plugin/component_(?!.*(test|example|udf_|pfs_))", n)
        )
        stock_says, ours_say = asked(stock, components), asked(ours, components)
        kinds |= {kind: (stock_says[kind], ours_say[kind]) for kind in QUESTIONS}
        return report(kinds)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("how", choices=["lists", "builds"])
    parser.add_argument("objects")
    parser.add_argument("other")
    # Absolute: the server looks for components below its plugin directory only if that is.
    parser.add_argument(
        "--work",
        type=os.path.abspath,
        default="/tmp",
        help="where both are installed: 3 GB",
    )
    given = parser.parse_args()
    return lists(given) if given.how == "lists" else builds(given)


if __name__ == "__main__":
    sys.exit(main())
