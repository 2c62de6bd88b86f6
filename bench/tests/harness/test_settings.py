# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""One set of settings becomes the options of each server."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import places, server_definition, settings
from harness.errors import BenchError

_COMMON = {
    "pool": "innodb_buffer_pool_size={value}",
    "log": ["file_size={half}", "files=2"],
    "method": {"direct": "flush=O_DIRECT", "plain": []},
    "logs": {"on": "log_bin={binlog}"},
}


def told(values: dict, own: dict | None = None, lacks: dict | None = None) -> settings.Translation:
    return settings.translate(values, _COMMON, own or {}, lacks or {}, Path("/there/binlog"))


def test_templates() -> None:
    assert told({"pool": "1G"}).options == ["innodb_buffer_pool_size=1G"]
    assert told({"log": "2G"}).options == [f"file_size={2**30}", "files=2"]
    assert told({"method": "plain"}).options == []
    assert told({"logs": "on"}).options == ["log_bin=/there/binlog"]


def test_a_server_says_it_in_its_own_way() -> None:
    assert told({"pool": "1G"}, own={"pool": "cache={value}"}).options == ["cache=1G"]


def test_what_cannot_be_told_is_noted() -> None:
    translation = told({"pool": "1G", "method": "direct"}, lacks={"method=direct": "too old"})
    assert translation.options == ["innodb_buffer_pool_size=1G"]
    assert translation.not_told == {"method=direct": "too old"}


def test_errors_name_setting_and_value() -> None:
    with pytest.raises(BenchError, match="setting nonsense"):
        told({"nonsense": 1})
    with pytest.raises(BenchError, match="method cannot be 'sync'; known: direct, plain"):
        told({"method": "sync"})
    with pytest.raises(BenchError, match="'12Q' is no size"):
        settings.size_in_bytes("12Q")


def test_options_that_were_ignored_are_found() -> None:
    variables = {"pool": "134217728", "pct": "80.000000", "ahi": "ON", "dblwr": "ON", "method": "x"}
    options = ["pool=128M", "pct=80", "ahi=1", "dblwr=off", "unknown=1", "log_bin=/a/b"]
    ignored = settings.ignored(options, variables)
    assert list(ignored) == ["dblwr=off"]
    assert "runs with ON" in ignored["dblwr=off"]


@pytest.mark.parametrize("name", sorted(path.stem for path in places.SERVERS.glob("*.toml")))
def test_every_server_knows_every_setting(name: str) -> None:
    definition = server_definition.load(name)
    common = settings.load(places.SETTINGS)
    values = {**common.values, "binary_log": "on", "flush_method": "buffered"}
    for extra in ({}, {"mutex_instruments": "on", "metadata_lock_wait_timeout": 60}):
        translation = settings.translate(
            values | extra, common.options, definition.options, definition.lacks, Path("/binlog")
        )
        assert all(option.partition("=")[0] for option in translation.options)
