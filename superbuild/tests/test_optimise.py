"""The step of a build that lays out the server by a profile: when it does, and when it does not.

The server is a toy that clang compiles in no time; BOLT is BOLT.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

TOY = r"""
#include <cstdio>
#include <cstring>
__attribute__((noinline)) int seldom(int x) { if (x % 97 == 0) puts("seldom"); return x * 3; }
__attribute__((noinline)) int often(int x) {
  if (x % 1009 == 0) return seldom(x);
  return x ^ CHANGE;
}
int main(int count, char **words) {
  if (count > 2 && !strcmp(words[2], "--version")) { puts("toy  Ver 1"); return 0; }
  int sum = 0;
  for (int i = 1; i < 100000; i++) sum += often(i);
  printf("%d\n", sum);
}
"""
NAME = "mysqld"


def run(*command, cwd):
    return subprocess.run(
        command,
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"LC_ALL": "C"},
    ).stdout


def link(folder, change="5", relocations="-Wl,--emit-relocs", compiler="clang++-19"):
    """The linked server, made anew as a linker does it: another file under the old name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy.cc").write_text(TOY)
    (folder / NAME).unlink(missing_ok=True)
    linker = ["-fuse-ld=lld"] if compiler.startswith("clang") else []
    command = [compiler, "-O2", *linker, *relocations.split(), f"-DCHANGE={change}"]
    run(*command, "-o", NAME, "toy.cc", cwd=folder)
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A profile of the toy."""
    folder = link(tmp_path_factory.mktemp("training"))
    library = "-runtime-instrumentation-lib=llvm-19/lib/libbolt_rt_instr.a"
    counts = f"-instrumentation-file={folder}/counts"
    run("llvm-bolt-19", NAME, "-o", "counting", "-instrument", counts, library, cwd=folder)
    run("./counting", cwd=folder)
    run("llvm-bolt-19", NAME, "-data=counts", "-w", f"{NAME}.yaml", "-o", "unused", cwd=folder)
    run("xz", f"{NAME}.yaml", cwd=folder)
    facts = {"MACHINE": os.uname().machine, "CLANG": 19, "DATE": "2026-11-01", "REVISION": "abc"}
    lines = [f"PROFILE_{name}={value}\n" for name, value in facts.items()]
    (folder / "facts").write_text("".join(lines))
    return folder


class Build:
    """A checkout with a linked toy and its profile."""

    def __init__(self, checkout, trained):
        self.checkout = checkout
        self.profile = checkout.path / "superbuild" / "profile"
        self.profile.mkdir(exist_ok=True)
        for name in ("facts", f"{NAME}.yaml.xz"):
            shutil.copy(trained / name, self.profile)
        self.folder = link(checkout.path / "build")
        self.server = self.folder / NAME
        self.linked = self.folder / f"{NAME}.linked"

    def facts(self, old, new):
        file = self.profile / "facts"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def optimise(self, *name, **variables):
        status, output = self.checkout.run(
            "superbuild/optimise.sh", str(self.folder), *name, **variables
        )
        assert status == 0, output
        assert not list(self.folder.glob("*.partial"))
        return output

    def is_optimised(self, name=NAME):
        run(f"./{name}", cwd=self.folder)
        return ".note.bolt_info" in run("readelf", "-SW", name, cwd=self.folder)

    def stays(self, why, **variables):
        """It says so in one line, and the server is as it was linked."""
        output = self.optimise(**variables)
        assert output.startswith("optimise: mysqld stays as it was linked: "), output
        assert output.count("\n") == 1
        assert why in output
        assert not self.is_optimised()


@pytest.fixture
def build(checkout, trained):
    return Build(checkout, trained)


def test_a_server_is_laid_out_once(build):
    as_linked, when = build.server.read_bytes(), build.server.stat().st_mtime_ns
    output = build.optimise()
    assert "the profile of 2026-11-01 (revision abc); all of it fits" in output
    assert output.count("\n") == 1
    assert build.is_optimised()
    # To ninja it is the file that was linked.
    assert build.server.stat().st_mtime_ns == when
    assert build.linked.read_bytes() == as_linked
    inode = build.server.stat().st_ino
    assert build.optimise() == ""
    assert build.server.stat().st_ino == inode


def test_a_server_that_is_linked_again(build):
    build.optimise()
    link(build.folder, "7")
    as_linked = build.server.read_bytes()
    assert "was laid out" in build.optimise()
    assert build.is_optimised()
    assert build.linked.read_bytes() == as_linked


def test_another_profile(build):
    build.optimise()
    file = build.profile / f"{NAME}.yaml.xz"
    run("xz", "-d", file.name, cwd=build.profile)
    run("xz", "-0", file.stem, cwd=build.profile)
    assert "was laid out" in build.optimise()
    assert build.is_optimised()


def test_an_interruption_before_the_stamp(build):
    build.optimise()
    (build.folder / f"{NAME}.stamp").unlink()
    assert "was laid out" in build.optimise()
    assert build.is_optimised()


def test_two_builds_give_the_same_server(build, tmp_path):
    build.optimise()
    first = build.server.read_bytes()
    build.folder = tmp_path / "elsewhere"
    link(build.folder)
    build.optimise()
    assert (build.folder / NAME).read_bytes() == first


def test_beside_the_linked_one(build):
    as_linked = build.server.read_bytes()
    assert f"{NAME}.optimised was laid out" in build.optimise(f"{NAME}.optimised")
    assert build.is_optimised(f"{NAME}.optimised")
    assert build.server.read_bytes() == as_linked
    assert build.optimise(f"{NAME}.optimised") == ""


def test_debug_information_follows(build):
    link(build.folder, relocations="-Wl,--emit-relocs -g")
    build.optimise()
    assert build.is_optimised()
    assert "often" in run("readelf", "--debug-dump=info", NAME, cwd=build.folder)


def test_a_profile_of_code_that_has_changed(build):
    link(build.folder, "(x % 3 ? x : seldom(7))")
    output = build.optimise()
    assert " % of it is of functions that have changed since" in output
    assert output.count("\n") == 1
    assert build.is_optimised()


def test_no_profile(build):
    (build.profile / f"{NAME}.yaml.xz").unlink()
    build.stays("there is no profile in ")


def test_the_profile_goes_away(build):
    build.optimise()
    as_linked = build.linked.read_bytes()
    shutil.rmtree(build.profile)
    build.stays("there is no profile in ")
    assert build.server.read_bytes() == as_linked


def test_the_profile_goes_away_after_an_interruption(build):
    build.optimise()
    (build.folder / f"{NAME}.stamp").unlink()
    shutil.rmtree(build.profile)
    build.stays("there is no profile in ")


def test_a_profile_that_is_damaged(build):
    (build.profile / f"{NAME}.yaml.xz").write_text("no archive")
    assert "optimise: mysqld stays as it was linked: its profile is damaged\n" in build.optimise()
    assert not build.is_optimised()


def test_a_profile_that_bolt_cannot_read(build):
    (build.profile / f"{NAME}.yaml").write_text("no profile")
    run("xz", "--force", f"{NAME}.yaml", cwd=build.profile)
    build.stays("llvm-bolt-19 failed, and ")


def test_another_machine(build):
    build.facts(f"MACHINE={os.uname().machine}", "MACHINE=vax")
    build.stays("the profile is of vax, this is ")


def test_another_release_of_the_compiler(build):
    build.facts("CLANG=19", "CLANG=18")
    build.stays("the profile is of clang 18, another compiler made this")


def test_another_compiler(build):
    link(build.folder, relocations="", compiler="g++")
    build.stays("the profile is of clang 19, another compiler made this")


def test_no_relocations(build):
    link(build.folder, relocations="")
    build.stays("it was linked without --emit-relocs")


def test_no_bolt(build, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith("llvm-bolt"):
            (programs / program.name).symlink_to(program)
    build.checkout.programs = programs
    environment = os.environ["PATH"]
    try:
        os.environ["PATH"] = str(programs)
        build.stays("llvm-bolt is missing (on Debian: apt-get install bolt-19)")
    finally:
        os.environ["PATH"] = environment


def test_a_bolt_that_fails(build):
    build.checkout.stand_in("llvm-bolt-19", "[ $1 = --version ] || { echo it cannot; exit 1; }")
    build.stays("llvm-bolt-19 failed, and ")
    build.checkout.stand_in("llvm-bolt-19", "exit 1")
    build.stays("llvm-bolt-19 does not run")


def test_the_log_of_a_bolt_that_fails(build):
    build.checkout.stand_in("llvm-bolt-19", "[ $1 = --version ] || { echo it cannot; exit 1; }")
    build.optimise()
    assert (build.folder / f"{NAME}.optimise.log").read_text() == "it cannot\n"


def test_a_bolt_that_breaks_the_server(build):
    script = """while [ $# -gt 0 ]; do [ "$1" != -o ] || printf '#!/bin/sh\\nexit 1\\n' >"$2"; shift; done
chmod +x ./*.partial 2>/dev/null; exit 0"""
    build.checkout.stand_in("llvm-bolt-19", script)
    build.stays("what llvm-bolt-19 made does not run")


def test_a_linked_server_that_is_missing(build):
    build.optimise()
    build.linked.unlink()
    assert "mysqld.linked is missing" in build.optimise()
    assert build.is_optimised()


def test_which_presets_have_the_step(checkout):
    shutil.copy(ROOT / "LICENSE", checkout.path)
    for preset, expected in (("release", True), ("stock", False), ("debug", False)):
        status, output = checkout.run("cmake", "--preset", preset)
        assert status == 0, output
        folder = checkout.path / "build" / preset
        commands = run("ninja", "-C", str(folder), "-t", "commands", cwd=ROOT)
        assert ("superbuild/optimise.sh" in commands) == expected
        # Stock is linked the same way, so that it can be laid out and compared.
        cache = "".join(file.read_text() for file in (folder / "steps").rglob("*.cmake"))
        assert ("emit_relocs.cmake" in cache) == (preset != "debug")
