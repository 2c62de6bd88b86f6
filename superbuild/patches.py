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
import subprocess
import sys
from pathlib import Path

from patching.apply import command_apply
from patching.check import command_check
from patching.problem import Problem
from patching.report import command_report
from patching.work_tree import command_export, command_forget, command_import

COMMANDS = {
    "apply": command_apply,
    "import": command_import,
    "export": command_export,
    "check": command_check,
    "forget": command_forget,
    "report": command_report,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    function = COMMANDS[arguments.pop("command")]
    for name in ("upstream", "tree", "folder"):
        if name in arguments:
            arguments[name] = arguments[name].absolute()
    if not (arguments["upstream"] / "MYSQL_VERSION").is_file():
        sys.exit(
            f"patches: error: {arguments['upstream']} is no MySQL source tree; 'make upstream' gets one"
        )
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
