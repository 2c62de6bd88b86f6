# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""One patch as a bug report to upstream."""

import re
import shutil
import tempfile
from pathlib import Path

from patching.apply import add_own, apply_one, stage_upstream
from patching.git import run_git
from patching.problem import Problem
from patching.series import ROOT, find_patch


def command_report(upstream, name, folder):
    """A folder to hand over: complete patch, tests and the report's text."""
    patch = find_patch(name)
    own = patch.own_files()
    if folder.exists():
        if any(folder.iterdir()) and not (folder / f"{patch.name}.patch").is_file():
            raise Problem(f"{folder} is not empty and holds no report; name another folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        before_tree, after_tree = Path(temporary) / "a", Path(temporary) / "b"
        before_tree.mkdir()
        after_tree.mkdir()
        stage_upstream(upstream, before_tree, patch.upstream_files())
        apply_one(patch, upstream, after_tree)
        add_own(own, upstream, after_tree)
        run = run_git(
            "diff",
            "--no-index",
            "--no-color",
            "--no-renames",
            "--no-prefix",
            "a",
            "b",
            cwd=temporary,
        )
        (folder / f"{patch.name}.patch").write_bytes(
            f"Subject: {patch.message}\n".encode() + run.stdout
        )
    tests = [name for name in own if name.startswith("mysql-test/")]
    for test in tests:
        (folder / test).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / test, folder / test)
    (folder / "report.md").write_text(report_text(patch, tests))
    print(f"patches: {folder} holds the complete patch, {len(tests)} test files and report.md")


def report_text(patch, tests):
    body = "\n\n".join(patch.message.strip().split("\n\n")[1:-1])
    ran = sorted(
        {
            f"{suite}.{test}"
            for suite, test in re.findall(
                r"^mysql-test/suite/([^/]+)/t/([^/]+)\.test$", "\n".join(tests), re.MULTILINE
            )
        }
    )
    version = re.search(
        r"^UPSTREAM_VERSION=(.*)$", (ROOT / "upstream/pin").read_text(), re.MULTILINE
    )[1]
    note = ROOT / "docs/design" / f"{patch.name}.md"
    sections = {}
    if note.is_file():
        for title, text in re.findall(
            r"^## (.+?)\n(.*?)(?=^## |\Z)", note.read_text(), re.MULTILINE | re.DOTALL
        ):
            # Links into this repository lead nowhere else.
            text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
            sections[title.lower()] = text.strip("\n")
    effect = sections.get("measured", "Not a change of speed; nothing was measured.")
    repeat = sections.get("how to repeat", "The tests in this folder fail without the patch.")
    lines = [
        f"# {patch.subject}",
        "",
        f"Version: {version}",
        f"Bug: {patch.trailers['Bug']}",
        "",
        "## Description",
        "",
        body,
        "",
        "## How to repeat",
        "",
        repeat,
        "",
        "    mysql-test-run.pl " + " ".join(ran),
        "",
        "## Suggested fix",
        "",
        f"`{patch.name}.patch` in this folder, on pristine MySQL {version} with `patch -p1`.",
        "",
        "## Measured effect",
        "",
        effect,
        "",
    ]
    return "\n".join(lines)
