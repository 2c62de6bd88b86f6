# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Does each patch still fit, alone and after the others, and has each of our own files one owner?"""

import tempfile
from pathlib import Path

from patching.apply import apply_one, stage_all
from patching.problem import Problem
from patching.series import PATCHES, all_own_files, read_series
from patching.work_tree import work_tree_differences


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
    print(
        f"patches: {len(series)} patches, each applies alone and in series; "
        f"{len(owners)} files of ours, each with one owner; {compared}"
    )
