"""What README and docs/user tell people to type."""

import re

import commands
import pytest
from conftest import ROOT


def test_every_command_is_marked_and_the_cheap_ones_work(capfd):
    assert commands.run(long=False)
    assert capfd.readouterr().out.count("commands: docs/user/") >= 1


def test_a_command_without_a_mark_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    for mark in ("", "<!-- command: later -->\n", "<!-- sql -->\n"):
        page.write_text(f"Text.\n\n{mark}```sh\nmake\n```\n")
        with pytest.raises(ValueError, match="page.md:.* no mark"):
            list(commands.commands(page, tmp_path))
    page.write_text("<!-- command: long, a build -->\n```sh\nmake\n```\n")
    (command,) = commands.commands(page, tmp_path)
    assert (command.text, command.reason, command.ever) == ("make\n", "a build", True)


def test_a_block_in_a_list_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "1. Text:\n\n   <!-- command: not run, no -->\n   ```sh\n   make\n     a\n   ```\n"
    )
    (command,) = commands.commands(page, tmp_path)
    assert (command.text, command.reason, command.ever) == ("make\n  a\n", "no", False)


def test_a_block_without_a_language_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```\nmake\n```\n\n```text\nmade\n```\n")
    with pytest.raises(ValueError, match="page.md:3: the language"):
        list(commands.commands(page, tmp_path))
    page.write_text("```text\nmade\n```\n")
    assert list(commands.commands(page, tmp_path)) == []


def test_links_lead_somewhere():
    """Files, and headings of Markdown files."""
    lost = []
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")]
    for page in [*pages, ROOT / "bench/README.md"]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, heading = link.partition("#")
            target = (page.parent / file) if file else page
            if not target.exists() or (heading and heading not in anchors(target)):
                lost.append(f"{page.relative_to(ROOT)}: {link}")
    assert lost == []


def anchors(page):
    """As GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_files_that_the_architecture_names_exist():
    page = (ROOT / "docs/architecture.md").read_text()
    names = set(re.findall(r"[\w/]+\.(?:cc|h|ic|sql)\b", page))
    trees = [ROOT / "build/upstream", ROOT]
    folders = ["", "sql", "sql/binlog/purge", "plugin/lru_stats", "storage/innobase"]
    folders += [f"storage/innobase/{folder}" for folder in ("include", "buf", "fil")]
    places = [tree / folder for tree in trees for folder in folders]
    assert len(names) > 30
    lost = [name for name in names if not any((place / name).is_file() for place in places)]
    assert lost == []
