"""make upstream-report: what can be handed to upstream is whole, and stands on its own."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

PATCHES = re.findall(r"^(\w+)\.patch$", (ROOT / "patches/series").read_text(), re.MULTILINE)


@pytest.mark.parametrize("patch", PATCHES)
def test_report(patch, tmp_path):
    upstream = ROOT / "build/upstream"
    command = [sys.executable, ROOT / "superbuild/patches.py", "report"]
    subprocess.run([*command, upstream, patch, tmp_path], check=True, capture_output=True)

    text = (tmp_path / "report.md").read_text()
    sections = dict(re.findall(r"^## (.+?)\n+(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert list(sections) == ["Description", "How to repeat", "Suggested fix", "Measured effect"]
    assert all(len(section.split()) > 5 for section in sections.values())
    assert not re.search(r"\]\((?!https?:)", text), "a link into our repository"
    # Each test that it tells to run is there, and the patch applies by the tool it names.
    (tests,) = re.findall(r"mysql-test-run\.pl (.+)", text)
    for test in tests.split():
        suite, name = test.split(".")
        assert (tmp_path / f"mysql-test/suite/{suite}/t/{name}.test").is_file()
    dry_run = ["patch", "-p1", "--dry-run", "--force", "--directory", upstream]
    dry_run += ["--input", tmp_path / f"{patch}.patch"]
    done = subprocess.run(dry_run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "fuzz" not in done.stdout
