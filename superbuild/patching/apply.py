# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Upstream, patches and our own files put together."""

import fcntl
import filecmp
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from patching.git import run_git
from patching.problem import Problem
from patching.series import ROOT, all_own_files, find_patch, read_series


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
    for name in re.findall(r"^--- a/(.*)$", patch.diff, re.MULTILINE):
        if not (staging / name).is_file():
            raise Problem(f"patches/{patch.name}.patch does not apply: upstream has no file {name}")
    if re.search(r"^--- /dev/null$", patch.diff, re.MULTILINE):
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
        for hunk in re.split(r"^(?=@@ )", section.split("\ndiff --git ", 1)[0], flags=re.MULTILINE):
            if hunk.startswith((f"@@ -{line},", f"@@ -{line} ")):
                lines += ["    " + text for text in hunk.rstrip("\n").split("\n")]
    if len(lines) == 1:
        lines.append("  " + stderr.strip().replace("\n", "\n  "))
    lines.append("  Mend it in the work tree of 'make patches-import', see CONTRIBUTING.md.")
    return "\n".join(lines)


def add_own(names, upstream, staging):
    for name in names:
        if (upstream / name).exists():
            raise Problem(f"{name} exists upstream: change it by a patch, not by a file of ours")
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
    # Two builds of one checkout may begin at once.
    with (
        open(tree.with_name(tree.name + ".lock"), "w") as lock,
        tempfile.TemporaryDirectory(dir=tree.parent, prefix="staging.") as temporary,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        staging = Path(temporary)
        stage_all(upstream, staging, only)
        wanted = files_below(staging)

        recorded = manifest.read_text() if manifest.is_file() else ""
        if not tree.is_dir() or not recorded.startswith(origin):
            print(f"patches: copying the pristine tree to {tree} (1 GB)", flush=True)
            copy_tree(upstream, tree)
            recorded = origin
        ours = set(recorded[len(origin) :].split("\n")) - {""}
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
    partial.mkdir()
    try:
        # What is in it, as it may be a link: the patches would go to where it leads.
        subprocess.run(["cp", "-a", "--reflink=auto", f"{source}/.", partial], check=True)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    finally:  # a disk that is full has no room for a part
        shutil.rmtree(partial, ignore_errors=True)


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
