#!/usr/bin/env python3
"""Turns links to files that are not there into their text, in the Markdown files of a folder.

  dead-links.py FOLDER

The packages' documents refer to measurements, patches and sources, which stay in the repository.
"""

import re
import sys
from pathlib import Path

LINK = re.compile(r"!?\[([^][]*)\]\(([^)\s]+)\)")


def without_dead_links(text, folder):
    def kept(link):
        target = link[2].partition("#")[0]
        alive = re.match(r"[a-z]+:", target) or (folder / target).exists()
        return link[0] if alive else link[1]

    return LINK.sub(kept, text)


if __name__ == "__main__":
    for page in sorted(Path(sys.argv[1]).rglob("*.md")):
        page.write_text(without_dead_links(page.read_text(), page.parent))
