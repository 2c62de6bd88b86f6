# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the commands of patches.py do.

series.py     the patches, their headers, and our own files
git.py        runs git
apply.py      upstream, patches and our own files put together
work_tree.py  the same as commits of a git work tree, and back
check.py      does all of it still fit?
report.py     one patch as a bug report
problem.py    what ends any of these with a message
"""
