"""The lock-free parts of page I/O alone: the short form of make stress-gate."""

import shutil
import subprocess

import pytest
from conftest import ROOT

INCLUDE = "storage/innobase/include"


def test_the_headers_as_they_are():
    done = subprocess.run(
        [ROOT / "superbuild/stress/gate.sh", "--short"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "\nsanitizer thread:\npins " in done.stdout


@pytest.mark.parametrize(
    ("header", "text", "said"),
    [
        ("fil0gate.h", " || other.is_listed()", "copy of a gate: line"),
        ("fil0written.h", "m_end.store(end);", "list.size() == 0"),
    ],
)
def test_a_fault_is_noticed(checkout, header, text, said):
    (checkout.path / INCLUDE).mkdir(parents=True)
    for name in ("fil0gate.h", "fil0lookup.h", "fil0written.h"):
        shutil.copy(ROOT / INCLUDE / name, checkout.path / INCLUDE)
    file = checkout.path / INCLUDE / header
    before = file.read_text()
    assert before.count(text) == 1
    file.write_text(before.replace(text, ""))
    status, output = checkout.run("superbuild/stress/gate.sh", "--short")
    assert status == 1 and said in output, output


def test_a_fault_that_takes_too_long_is_not_found(checkout):
    """The compiler's stand-in makes programs that pass, and faulty ones that do not end."""
    (checkout.path / INCLUDE).mkdir(parents=True)
    for name in ("fil0gate.h", "fil0lookup.h", "fil0written.h"):
        shutil.copy(ROOT / INCLUDE / name, checkout.path / INCLUDE)
    checkout.stand_in(
        "compiler",
        """while [ "$1" != -o ]; do shift; done
case $2 in */fil_mutant) what='sleep 60' ;; *) what='exit 0' ;; esac
printf '#!/bin/sh\n%s\n' "$what" >"$2" && chmod +x "$2"
""",
    )
    status, output = checkout.run("superbuild/stress/gate.sh", "1", CXX="compiler", LIMIT="0.1")
    assert status == 1 and "not found within 0.1 s" in output, output
