# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What ends a command of patches.py with a message."""


class Problem(Exception):
    """Something the user can mend; the text says what and how."""
