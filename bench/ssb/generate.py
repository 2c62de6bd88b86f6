# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Makes the benchmark's data: five text files, the expected results, and a manifest.

    python -m ssb.generate --scale 1 DIRECTORY

The same scale factor always gives the same bytes; checksums.json has the SHA-256 of each
file at the scale factors that are in use, and a file that differs is an error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from ssb import compare, tpch
from ssb.queries import QUERIES, sql
from ssb.scale import Scale
from ssb.transform import TABLES, export, transform

MANIFEST = "manifest.json"
EXPECTED = "expected.csv"
_CHECKSUMS = Path(__file__).with_name("checksums.json")
# Room for the sort of lineorder at SF 1; beyond, DuckDB spills to the directory.
_MEMORY = "2GB"


@dataclass(frozen=True)
class TableFile:
    """One table's file, <table>.tbl."""

    table: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Data:
    """A directory with complete data."""

    directory: Path
    files: tuple[TableFile, ...]

    def path(self, table: str) -> Path:
        return self.directory / f"{table}.tbl"

    @property
    def expected(self) -> dict[str, list[compare.Row]]:
        """Results of the 13 queries as DuckDB computes them from the same tables."""
        frame = pd.read_csv(self.directory / EXPECTED)
        return compare.from_frame(frame)


def ensure(scale: Scale, directory: Path) -> Data:
    """The data in the directory, made first if it is not there or made by other versions."""
    made_by = {"scale": str(scale), "generator": tpch.generator(), "duckdb": version("duckdb")}
    try:
        manifest = json.loads((directory / MANIFEST).read_text())
    except FileNotFoundError:
        manifest = None
    if manifest is None or manifest["made_by"] != made_by:
        _make(scale, directory, made_by)
        manifest = json.loads((directory / MANIFEST).read_text())
    return Data(directory, tuple(TableFile(**entry) for entry in manifest["files"]))


def _make(scale: Scale, directory: Path, made_by: dict[str, str]) -> None:
    partial = directory.with_name(directory.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        files = _fill(scale, partial)
        manifest = {"made_by": made_by, "files": [asdict(file) for file in files]}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
        shutil.rmtree(directory, ignore_errors=True)
        partial.rename(directory)
    finally:  # Ctrl-C and a full disk too: 1.5 GB at SF 1 that nobody asks for again
        shutil.rmtree(partial, ignore_errors=True)


def _fill(scale: Scale, directory: Path) -> list[TableFile]:
    scratch = directory / "scratch"
    scratch.mkdir(parents=True)
    tpch.generate(scale, scratch)
    settings: dict[str, Any] = {"memory_limit": _MEMORY, "temp_directory": str(scratch)}
    with duckdb.connect(str(scratch / "ssb.duckdb"), config=settings) as database:
        transform(database, scratch, scale)
        files = []
        for table in TABLES:
            path = directory / f"{table}.tbl"
            export(database, table, path)
            [(rows,)] = database.execute(f"SELECT COUNT(*) FROM {table}").fetchall()
            files.append(TableFile(table, rows, path.stat().st_size, _sha256(path)))
        expected = {
            query: compare.canonical(database.execute(sql(query)).fetchall()) for query in QUERIES
        }
    _check_sums(scale, files)
    compare.to_frame(expected).to_csv(directory / EXPECTED, index=False)
    shutil.rmtree(scratch)
    return files


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_sums(scale: Scale, files: list[TableFile]) -> None:
    known = json.loads(_CHECKSUMS.read_text()).get(str(scale), {})
    wrong = [file.table for file in files if known.get(file.table, file.sha256) != file.sha256]
    if wrong:
        raise RuntimeError(
            f"scale factor {scale}: {', '.join(wrong)} differ from {_CHECKSUMS.name}; another "
            "version of tpchgen-cli or duckdb than bench/requirements.txt has? Their results "
            "cannot be compared with those of others."
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="1", help="scale factor, 0.01 or more (default 1)")
    parser.add_argument("directory", type=Path, help="made if it is not there")
    options = parser.parse_args()
    try:
        data = ensure(Scale.parse(options.scale), options.directory)
    except (ValueError, RuntimeError) as error:
        raise SystemExit(f"ssb.generate: error: {error}") from error
    for file in data.files:
        print(f"{file.table:10} {file.rows:>11,} rows {file.bytes:>14,} bytes  {file.sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
