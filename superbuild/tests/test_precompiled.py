"""Precompiled headers beside ccache: another checkout hits its cache, another text does not."""

import os
import subprocess

import pytest

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(one LANGUAGES CXX)
add_executable(one src/one.cc)
target_include_directories(one PRIVATE src)
target_precompile_headers(one PRIVATE [["one.h"]])
"""
PROGRAM = '#include "one.h"\nint main() { return one() + ONE; }\n'


@pytest.fixture
def build(tmp_path):
    """Builds in a checkout's folder; gives what the program returns and ccache's new hits and misses."""
    environment = os.environ | {"CCACHE_DIR": str(tmp_path / "cache")}
    environment.pop("CCACHE_DISABLE", None)  # of a build that is to be a cold one

    def counts():
        stats = subprocess.run(
            ["ccache", "--print-stats"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        lines = dict(line.split("\t") for line in stats.stdout.splitlines())
        hits = int(lines["direct_cache_hit"]) + int(lines["preprocessed_cache_hit"])
        return hits, int(lines["cache_miss"])

    def run(checkout, header, launchers=(), link=""):
        root = checkout.path
        (root / "src").mkdir(exist_ok=True)
        (root / "CMakeLists.txt").write_text(PROJECT)
        (root / "src" / "one.cc").write_text(PROGRAM)
        (root / "src" / "one.h").write_text('#pragma once\n#include "deeper.h"\n')
        (root / "src" / "deeper.h").write_text(header)
        launcher = f"{root}/superbuild/precompiled.sh;{root}"
        launcher += "".join(f";{one}" for one in launchers)
        launcher += f";env;CCACHE_BASEDIR={root};CCACHE_PCH_EXTSUM=1"
        launcher += ";CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
        before = counts()
        configure = [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            root,
            "-B",
            root / "obj",
            "-DCMAKE_BUILD_TYPE=Debug",
        ]
        configure += [
            "-DCMAKE_CXX_COMPILER=clang++-19",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
        ]
        configure += [
            f"-DCMAKE_CXX_FLAGS=-ffile-prefix-map={root}=.",
            "-DCMAKE_CXX_FLAGS_DEBUG=-g1",
        ]
        configure.append(f"-DCMAKE_EXE_LINKER_FLAGS={link}")
        for command in (configure, ["cmake", "--build", root / "obj"]):
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
        program = subprocess.run([root / "obj" / "one"], check=False)
        hits, misses = (now - then for now, then in zip(counts(), before, strict=True))
        return program.returncode, hits, misses

    return run


HEADER = "#pragma once\n#define ONE 1\ninline int one() { return 0; }\n"


def test_another_checkout_hits(build, checkout, tmp_path):
    other = type(checkout)(tmp_path / "another-name")
    assert build(checkout, HEADER) == (1, 0, 1)
    assert build(other, HEADER) == (1, 1, 0)


def test_another_text_does_not(build, checkout, tmp_path):
    # One is seen in macros only, the other in line numbers only.
    for number, header in enumerate(
        (HEADER.replace("ONE 1", "ONE 2"), HEADER.replace("inline", "\ninline"))
    ):
        other = type(checkout)(tmp_path / f"other-{number}")
        assert build(checkout, HEADER)[0] == 1
        value, _, misses = build(other, header)
        assert (value, misses) == (int("ONE 2" in header) + 1, 1)


def test_a_header_that_changes_is_seen(build, checkout):
    assert build(checkout, HEADER)[0] == 1
    assert build(checkout, HEADER.replace("ONE 1", "ONE 3"))[0] == 3


def test_what_is_instrumented_goes_without(build, checkout):
    # With it, the compiler would refuse a header that is not.
    (checkout.path / "patches" / "one.patch").write_text("+++ b/one.cc\n")
    sanitize = (f"{checkout.path}/superbuild/sanitize.sh", "address")
    assert build(checkout, HEADER, sanitize, "-fsanitize=address") == (1, 0, 1)
    one = (checkout.path / "obj" / "CMakeFiles" / "one.dir" / "src" / "one.cc.o").read_bytes()
    assert b"__asan_init" in one
