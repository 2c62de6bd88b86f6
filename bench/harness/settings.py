# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Neutral settings (settings.toml) into the options of one server."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
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


def load(path: Path, *, quick: bool = False) -> Neutral:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
        values = content["settings"] | (content["quick"] if quick else {})
        return Neutral(values, content["options"])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise BenchError(
            f"{path}: {error!r}; it needs the tables [settings] and [options]"
        ) from error


def ignored(options: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Options that a running server did not take as they were given, and what it has instead."""
    result = {}
    for option in options:
        name, given, value = option.partition("=")
        # What names files is shown in another form.
        if not given or name not in variables or "/" in value:
            continue
        if _plain(value) != _plain(variables[name]):
            result[option] = f"it was told, and runs with {variables[name]}"
    return result


def _plain(value: str) -> str | float:
    """A form in which 1G is 1073741824, 80 is 80.000000 and ON is 1."""
    text = value.strip().lower()
    text = {"on": "1", "off": "0", "true": "1", "false": "0"}.get(text, text)
    if _SIZE.fullmatch(text.upper()):
        return float(size_in_bytes(text))
    try:
        return float(text)
    except ValueError:
        return text


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
        reason = lacks.get(f"{name}={value}", lacks.get(name))
        if reason is not None:
            result.not_told[f"{name}={value}"] = reason
            continue
        template = own.get(name, common.get(name))
        if template is None:
            raise BenchError(f"no server has an option for the setting {name}: see settings.toml")
        if isinstance(template, dict):
            if str(value) not in template:
                known = ", ".join(template)
                raise BenchError(f"the setting {name} cannot be {value!r}; known: {known}")
            template = template[str(value)]
        for part in [template] if isinstance(template, str) else template:
            half = size_in_bytes(value) // 2 if "{half}" in part else 0
            result.options.append(part.format(value=value, half=half, binlog=binlog))
    return result
