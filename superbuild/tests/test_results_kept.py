"""docs/results/README.md says of each committed result how it was made, and of which revision."""

import json
import re
import subprocess

import pytest
from conftest import ROOT

RESULTS = ROOT / "docs/results"
FOLDERS = sorted(path.name for path in RESULTS.iterdir() if path.is_dir())


def sections(page):
    """Name of a folder -> what is said of it."""
    parts = re.split(r"^### (.+)\n", page, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def git(*arguments):
    command = ["git", "-C", ROOT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def is_in_history(revision):
    """A shallow clone does not know: then any will do."""
    if git("rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        return True
    return git("merge-base", "--is-ancestor", revision, "HEAD").returncode == 0


def measured(folder):
    """The revisions that our servers named."""
    file = folder / "run.json"
    if not file.exists():
        return set()
    said = [
        facts.get("comment", "") for facts in json.loads(file.read_text())["server_facts"].values()
    ]
    return {match[1] for text in said if (match := re.search(r"revision (\S+)", text))}


def complaints(name, text, folder):
    """What is missing in the section of a result."""
    missing = []
    if not re.search(r"^    (?:make|python3|[A-Z]+=.*\n    make) ", text, re.MULTILINE):
        missing.append("a command")
    entries = dict(re.findall(r"^- ([\w ]+): (.+(?:\n  .+)*)", text, re.MULTILINE))
    missing += [entry for entry in ("Machine", "What else ran") if entry not in entries]
    revision = entries.get("Revision", "")
    named = re.findall(r"`([0-9a-f]{7,40})`", revision)
    if not named:
        missing.append("Revision: with one in `backticks`")
    missing += [f"{one} is not in the history" for one in named if not is_in_history(one)]
    for one in measured(folder):
        if one not in revision:
            missing.append(f"Revision: {one}, as run.json has it")
        elif one not in named and "in no history" not in revision:
            missing.append(f"that {one} is in no history")
    return [f"{name}: {what}" for what in missing]


def test_each_result_says_how_it_was_made():
    said = sections((RESULTS / "README.md").read_text())
    assert sorted(said) == FOLDERS
    assert [line for name in FOLDERS for line in complaints(name, said[name], RESULTS / name)] == []


def test_what_a_command_draws_is_not_committed():
    listed = git("ls-files", "docs/results").stdout.split()
    if not listed:
        pytest.fail("no results are committed, or this is no checkout")
    assert [name for name in listed if name.endswith(".html")] == []
    for name in listed:
        if "/plots/" in name:
            folder = ROOT / name.partition("/plots/")[0]
            assert f"(plots/{name.rpartition('/')[2]})" in (folder / "report.md").read_text()


GOOD = """
It shows something.

    make bench RUN=one

- Revision: `{revision}`, today.
- Machine: M1.
- What else ran: nothing.
"""


def test_a_section_that_lacks_something_is_noticed(tmp_path):
    head = git("rev-parse", "HEAD").stdout.strip()[:12]
    good = GOOD.format(revision=head)
    assert complaints("one", good, tmp_path) == []
    for lost, what in [
        ("    make bench RUN=one\n", "a command"),
        ("- Machine: M1.\n", "Machine"),
        ("- What else ran: nothing.\n", "What else ran"),
        (f"`{head}`", "Revision: with one in `backticks`"),
    ]:
        assert complaints("one", good.replace(lost, ""), tmp_path) == [f"one: {what}"]
    facts = {"sluice": {"comment": "Sluice Server (GPL), revision 30bd9c4de8a1"}}
    (tmp_path / "run.json").write_text(json.dumps({"server_facts": facts}))
    assert complaints("one", good, tmp_path) == ["one: Revision: 30bd9c4de8a1, as run.json has it"]
    other = good.replace("today", "not 30bd9c4de8a1")
    assert complaints("one", other, tmp_path) == ["one: that 30bd9c4de8a1 is in no history"]
