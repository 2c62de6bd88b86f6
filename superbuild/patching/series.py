# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The series of patches: their headers and diffs, and our own files that belong to them."""

import re
from pathlib import Path

from patching.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
PATCHES = ROOT / "patches"
# Where files of ours may lie; the same folders as in the server tree.
OWN_FOLDERS = ("mysql-test", "plugin", "sql", "storage")
TRAILERS = ("Bug", "Tests", "Files", "Forwarded")
# Editors' and test runs' left-overs are nobody's files.
IGNORED = re.compile(r"(~|\.orig|\.rej|\.reject|\.sw[op]|\.pyc)$|(^|/)\.#")

# Upstream's files are not all valid UTF-8; what is read is written unchanged.
LOSSLESS = {"encoding": "utf-8", "errors": "surrogateescape"}


class Patch:
    """One file of patches/: header (message and trailers) and diff."""

    def __init__(self, name, text):
        self.name = name
        header, found, diff = text.partition("\ndiff --git ")
        self.header = header.strip("\n") + "\n"
        self.diff = "diff --git " + diff if found else ""
        self.trailers = parse_trailers(self.header)

    @property
    def file(self):
        return PATCHES / f"{self.name}.patch"

    @property
    def subject(self):
        return self.header.split("\n", 1)[0].removeprefix("Subject: ").strip()

    @property
    def message(self):
        """The header as a commit message."""
        return self.header.removeprefix("Subject: ")

    def upstream_files(self):
        return re.findall(r"^\+\+\+ b/(.*)$", self.diff, re.MULTILINE)

    def own_files(self):
        """Our files that belong to this patch; folders are walked."""
        files = []
        for entry in split_list(self.trailers.get("Files", "")):
            path = ROOT / entry
            if path.is_dir():
                files += [str(f.relative_to(ROOT)) for f in walk(path)]
            elif path.is_file():
                files.append(entry)
            else:
                raise Problem(
                    f"patches/{self.name}.patch: header field Files: names "
                    f"{entry}, which does not exist in this repository"
                )
        return files

    def header_problems(self):
        body = re.sub(r"^[A-Z][A-Za-z-]+: .*$", "", self.header, flags=re.MULTILINE)
        if not self.header.startswith("Subject: "):
            yield "the header does not begin with 'Subject: '"
        if len(body.split()) < 20:
            yield "the header does not say what the patch does and why"
        for field in TRAILERS:
            if not self.trailers.get(field):
                yield f"header field {field}: is missing or empty"


def parse_trailers(header):
    """Fields 'Name: value' of the last paragraph, continued by indentation."""
    last = header.strip().split("\n\n")[-1]
    return {
        name: re.sub(r"\s+", " ", value).strip()
        for name, value in re.findall(
            r"^([A-Z][A-Za-z-]*): ((?:.*(?:\n[ \t].*)*))", last, re.MULTILINE
        )
    }


def split_list(value):
    items = (item.strip().rstrip("/") for item in value.split(","))
    return [item for item in items if item and item != "none"]


def read_series():
    names = []
    for line in (PATCHES / "series").read_text().splitlines():
        line = line.split("#", 1)[0].strip()
        if line:
            names.append(line.removesuffix(".patch"))
    patches = []
    for name in names:
        path = PATCHES / f"{name}.patch"
        if not path.is_file():
            raise Problem(f"patches/series names {name}.patch, which does not exist")
        patches.append(Patch(name, path.read_text(**LOSSLESS)))
    return patches


def find_patch(name):
    name = Path(name).name.removesuffix(".patch")
    for patch in read_series():
        if patch.name == name:
            return patch
    raise Problem(f"patches/series has no patch named {name!r}")


def walk(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not IGNORED.search(str(path.relative_to(ROOT))):
            yield path


def all_own_files():
    files = []
    for folder in OWN_FOLDERS:
        if (ROOT / folder).is_dir():
            files += [str(f.relative_to(ROOT)) for f in walk(ROOT / folder)]
    return files
