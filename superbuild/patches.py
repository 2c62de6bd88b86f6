#!/usr/bin/env python3
"""The patch series: put on upstream, taken apart into commits, written back.

  patches.py apply  UPSTREAM TREE [--only PATCH]   what the build uses
  patches.py import UPSTREAM TREE                  TREE becomes a git work tree,
                                                   one commit a patch
  patches.py export UPSTREAM TREE                  its commits become patches/
                                                   and our own files again
  patches.py forget UPSTREAM TREE                  TREE is a plain tree again
  patches.py check  UPSTREAM TREE                  does all of it still fit?
  patches.py report UPSTREAM PATCH DIR             one patch as a bug report

UPSTREAM is the pristine tree and is never written to. A patch file holds only
changes to upstream's own files; files of ours lie in this repository at the
path they have in the server tree, and each belongs to the one patch whose
header names it (Files:). That is what an exported commit is split into.
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "patches"
# Where files of ours may lie; the same folders as in the server tree.
OWN_FOLDERS = ("mysql-test", "plugin", "sql", "storage")
TRAILERS = ("Bug", "Tests", "Files", "Forwarded")
MAX_CONTEXT = 8
# Editors' and test runs' left-overs are nobody's files.
IGNORED = re.compile(r"(~|\.orig|\.rej|\.reject|\.sw[op]|\.pyc)$|(^|/)\.#")


# Upstream's files are not all valid UTF-8; what is read is written unchanged.
LOSSLESS = {"encoding": "utf-8", "errors": "surrogateescape"}


class Problem(Exception):
    """Something the user can mend; the text says what and how."""


# --- the series ------------------------------------------------------------


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
        return re.findall(r"^\+\+\+ b/(.*)$", self.diff, re.M)

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
        body = re.sub(r"^[A-Z][A-Za-z-]+: .*$", "", self.header, flags=re.M)
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
            r"^([A-Z][A-Za-z-]*): ((?:.*(?:\n[ \t].*)*))", last, re.M
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


# --- putting it together ---------------------------------------------------


def run_git(*args, cwd):
    """The finished process. Never finds the repository that cwd may lie in."""
    env = dict(os.environ, LC_ALL="C", GIT_CEILING_DIRECTORIES=str(Path(cwd).parent))
    return subprocess.run(["git", *args], cwd=cwd, env=env, capture_output=True)


def git_bytes(*args, cwd):
    run = run_git(*args, cwd=cwd)
    if run.returncode:
        reason = run.stderr.decode(errors="replace").strip()
        raise Problem(f"git {' '.join(args[:2])} in {cwd}: {reason}")
    return run.stdout


def git(*args, cwd):
    return git_bytes(*args, cwd=cwd).decode(errors="surrogateescape")


def stage_upstream(upstream, staging, files):
    for name in files:
        source = upstream / name
        if source.is_file() and not (staging / name).exists():
            (staging / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, staging / name)
            shutil.copymode(source, staging / name)


def apply_one(patch, upstream, staging):
    """Applies patch to the copies in staging; a Problem names file and hunk."""
    stage_upstream(upstream, staging, patch.upstream_files())
    for name in re.findall(r"^--- a/(.*)$", patch.diff, re.M):
        if not (staging / name).is_file():
            raise Problem(
                f"patches/{patch.name}.patch does not apply: upstream has no file {name}"
            )
    if re.search(r"^--- /dev/null$", patch.diff, re.M):
        raise Problem(
            f"patches/{patch.name}.patch creates a file; new files are ours: they lie "
            "in this repository and the header names them under Files:"
        )
    if not patch.diff:
        return
    run = run_git("apply", "--whitespace=nowarn", str(patch.file), cwd=staging)
    if run.returncode:
        raise Problem(describe_failure(patch, run.stderr.decode(errors="replace")))


def describe_failure(patch, stderr):
    lines = [f"patches/{patch.name}.patch does not apply; nothing was changed"]
    for name, line in re.findall(r"patch failed: (.+):(\d+)", stderr):
        lines.append(f"  file {name}, the hunk at line {line}:")
        section = patch.diff.split(f"--- a/{name}\n", 1)[-1]
        for hunk in re.split(r"^(?=@@ )", section.split("\ndiff --git ", 1)[0], flags=re.M):
            if hunk.startswith(f"@@ -{line},") or hunk.startswith(f"@@ -{line} "):
                lines += ["    " + text for text in hunk.rstrip("\n").split("\n")]
    if len(lines) == 1:
        lines.append("  " + stderr.strip().replace("\n", "\n  "))
    lines.append("  Mend it in the work tree of 'make patches-import', see CONTRIBUTING.md.")
    return "\n".join(lines)


def add_own(names, upstream, staging):
    for name in names:
        if (upstream / name).exists():
            raise Problem(
                f"{name} exists upstream: change it by a patch, not by a file of ours"
            )
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, staging / name)
        shutil.copymode(ROOT / name, staging / name)


def stage_all(upstream, staging, only=None):
    """Everything that differs from upstream, laid out in staging."""
    if only:
        patch = find_patch(only)
        apply_one(patch, upstream, staging)
        add_own(patch.own_files(), upstream, staging)
        return
    for patch in read_series():
        apply_one(patch, upstream, staging)
    add_own(all_own_files(), upstream, staging)


def files_below(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def command_apply(upstream, tree, only=None):
    """Brings tree to upstream + series + own files, touching only what differs.

    All is made in a folder beside it first, so that a patch that does not apply
    leaves tree as it was. An imported work tree is its developer's: left alone.
    """
    if (tree / ".git").is_dir():
        print(f"patches: building the work tree of patches-import as it is: {tree}")
        return
    manifest = tree.with_name(tree.name + ".manifest")
    origin = Path(str(upstream) + ".stamp").read_text()
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix="staging.") as temporary:
        staging = Path(temporary)
        stage_all(upstream, staging, only)
        wanted = files_below(staging)

        recorded = manifest.read_text() if manifest.is_file() else ""
        if not tree.is_dir() or not recorded.startswith(origin):
            print(f"patches: copying the pristine tree to {tree} (1 GB)", flush=True)
            copy_tree(upstream, tree)
            recorded = origin
        ours = set(recorded[len(origin):].split("\n")) - {""}
        manifest.write_text(origin + "\n".join(sorted(ours | wanted)) + "\n")

        changed = 0
        for name in sorted(wanted):
            changed += replace_if_different(staging / name, tree / name)
        for name in sorted(ours - wanted):
            changed += 1
            if (upstream / name).is_file():
                replace_if_different(upstream / name, tree / name)
            else:
                (tree / name).unlink(missing_ok=True)
        manifest.write_text(origin + "\n".join(sorted(wanted)) + "\n")
    what = f"the patch {only} alone" if only else f"{len(read_series())} patches"
    print(f"patches: {tree.name} is upstream with {what}, {changed} files brought up to date")


def copy_tree(source, target):
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", source, partial], check=True)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def replace_if_different(source, target):
    """A new file under the old name, with the time of now, so make sees it."""
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(target.name + ".new~")
    shutil.copyfile(source, new)
    shutil.copymode(source, new)
    new.replace(target)
    return 1


# --- the work tree ---------------------------------------------------------

UPSTREAM_TAG = "upstream"
IDENTITY = ("-c", "user.name=Sluice", "-c", "user.email=sluice@localhost",
            "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false")


def command_import(upstream, tree):
    if (tree / ".git").is_dir():
        differences = work_tree_differences(upstream, tree)
        if not differences:
            remember_checkout(tree)
            print(f"patches: {tree} is imported already and matches patches/")
            return
        raise Problem(
            f"{tree} is an imported work tree that differs from patches/:\n"
            + "\n".join(f"  {line}" for line in differences[:20])
            + "\n  'make patches-export' writes it back; 'make patches-forget' drops it."
        )
    command_apply(upstream, tree)  # refuses a series that does not apply
    # Back to pristine by the manifest, then forward one commit a patch.
    for name in files_of_manifest(tree):
        if (upstream / name).is_file():
            replace_if_different(upstream / name, tree / name)
        else:
            (tree / name).unlink(missing_ok=True)
    print("patches: committing the pristine tree (a minute)", flush=True)
    try:
        git("init", "--quiet", "--initial-branch=sluice", cwd=tree)
        git("add", "--all", "--force", ".", cwd=tree)
        version = (tree / "MYSQL_VERSION").read_text()
        number = ".".join(re.findall(r"^MYSQL_VERSION_(?:MAJOR|MINOR|PATCH)=(\d+)", version, re.M))
        git(*IDENTITY, "commit", "--quiet", "-m", f"MySQL {number}, as released", cwd=tree)
        git("tag", UPSTREAM_TAG, cwd=tree)
        git("config", "gc.pruneExpire", "never", cwd=tree)  # of what is remembered
        for patch in read_series():
            if patch.diff:
                git("apply", "--index", "--whitespace=nowarn", str(patch.file), cwd=tree)
            own = patch.own_files()
            add_own(own, upstream, tree)
            if own:
                git("add", "--force", "--", *own, cwd=tree)
            git(*IDENTITY, "commit", "--quiet", "--allow-empty", "--cleanup=verbatim",
                "-m", f"{patch.message}Patch-Name: {patch.name}\n", cwd=tree)
            print(f"patches: committed {patch.name}", flush=True)
        remember_checkout(tree)
    except BaseException:
        shutil.rmtree(tree / ".git", ignore_errors=True)
        command_apply(upstream, tree)
        raise
    print(f"patches: edit, commit and test in {tree}, then 'make patches-export'")


def command_forget(upstream, tree):
    """Drops the commits; refuses to lose what patches/ does not hold."""
    if not (tree / ".git").is_dir():
        raise Problem(f"{tree} is no imported work tree")
    differences = work_tree_differences(upstream, tree)
    if differences:
        raise Problem(
            f"{tree} holds what patches/ does not:\n"
            + "\n".join(f"  {line}" for line in differences[:20])
            + f"\n  'make patches-export' keeps it; to lose it, remove {tree / '.git'} by hand."
        )
    shutil.rmtree(tree / ".git")
    command_apply(upstream, tree)


def files_of_manifest(tree):
    lines = tree.with_name(tree.name + ".manifest").read_text().split("\n")
    return [line for line in lines[2:] if line]


def command_export(upstream, tree):
    if not (tree / ".git").is_dir():
        raise Problem(f"{tree} is no imported work tree; 'make patches-import' makes one")
    dirty = git("status", "--porcelain", "--untracked-files=all", cwd=tree).splitlines()
    dirty = [line for line in dirty if not IGNORED.search(line[3:])]
    if dirty:
        raise Problem(
            f"{tree} has changes that no commit holds; commit them first:\n"
            + "\n".join(f"  {line}" for line in dirty[:20])
        )
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary)
        exported = export_to(upstream, tree, out)
        written = {f"patches/{name}": out / "patches" / name for name in files_below(out / "patches")}
        written |= {name: out / "own" / name for name in files_below(out / "own")}
        removed = set(all_own_files()) - set(written)
        removed |= {f"patches/{old.name}" for old in PATCHES.glob("*.patch")} - set(written)
        refuse_to_lose(tree, written, removed)
        for name in sorted(removed):
            (ROOT / name).unlink()
            print(f"patches: removed {name}")
        for name in sorted(written):
            if replace_if_different(written[name], ROOT / name):
                print(f"patches: wrote {name}")
    print(f"patches: exported {len(exported)} patches")


def refuse_to_lose(tree, written, removed):
    """Stops an export that would delete or overwrite what the work tree has never had.

    That git has it here, staged or committed, does not help: it is newer than the work
    tree, and would be lost unnoticed. The work tree's objects hold its own commits, what
    was here when it was imported, and, as the last line sees to, what exports have written.
    """
    at_stake = sorted(removed) + sorted(
        name for name, new in written.items()
        if (ROOT / name).is_file() and not filecmp.cmp(new, ROOT / name, shallow=False)
    )
    blobs = hash_files([ROOT / name for name in at_stake], tree)
    held = blobs_held(blobs, tree)
    lost = [name for name, blob in zip(at_stake, blobs) if blob not in held]
    if lost:
        raise Problem(
            "nothing was exported: these files would be deleted or overwritten, and the "
            "work tree has never had what they hold:\n"
            + "\n".join(f"  {name}" for name in lost)
            + f"\n  Bring them into a commit in {tree}; or remove them here, if they may go."
        )
    hash_files(list(written.values()), tree, "-w")


def remember_checkout(tree):
    """What lies here and is the same in the work tree: an export may overwrite it."""
    files = [*PATCHES.glob("*.patch"), PATCHES / "series"]
    hash_files(files + [ROOT / name for name in all_own_files()], tree, "-w")


def hash_files(paths, tree, *options):
    """The blob names of files; with -w they become objects of tree's repository."""
    if not paths:
        return []
    return git("hash-object", "--no-filters", *options, "--", *map(str, paths), cwd=tree).split()


def blobs_held(blobs, repository):
    """Those of blobs that the repository has."""
    return {
        blob for blob in blobs
        if run_git("cat-file", "-e", blob, cwd=repository).returncode == 0
    }


def export_to(upstream, tree, out):
    """Writes out/patches and out/own from the commits; returns patch names."""
    (out / "patches").mkdir(parents=True)
    (out / "own").mkdir()
    names = []
    commits = git("rev-list", "--reverse", f"{UPSTREAM_TAG}..HEAD", cwd=tree).split()
    last_owner = {}
    for commit in commits:
        message = git("log", "-1", "--format=%B", commit, cwd=tree).rstrip("\n") + "\n"
        trailers = parse_trailers(message)
        name = trailers.get("Patch-Name") or slug(message)
        if name in names:
            raise Problem(f"two commits are named {name}: squash them or give one another Patch-Name:")
        names.append(name)
        message = re.sub(r"^Patch-Name: .*\n", "", message, flags=re.M)
        diff, own = "", []
        changes = git("diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames",
                      commit, cwd=tree).splitlines()
        for status, path in (line.split("\t") for line in changes):
            if (upstream / path).exists():
                if status == "D":
                    raise Problem(f"commit {name} deletes upstream's {path}; patches only change files")
                diff += smallest_diff(tree, commit, path)
            else:
                own.append(path)
                last_owner[path] = name
        listed = split_list(trailers.get("Files", ""))
        stray = [p for p in own if not any(p == e or p.startswith(e + "/") for e in listed)]
        if stray:
            raise Problem(
                f"commit {name} holds files of ours that its Files: field does not name: "
                + ", ".join(stray)
            )
        (out / "patches" / f"{name}.patch").write_text(f"Subject: {message}\n{diff}", **LOSSLESS)
    for path in last_owner:
        if (tree / path).is_file():
            (out / "own" / path).parent.mkdir(parents=True, exist_ok=True)
            (out / "own" / path).write_bytes(git_bytes("show", f"HEAD:{path}", cwd=tree))
            shutil.copymode(tree / path, out / "own" / path)
    series = PATCHES / "series"
    comment = [l for l in series.read_text().splitlines() if l.startswith("#")] if series.is_file() else []
    (out / "patches" / "series").write_text("\n".join(comment + [f"{n}.patch" for n in names]) + "\n")
    return names


def slug(message):
    subject = message.split("\n", 1)[0].split(":", 1)[0]
    return re.sub(r"[^a-z0-9_]+", "-", subject.lower()).strip("-")


def smallest_diff(tree, commit, path):
    """The file's diff with the least context that fits in one place only."""
    base = git("show", f"{UPSTREAM_TAG}:{path}", cwd=tree)
    for context in range(1, MAX_CONTEXT + 1):
        diff = git("diff", "--no-color", "--no-ext-diff", "--no-renames", f"-U{context}",
                   f"{commit}^", commit, "--", path, cwd=tree)
        hunks = re.split(r"^(?=@@ )", diff, flags=re.M)[1:]
        if all(base.count(before(hunk)) == 1 for hunk in hunks):
            break
    # Blob names are of no use without upstream's history.
    return re.sub(r"^index .*\n", "", diff, flags=re.M)


def before(hunk):
    lines = hunk.split("\n")[1:]
    return "".join(l[1:] + "\n" for l in lines if l[:1] in (" ", "-"))


def work_tree_differences(upstream, tree):
    """Lines that say how an imported tree and this repository differ."""
    differences = []
    dirty = git("status", "--porcelain", "--untracked-files=all", cwd=tree).splitlines()
    differences += [f"not committed: {line}" for line in dirty if not IGNORED.search(line[3:])]
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary)
        export_to(upstream, tree, out)
        for name in sorted(files_below(out / "patches") | {p.name for p in PATCHES.glob("*.patch")}):
            differences += compare(out / "patches" / name, PATCHES / name, f"patches/{name}")
        for name in sorted(files_below(out / "own") | set(all_own_files())):
            differences += compare(out / "own" / name, ROOT / name, name)
    return differences


def compare(exported, stored, name):
    if not stored.is_file():
        return [f"{name}: only in the work tree"]
    if not exported.is_file():
        return [f"{name}: only in this repository"]
    if not filecmp.cmp(exported, stored, shallow=False):
        return [f"{name}: differs"]
    return []


# --- checks and reports ----------------------------------------------------


def command_check(upstream, tree):
    problems = []
    series = read_series()
    for path in sorted(PATCHES.glob("*.patch")):
        if path.stem not in [patch.name for patch in series]:
            problems.append(f"patches/{path.name} is not in patches/series")
    owners = {}
    for patch in series:
        problems += [f"patches/{patch.name}.patch: {text}" for text in patch.header_problems()]
        try:
            for name in patch.own_files():
                owners.setdefault(name, []).append(patch.name)
            with tempfile.TemporaryDirectory() as alone:
                apply_one(patch, upstream, Path(alone))
        except Problem as problem:
            problems.append(f"alone on pristine upstream: {problem}")
    for name in all_own_files():
        if len(owners.get(name, [])) != 1:
            whose = " and ".join(owners.get(name, [])) or "no patch"
            problems.append(f"{name} belongs to {whose}; one header's Files: must name it")
    try:
        with tempfile.TemporaryDirectory() as together:
            stage_all(upstream, Path(together))
    except Problem as problem:
        problems.append(f"one after the other: {problem}")
    if (tree / ".git").is_dir():
        problems += [f"work tree: {line}" for line in work_tree_differences(upstream, tree)]
    if problems:
        raise Problem("\n".join(dict.fromkeys(problems)))
    compared = "matches the work tree" if (tree / ".git").is_dir() else "no work tree is imported"
    print(f"patches: {len(series)} patches, each applies alone and in series; "
          f"{len(owners)} files of ours, each with one owner; {compared}")


def command_report(upstream, name, folder):
    """A folder to hand over: complete patch, tests and the report's text."""
    patch = find_patch(name)
    own = patch.own_files()
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        before_tree, after_tree = Path(temporary) / "a", Path(temporary) / "b"
        before_tree.mkdir()
        after_tree.mkdir()
        stage_upstream(upstream, before_tree, patch.upstream_files())
        apply_one(patch, upstream, after_tree)
        add_own(own, upstream, after_tree)
        run = run_git("diff", "--no-index", "--no-color", "--no-renames", "--no-prefix",
                      "a", "b", cwd=temporary)
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
    ran = sorted({
        f"{suite}.{test}"
        for suite, test in re.findall(r"^mysql-test/suite/([^/]+)/t/([^/]+)\.test$", "\n".join(tests), re.M)
    })
    version = re.search(r"^UPSTREAM_VERSION=(.*)$", (ROOT / "upstream/pin").read_text(), re.M)[1]
    note = ROOT / "docs/design" / f"{patch.name}.md"
    sections = {}
    if note.is_file():
        for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", note.read_text(), re.M | re.S):
            # Links into this repository lead nowhere else.
            text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
            sections[title.lower()] = text.strip("\n")
    effect = sections.get("measured", "Not a change of speed; nothing was measured.")
    repeat = sections.get("how to repeat", "The tests in this folder fail without the patch.")
    lines = [
        f"# {patch.subject}", "",
        f"Version: {version}", f"Bug: {patch.trailers['Bug']}", "",
        "## Description", "", body, "",
        "## How to repeat", "", repeat, "",
        "    mysql-test-run.pl " + " ".join(ran), "",
        "## Suggested fix", "",
        f"`{patch.name}.patch` in this folder, on pristine MySQL {version} with `patch -p1`.", "",
        "## Measured effect", "", effect, "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("apply", "import", "export", "check", "forget"):
        command = commands.add_parser(name)
        command.add_argument("upstream", type=Path)
        command.add_argument("tree", type=Path)
        if name == "apply":
            command.add_argument("--only", metavar="PATCH")
    command = commands.add_parser("report")
    command.add_argument("upstream", type=Path)
    command.add_argument("patch")
    command.add_argument("folder", type=Path)
    arguments = vars(parser.parse_args())
    function = globals()[f"command_{arguments.pop('command')}"]
    for name in ("upstream", "tree", "folder"):
        if name in arguments:
            arguments[name] = arguments[name].absolute()
    if not (arguments["upstream"] / "MYSQL_VERSION").is_file():
        sys.exit(f"patches: error: {arguments['upstream']} is no MySQL source tree; 'make upstream' gets one")
    try:
        if "folder" in arguments:
            function(arguments["upstream"], arguments["patch"], arguments["folder"])
        else:
            function(**arguments)
    except Problem as problem:
        sys.exit(f"patches: error: {problem}")
    except OSError as error:  # a full disk, a folder of somebody else's
        sys.exit(f"patches: error: {error.filename or ''}: {error.strerror}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"patches: error: {error.cmd[0]} failed, see above")


if __name__ == "__main__":
    main()
