# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs git."""

import os
import subprocess
from pathlib import Path

from patching.problem import Problem


def run_git(*args, cwd):
    """The finished process. Never finds the repository that cwd may lie in."""
    env = dict(os.environ, LC_ALL="C", GIT_CEILING_DIRECTORIES=str(Path(cwd).parent))
    return subprocess.run(["git", *args], cwd=cwd, env=env, capture_output=True, check=False)


def git_bytes(*args, cwd):
    run = run_git(*args, cwd=cwd)
    if run.returncode:
        reason = run.stderr.decode(errors="replace").strip()
        raise Problem(f"git {' '.join(args[:2])} in {cwd}: {reason}")
    return run.stdout


def git(*args, cwd):
    return git_bytes(*args, cwd=cwd).decode(errors="surrogateescape")
