# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The keyring that keeps its keys in a file, for servers that tests start."""

import json
import shutil
from pathlib import Path

LIBRARY = "component_keyring_file.so"
#: For a file mysqld.my, beside the server's binary or in its data directory.
MANIFEST = json.dumps({"components": "file://component_keyring_file"})


def plugins(source: Path, folder: Path, settings: str) -> None:
    """A folder of plugins: links to those of source, and the keyring with its settings, which it
    reads beside itself."""
    folder.mkdir()
    for library in source.glob("*.so"):
        if library.name != LIBRARY:
            (folder / library.name).symlink_to(library)
    shutil.copy2(source / LIBRARY, folder)
    configure(folder, settings)


def configure(folder: Path, settings: str) -> None:
    """Settings in a folder of plugins, or in a data directory if those say so."""
    (folder / "component_keyring_file.cnf").write_text(settings, encoding="ascii")


def kept_in(file: Path) -> str:
    """Settings: the keys are in that file."""
    return json.dumps({"path": str(file), "read_only": False})
