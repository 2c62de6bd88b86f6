"""docs/user/reference.md says what the server and the source say, and leaves nothing out."""

import copy
import os
import re
import subprocess
import time
from pathlib import Path

import commands
import pymysql
import pytest
from conftest import ROOT

REFERENCE = ROOT / "docs/user/reference.md"
UPSTREAM = ROOT / "build/upstream"
# Where upstream's names come from, and what of our own source talks to users.
UPSTREAM_FOLDERS = (
    "sql",
    "sql-common",
    "storage",
    "plugin",
    "components",
    "mysys",
    "vio",
    "libs",
    "include",
)
UPSTREAM_PREFIXES = ("innodb_", "Innodb_", "Com_", "caching_sha2_password_", "myisam_")
SPEAKING = (
    "sql/binlog/purge/*.cc",
    "sql/lock_wait*.cc",
    "sql/schema_table_plugin.cc",
    "plugin/lru_stats/*.cc",
    "storage/innobase/buf/buf0lru*.cc",
    "storage/innobase/fil/fil0fast.cc",
    "storage/innobase/fil/fil0sync.cc",
)


# The page


def rows_under(text, heading):
    """The first table under a heading, as lists of cells."""
    _, found, rest = text.partition(f"\n{heading}\n")
    assert found, f"there is no heading '{heading}'"
    rows = []
    for line in rest.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows or line.startswith("#"):
            break
    assert len(rows) > 2, f"there is no table under '{heading}'"
    return rows[2:]


def headings(text, marks):
    return re.findall(rf"^{marks} (`.*)$", text, re.MULTILINE)


class Reference:
    def __init__(self, text):
        self.variables = {}
        for heading in headings(text, "####"):
            (row,) = rows_under(text, f"#### {heading}")
            self.variables[heading.strip("`")] = dict(
                zip(("scope", "dynamic", "type", "default", "range"), row, strict=False)
            )
        self.status = [row[0].strip("`") for row in rows_under(text, "## Status variables")]
        self.tables, self.views = {}, {}
        for heading in headings(text, "###"):
            columns = rows_under(text, f"### {heading}")
            for name in re.findall("`([^`]+)`", heading):
                if name.startswith("sys."):
                    self.views[name] = [row[0].strip("`") for row in columns]
                else:
                    self.tables[name] = [(row[0].strip("`"), row[1], row[2]) for row in columns]
        self.instruments = [
            row[0].strip("`") for row in rows_under(text, "## Threads and instruments")
        ]
        errors = rows_under(text, "## Errors and warnings that a client gets")
        self.errors = dict(re.findall(r"(\d+) `(\w+)`", " ".join(row[0] for row in errors)))
        said = rows_under(text, "## Messages in the error log")
        self.messages = [
            message
            for row, cell in [(row, 2) for row in errors] + [(row, 1) for row in said]
            for message in re.findall("`([^`]+)`", row[cell])
        ]
        self.text = text


@pytest.fixture(scope="module")
def reference():
    return Reference(REFERENCE.read_text())


# The server


def built():
    for preset in ("debug", "release"):
        if (ROOT / "build" / preset / "obj/runtime_output_directory/mysqld").is_file():
            return preset
    raise AssertionError("no server is built; make debug builds one")


class Server:
    """On a socket only, with upstream's and our own defaults."""

    def __init__(self, preset):
        objects = ROOT / "build" / preset / "obj"
        home = ROOT / "build" / preset / "test/reference"
        as_user = ROOT / "superbuild/as-user.sh"
        self._client = [objects / "runtime_output_directory/mysql", "--no-defaults", "--user=root"]
        self._data = home / "data"
        subprocess.run(["rm", "-rf", "--", home], check=True)
        subprocess.run([as_user, "--own", home], check=True)
        command = [as_user, objects / "runtime_output_directory/mysqld", "--no-defaults"]
        command += [f"--datadir={home}/data", f"--basedir={objects}"]
        command += [f"--lc-messages-dir={objects}/share"]
        log = (home / "log").open("w")
        subprocess.run([*command, "--initialize-insecure"], check=True, stderr=log)
        command += [f"--plugin-dir={objects}/plugin_output_directory"]
        command += ["--plugin-load-add=lru_stats.so", "--skip-networking", "--socket=s"]
        self._process = subprocess.Popen(command, stderr=log)
        # A socket's path is limited, a checkout's is not.
        folder = os.open(home / "data", os.O_PATH)
        self.connection = None
        while self.connection is None:
            assert self._process.poll() is None, (home / "log").read_text()
            try:
                self.connection = pymysql.connect(
                    unix_socket=f"/proc/self/fd/{folder}/s", user="root", autocommit=True
                )
            except pymysql.err.OperationalError:
                time.sleep(0.1)
        os.close(folder)

    def ask(self, statement, *arguments):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, arguments)
            return cursor.fetchall()

    def column(self, statement, *arguments):
        return [row[0] for row in self.ask(statement, *arguments)]

    def run(self, script):
        client = [*self._client, "--socket=s"]
        subprocess.run(client, cwd=self._data, input=script, text=True, check=True)

    def stop(self):
        # A session of its own might end before it has the answer to SHUTDOWN.
        self._process.terminate()
        assert self._process.wait(timeout=900) == 0


@pytest.fixture(scope="module")
def server():
    running = Server(built())
    yield running
    running.stop()


def not_upstreams(names):
    """Those of the names that upstream's source does not know. A name may be put together of the
    prefix of its plugin and of the rest."""
    words = {}
    for name in names:
        last = name.rsplit("/", 1)[-1]
        words[name] = {last} | {last.removeprefix(prefix) for prefix in UPSTREAM_PREFIXES}
    patterns = "\n".join(sorted(set().union(*words.values())))
    found = subprocess.run(
        ["grep", "-rhowF", "--include=*.cc", "--include=*.h", "--include=*.ic", "-f", "-"]
        + [folder for folder in UPSTREAM_FOLDERS if (UPSTREAM / folder).is_dir()],
        cwd=UPSTREAM,
        input=patterns.encode(),
        env=os.environ | {"LC_ALL": "C"},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    found = set(found.splitlines())
    return {name for name, several in words.items() if not several & found}


@pytest.fixture(scope="module")
def seen(server):
    """What of the running server is not upstream's, and what our own things look like."""
    names = {
        "variables": server.column(
            "SELECT VARIABLE_NAME FROM performance_schema.variables_metadata"
        ),
        "status": server.column("SELECT VARIABLE_NAME FROM performance_schema.global_status"),
        "tables": server.column(
            "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"
            " WHERE TABLE_SCHEMA IN ('information_schema', 'performance_schema', 'mysql')"
        ),
        # Statements and memory have names that upstream puts together at run time.
        "instruments": server.column(
            "SELECT NAME FROM performance_schema.setup_instruments"
            " WHERE NAME LIKE 'wait/synch/%%' OR NAME LIKE 'stage/%%'"
            " UNION SELECT NAME FROM performance_schema.setup_threads"
        ),
    }
    ours = not_upstreams({name for several in names.values() for name in several})
    seen = {kind: {name for name in several if name in ours} for kind, several in names.items()}
    seen["variables"] = {name: variable(server, name) for name in seen["variables"]}
    seen["tables"] = {
        table: [
            (name, kind, "yes" if null == "YES" else "no")
            for name, kind, null in server.ask(
                "SELECT COLUMN_NAME, IF(COLUMN_TYPE LIKE '%% unsigned', COLUMN_TYPE, DATA_TYPE),"
                " IS_NULLABLE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = %s"
                " ORDER BY ORDINAL_POSITION",
                table,
            )
        ]
        for table in seen["tables"]
    }
    return seen


def variable(server, name):
    """A variable as the page has it, but for the values of an enumeration."""
    ((scope, kind, least, most),) = server.ask(
        "SELECT VARIABLE_SCOPE, DATA_TYPE, MIN_VALUE, MAX_VALUE"
        " FROM performance_schema.variables_metadata WHERE VARIABLE_NAME = %s",
        name,
    )
    dynamic = "yes"
    try:
        server.ask(f"SET GLOBAL {name} = DEFAULT")
    except pymysql.err.MySQLError as error:
        assert error.args[0] == 1238, error  # read-only; it has its default
        dynamic = "no"
    ((_, default),) = server.ask(f"SHOW GLOBAL VARIABLES WHERE VARIABLE_NAME = '{name}'")
    described = {
        "scope": {"GLOBAL": "global", "SESSION": "global, session"}.get(scope, scope),
        "dynamic": dynamic,
        "type": kind.lower(),
        "default": default or "(empty)",
    }
    if kind == "Integer":
        described["range"] = f"{least} to {most}"
    if kind == "Boolean":
        described["range"] = "OFF, ON"
    return described


def compare(seen, reference):
    """Everything in which the page and the server differ."""
    problems = []

    def sets(kind, there, documented):
        problems.extend(
            f"{kind} {name} has no entry" for name in sorted(set(there) - set(documented))
        )
        problems.extend(
            f"there is no {kind} {name}" for name in sorted(set(documented) - set(there))
        )
        return sorted(set(there) & set(documented))

    for name in sets("variable", seen["variables"], reference.variables):
        for what, value in seen["variables"][name].items():
            if value != reference.variables[name][what]:
                problems.append(
                    f"{name}: {what} is {value}, documented is {reference.variables[name][what]}"
                )
    sets("status variable", seen["status"], reference.status)
    sets("instrument", seen["instruments"], reference.instruments)
    for name in sets("table", seen["tables"], reference.tables):
        if seen["tables"][name] != reference.tables[name]:
            differ = set(seen["tables"][name]) ^ set(reference.tables[name])
            problems.append(f"{name}: columns differ: {sorted(differ) or 'their order'}")
    return problems


def test_the_page_has_what_the_server_has(seen, reference):
    assert compare(seen, reference) == []


def test_an_entry_that_is_missing_is_noticed(seen, reference):
    for name in reference.variables:
        other = copy.deepcopy(reference)
        del other.variables[name]
        assert compare(seen, other) == [f"variable {name} has no entry"]
    for attribute, kind in (("status", "status variable"), ("instruments", "instrument")):
        other = copy.deepcopy(reference)
        name = getattr(other, attribute).pop()
        assert compare(seen, other) == [f"{kind} {name} has no entry"]
    for name in reference.tables:
        other = copy.deepcopy(reference)
        other.tables[name].pop()
        assert len(compare(seen, other)) == 1


def test_an_entry_too_many_or_a_wrong_one_is_noticed(seen, reference):
    text = REFERENCE.read_text()
    heading = "#### `binlog_purge_background`"
    fake = text.replace(heading, heading.replace("background", "fake"))
    assert compare(seen, Reference(fake)) == [
        "variable binlog_purge_background has no entry",
        "there is no variable binlog_purge_fake",
    ]
    for right, wrong in (
        ("| 0 to 3600000 |", "| 0 to 60000 |"),
        ("| DEFER | DEFER, FINISH |", "| FINISH | DEFER, FINISH |"),
        ("| global, session | yes | boolean |", "| global | yes | boolean |"),
        ("| global | no | boolean |", "| global | yes | boolean |"),
    ):
        assert text.count(right) == 1
        assert len(compare(seen, Reference(text.replace(right, wrong)))) == 1


def test_statements_of_the_documents(server):
    """Those of SQL that README and docs/user show (commands.py)."""
    for page in commands.documents(ROOT):
        for command in commands.commands(page):
            if command.language == "sql" and not command.reason:
                server.run(command.text)
                server.ask("RESET PERSIST")


def test_values_of_enumerations(server, reference):
    for name, described in reference.variables.items():
        if described["type"] != "enumeration":
            continue
        for value in described["range"].split(", "):
            server.ask(f"SET GLOBAL {name} = {value}")
        with pytest.raises(pymysql.err.MySQLError):
            server.ask(f"SET GLOBAL {name} = {described['range'].count(',') + 1}")
        server.ask(f"SET GLOBAL {name} = DEFAULT")


def test_views(server, reference):
    script = ROOT / "plugin/lru_stats/lru_report.sql"
    server.run(script.read_text())
    views = {f"sys.{name}" for name in re.findall(r"VIEW sys\.(\w+) AS", script.read_text())}
    assert views == set(reference.views)
    for view, columns in reference.views.items():
        there = server.column(
            "SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'sys'"
            " AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
            view.removeprefix("sys."),
        )
        assert there == columns, view


# The source


def added(patch):
    """What a patch adds to upstream's files."""
    _, _, changes = patch.read_text().partition("\ndiff --git ")
    return "\n".join(re.findall(r"^\+(?!\+\+ )(.*)$", changes, re.MULTILINE))


def literals(source):
    """String literals, neighbours joined as the compiler does, without those for developers."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
    source = re.sub(r"^#.*$", "", source, flags=re.MULTILINE)
    source = re.sub(r"static_assert\([^;]*;", "", source)
    for start in reversed([m.start() for m in re.finditer(r"DBUG_EXECUTE_IF\(", source)]):
        end, depth = source.index("(", start) + 1, 1
        while depth:
            depth += {"(": 1, ")": -1}.get(source[end], 0)
            end += 1
        source = source[:start] + source[end:]
    for several in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', several))


def pieces(text):
    """What is fixed in a message."""
    return [piece.strip(" '\"();,.:") for piece in re.split(r"%[\w.]+|…|\\n", text)]


def spoken():
    files = [path.read_text() for pattern in SPEAKING for path in ROOT.glob(pattern)]
    assert len(files) > 10
    patches = [added(path) for path in ROOT.glob("patches/*.patch")]
    assert len(patches) > 10
    return [literal for source in files + patches for literal in literals(source)]


def unsaid(said, reference, described):
    """Sentences of the source that the page does not have."""
    page = " ".join(reference.text.split())
    return [
        piece
        for literal in said
        if "SIGNAL " not in literal and literal not in described
        for piece in pieces(literal)
        if len(piece.split()) >= 4 and piece not in page
    ]


def test_messages(server, reference):
    said = spoken()
    described = server.column("SELECT DOCUMENTATION FROM performance_schema.variables_metadata")
    described += server.column("SELECT PLUGIN_DESCRIPTION FROM INFORMATION_SCHEMA.PLUGINS")
    described += server.column("SELECT DOCUMENTATION FROM performance_schema.setup_threads")
    described += [name.rsplit("/", 1)[-1] for name in reference.instruments]
    assert unsaid(said, reference, described) == []
    new = "The binary log has been eaten by a dog"
    assert unsaid([new], reference, described) == [new]
    # And the other way round: what the page quotes is there to be said.
    source = "\n".join(said)
    lost = [
        p for m in reference.messages for p in pieces(m) if len(p.split()) > 5 and p not in source
    ]
    assert lost == []


def test_error_numbers(reference):
    header = Path(ROOT / "build" / built() / "obj/include/mysqld_error.h").read_text()
    assert reference.errors
    for number, name in reference.errors.items():
        assert re.search(rf"^#define {name} {number}$", header, re.MULTILINE), name
