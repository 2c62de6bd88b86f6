#!/usr/bin/env python3
"""The commands that README and docs/user tell people to type, and whether they work.

    commands.py list           each command, its place, and why it is not run if it is not
    commands.py run            the cheap ones, in a fresh clone
    commands.py run --long     the others, too, in their order: builds, installs, starts servers

A block has a language; ```text is output. ```sh and ```sql have a mark on the line before:

    <!-- command: run -->              cheap, run by `make superbuild-test`
    <!-- command: long, REASON -->     only with --long
    <!-- command: not run, REASON -->
    <!-- sql -->                       run by test_reference.py on its server
    <!-- sql: not run, REASON -->
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In a list a block is indented.
BLOCK = re.compile(
    r"^(?:( *)<!-- ([^\n]*) -->\n)?( *)```(\w*)\n(.*?)^\3```$", re.MULTILINE | re.DOTALL
)
MARKS = {
    "sh": re.compile(r"command: (run|(?P<when>long|not run), (?P<reason>.+))"),
    "sql": re.compile(r"sql(: not run, (?P<reason>.+))?"),
}


@dataclass
class Command:
    place: str
    language: str
    text: str
    reason: str | None
    ever: bool = True


def documents(root):
    return [root / "README.md", *sorted((root / "docs/user").glob("*.md"))]


def commands(path, root=ROOT):
    page = path.read_text()
    for block in BLOCK.finditer(page):
        _, mark, indent, language, text = block.groups()
        place = f"{path.relative_to(root)}:{page[: block.start(5)].count(chr(10))}"
        if language == "text":
            continue
        if language not in MARKS:
            raise ValueError(f"{place}: the language of a block is sh, sql or text")
        known = MARKS[language].fullmatch(mark or "")
        if not known:
            raise ValueError(f"{place}: no mark says whether this is run")
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        ever = known.groupdict().get("when") != "not run"
        yield Command(place, language, text, known["reason"], ever)


def fresh_clone(folder):
    """What a clone of this commit would have, with what has been changed since."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
    changed = ["git", "ls-files", "--modified", "--others", "--exclude-standard", "-z"]
    for name in subprocess.check_output(changed, cwd=ROOT, text=True).split("\0")[:-1]:
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        else:
            (folder / name).unlink()


def run(long):
    """True if all have worked."""
    failed = []
    # Nobody is there to answer a package's questions.
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with tempfile.TemporaryDirectory(prefix="commands-") as temporary:
        clone = Path(temporary) / "sluice"
        fresh_clone(clone)
        for path in documents(clone):
            for command in commands(path, clone):
                if command.language != "sh" or (command.reason and not (long and command.ever)):
                    continue
                print(f"commands: {command.place}\n{command.text}", end="", flush=True)
                shell = ["bash", "-euo", "pipefail", "-c", command.text]
                begin = time.monotonic()
                done = subprocess.run(shell, cwd=clone, env=environment, check=False)
                took = (time.monotonic() - begin) / 60
                print(f"commands: {command.place} took {took:.1f} minutes", flush=True)
                if done.returncode:
                    failed.append(command.place)
    for place in failed:
        print(f"commands: error: {place} failed", file=sys.stderr)
    return not failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("list", "run"))
    parser.add_argument("--long", action="store_true", help="the expensive ones, too")
    options = parser.parse_args()
    if options.what == "run":
        sys.exit(0 if run(options.long) else 1)
    for path in documents(ROOT):
        for command in commands(path):
            print(f"{command.place}: {command.reason or 'run'}")
            print("    " + command.text.rstrip().replace("\n", "\n    "))


if __name__ == "__main__":
    main()
