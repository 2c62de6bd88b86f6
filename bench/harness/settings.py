# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Neutral settings (settings.toml) into the options of one server."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import BenchError

Value = str | int | float
#: A template, several, or one or several for each value of the setting.
Template = str | list[str] | dict[str, str | list[str]]

_SIZE = re.compile(r"(\d+)([KMGT]?)")
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_in_bytes(text: Value) -> int:
    """ "2G" to bytes, with the server's suffixes (powers of 1024)."""
    match = _SIZE.fullmatch(str(text).upper())
    if not match:
        raise BenchError(f"{text!r} is no size: write a number with K, M, G or nothing behind it")
    return int(match[1]) * _FACTOR[match[2]]


@dataclass(frozen=True)
class Neutral:
    """settings.toml: the values of all scenarios, and how today's server is told."""

    values: Mapping[str, Value]
    options: Mapping[str, Template]


def load(path: Path) -> Neutral:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
        return Neutral(content["settings"], content["options"])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise BenchError(
            f"{path}: {error!r}; it needs the tables [settings] and [options]"
        ) from error


@dataclass
class Translation:
    """Options for the command line, and what this server cannot be told, with the reason."""

    options: list[str] = field(default_factory=list)
    not_told: dict[str, str] = field(default_factory=dict)


def translate(
    settings: Mapping[str, Value],
    common: Mapping[str, Template],
    own: Mapping[str, Template],
    lacks: Mapping[str, str],
    binlog: Path,
) -> Translation:
    """Each setting as options: the server's own template, or the common one."""
    result = Translation()
    for name, value in settings.items():
        if name in lacks:
            result.not_told[f"{name}={value}"] = lacks[name]
            continue
        template = own.get(name, common.get(name))
        if template is None:
            raise BenchError(
                f"no server has an option for the setting {name}: see {'settings.toml'}"
            )
        if isinstance(template, dict):
            if str(value) not in template:
                known = ", ".join(template)
                raise BenchError(f"the setting {name} cannot be {value!r}; known: {known}")
            template = template[str(value)]
        for part in [template] if isinstance(template, str) else template:
            half = size_in_bytes(value) // 2 if "{half}" in part else 0
            result.options.append(part.format(value=value, half=half, binlog=binlog))
    return result
