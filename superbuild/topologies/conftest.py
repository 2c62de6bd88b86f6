# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Where the two kinds of servers come from, and a fleet of them for each test."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "bench")]

import fleet

from harness import server_definition
from harness.server_definition import ServerDefinition


def pytest_addoption(parser: pytest.Parser) -> None:
    for kind in ("sluice", "stock"):
        parser.addoption(
            f"--{kind}", default=str(HERE / f"{kind}.toml"), help=f"definition of {kind}'s server"
        )
    parser.addoption("--keep", action="store_true", help="leave the data directories")


class Fleet:
    """Members in a temporary directory, made from one data directory for all."""

    def __init__(self, home: Path, kinds: dict[str, ServerDefinition], template: Path) -> None:
        self.home = home
        self.kinds = kinds
        self.members: list[fleet.Member] = []
        self._template = template

    def member(self, kind: str, *options: str) -> fleet.Member:
        """Another server, down, on a data directory that stock has made."""
        number = len(self.members) + 1
        member = fleet.Member(self.kinds[kind], self.home / str(number), number, options)
        member.copy(self._template)
        self.members.append(member)
        return member

    def end(self) -> None:
        for member in self.members:
            if member.running:
                member.kill()


@pytest.fixture(scope="session")
def home(request: pytest.FixtureRequest) -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="sluice-topologies-"))
    yield home
    if request.session.testsfailed or request.config.getoption("--keep"):
        fleet.say(f"data and error logs are in {home}; remove them when they were looked at")
    else:
        shutil.rmtree(home)


@pytest.fixture(scope="session")
def kinds(request: pytest.FixtureRequest, home: Path) -> dict[str, ServerDefinition]:
    found = {}
    for kind in ("sluice", "stock"):
        definition = server_definition.load(request.config.getoption(f"--{kind}"))
        if not definition.mysqld.is_file():
            pytest.exit(
                f"test-topologies: there is no server {definition.mysqld}; "
                f"{definition.build or 'the definition'} says where it comes from",
                2,
            )
        found[kind] = fleet.install(definition, home / kind)
        assert definition.name == kind, f"a definition of {kind} is named {kind}.toml"
    return found


@pytest.fixture(scope="session")
def template(home: Path, kinds: dict[str, ServerDefinition]) -> Path:
    """A data directory as stock makes it, with the account that servers use among them."""
    maker = fleet.Member(kinds["stock"], home / "template", 1)
    maker.create()
    maker.up("--skip-log-bin")
    maker.execute(
        f"CREATE USER {fleet.ACCOUNT} IDENTIFIED BY '{fleet.PASSWORD}'",
        "GRANT REPLICATION SLAVE, BACKUP_ADMIN, CLONE_ADMIN, CONNECTION_ADMIN"
        f" ON *.* TO {fleet.ACCOUNT}",
    )
    maker.stop()
    return maker.data


@pytest.fixture
def servers(
    request: pytest.FixtureRequest,
    home: Path,
    kinds: dict[str, ServerDefinition],
    template: Path,
) -> Iterator[Fleet]:
    where = home / request.node.name.replace("[", ".").rstrip("]")
    made = Fleet(where, kinds, template)
    fleet.say(f"begins: {request.node.name}")
    try:
        yield made
        for member in made.members:
            member.check_log()
    finally:
        made.end()
        if not (request.session.testsfailed or request.config.getoption("--keep")):
            shutil.rmtree(where, ignore_errors=True)
