# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The series as commits of a git work tree, one a patch, and written back from them."""

import filecmp
import re
import shutil
import tempfile
from pathlib import Path

from patching.apply import add_own, command_apply, files_below, replace_if_different
from patching.git import git, git_bytes, run_git
from patching.problem import Problem
from patching.series import (
    IGNORED,
    LOSSLESS,
    PATCHES,
    ROOT,
    all_own_files,
    parse_trailers,
    read_series,
    split_list,
)

UPSTREAM_TAG = "upstream"
IDENTITY = (
    "-c",
    "user.name=Sluice",
    "-c",
    "user.email=sluice@localhost",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.autocrlf=false",
)
MAX_CONTEXT = 8


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
    # It gets its name when it is complete: an import that is killed leaves no work tree.
    partial = tree.with_name(tree.name + ".git.partial")
    shutil.rmtree(partial, ignore_errors=True)

    def commits(*arguments):
        return git(f"--git-dir={partial}", f"--work-tree={tree}", *arguments, cwd=tree)

    try:
        commits("init", "--quiet", "--initial-branch=sluice")
        commits("add", "--all", "--force", ".")
        version = (tree / "MYSQL_VERSION").read_text()
        number = ".".join(
            re.findall(r"^MYSQL_VERSION_(?:MAJOR|MINOR|PATCH)=(\d+)", version, re.MULTILINE)
        )
        commits(*IDENTITY, "commit", "--quiet", "-m", f"MySQL {number}, as released")
        commits("tag", UPSTREAM_TAG)
        commits("config", "gc.pruneExpire", "never")  # of what is remembered
        for patch in read_series():
            if patch.diff:
                commits("apply", "--index", "--whitespace=nowarn", str(patch.file))
            own = patch.own_files()
            add_own(own, upstream, tree)
            if own:
                commits("add", "--force", "--", *own)
            commits(
                *IDENTITY,
                "commit",
                "--quiet",
                "--allow-empty",
                "--cleanup=verbatim",
                "-m",
                f"{patch.message}Patch-Name: {patch.name}\n",
            )
            print(f"patches: committed {patch.name}", flush=True)
        commits("config", "--unset", "core.worktree")
        partial.rename(tree / ".git")
        remember_checkout(tree)
    except BaseException:
        for folder in (partial, tree / ".git"):
            shutil.rmtree(folder, ignore_errors=True)
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
        written = {
            f"patches/{name}": out / "patches" / name for name in files_below(out / "patches")
        }
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
        name
        for name, new in written.items()
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
        blob for blob in blobs if run_git("cat-file", "-e", blob, cwd=repository).returncode == 0
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
            raise Problem(
                f"two commits are named {name}: squash them or give one another Patch-Name:"
            )
        names.append(name)
        message = re.sub(r"^Patch-Name: .*\n", "", message, flags=re.MULTILINE)
        diff, own = "", []
        changes = git(
            "diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", commit, cwd=tree
        ).splitlines()
        for status, path in (line.split("\t") for line in changes):
            if (upstream / path).exists():
                if status == "D":
                    raise Problem(
                        f"commit {name} deletes upstream's {path}; patches only change files"
                    )
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
    comment = (
        [l for l in series.read_text().splitlines() if l.startswith("#")]
        if series.is_file()
        else []
    )
    (out / "patches" / "series").write_text(
        "\n".join(comment + [f"{n}.patch" for n in names]) + "\n"
    )
    return names


def slug(message):
    subject = message.split("\n", 1)[0].split(":", 1)[0]
    return re.sub(r"[^a-z0-9_]+", "-", subject.lower()).strip("-")


def smallest_diff(tree, commit, path):
    """The file's diff with the least context that fits in one place only."""
    base = git("show", f"{UPSTREAM_TAG}:{path}", cwd=tree)
    for context in range(1, MAX_CONTEXT + 1):
        diff = git(
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-renames",
            f"-U{context}",
            f"{commit}^",
            commit,
            "--",
            path,
            cwd=tree,
        )
        hunks = re.split(r"^(?=@@ )", diff, flags=re.MULTILINE)[1:]
        if all(base.count(before(hunk)) == 1 for hunk in hunks):
            break
    # Blob names are of no use without upstream's history.
    return re.sub(r"^index .*\n", "", diff, flags=re.MULTILINE)


def before(hunk):
    lines = hunk.split("\n")[1:]
    return "".join(l[1:] + "\n" for l in lines if l[:1] in (" ", "-"))


def work_tree_differences(upstream, tree):
    """Lines that say how an imported tree and this repository differ."""
    differences = []
    dirty = git("status", "--porcelain", "--untracked-files=all", cwd=tree).splitlines()
    differences += [f"not committed: {line}" for line in dirty if not IGNORED.search(line[3:])]
    # What is stashed, or on another branch.
    elsewhere = git("log", "--all", "--format=%h %s", "--not", "HEAD", cwd=tree).splitlines()
    differences += [f"not on this branch: {line}" for line in elsewhere]
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary)
        export_to(upstream, tree, out)
        for name in sorted(
            files_below(out / "patches") | {p.name for p in PATCHES.glob("*.patch")}
        ):
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
