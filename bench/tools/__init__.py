# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Measurements that are no scenarios of the harness: each is a target of make, `make bench-...`.

README.md in this folder lists them.
"""
