"""By which flags clang compiles release builds: those of a profile, or none."""

import lzma
import os

import pytest

FACTS = "PROFILE_MACHINE={}\nPROFILE_CLANG=19\n"


class Profile:
    def __init__(self, checkout):
        self.checkout = checkout
        self.folder = checkout.path / "superbuild" / "profile"
        self.unpacked = checkout.path / "build" / "profile-data"
        (self.folder / "facts").write_text(FACTS.format(os.uname().machine))
        self.put(b"counts")
        self.compiler("Debian clang version 19.1.4 (1)")

    def put(self, content):
        (self.folder / "compiler.profdata.xz").write_bytes(lzma.compress(content))

    def compiler(self, version):
        self.checkout.stand_in("compiler", f"echo '{version}'")

    def flags(self):
        status, output = self.checkout.run(
            "superbuild/compiler_profile.sh", "compiler", str(self.unpacked)
        )
        assert status == 0, output
        assert output.count("\n") == 1
        return output

    def without(self, why):
        output = self.flags()
        assert output.startswith("profile: compiled without a profile: "), output
        assert why in output
        assert not list(self.unpacked.glob("*.partial"))


@pytest.fixture
def profile(checkout):
    return Profile(checkout)


def test_the_profile_is_unpacked_once(profile):
    flags = profile.flags()
    (file,) = profile.unpacked.iterdir()
    assert f"-fprofile-use={file} " in flags
    assert file.read_bytes() == b"counts"
    inode = file.stat().st_ino
    assert profile.flags() == flags
    assert file.stat().st_ino == inode


def test_another_profile_has_another_name(profile):
    """Ninja sees flags, not files."""
    flags = profile.flags()
    profile.put(b"other counts")
    assert profile.flags() != flags
    (file,) = profile.unpacked.iterdir()
    assert file.read_bytes() == b"other counts"


def test_no_profile(profile):
    (profile.folder / "compiler.profdata.xz").unlink()
    command = "superbuild/compiler_profile.sh", "compiler", str(profile.unpacked)
    assert profile.checkout.run(*command) == (0, "")


def test_no_facts(profile):
    (profile.folder / "facts").unlink()
    profile.without("facts is missing")


def test_another_machine(profile):
    (profile.folder / "facts").write_text(FACTS.format("riscv64"))
    profile.without("it is of riscv64")


@pytest.mark.parametrize("version", ["Debian clang version 20.1.0", "g++ (Debian 12.2.0) 12.2.0"])
def test_another_compiler(profile, version):
    profile.compiler(version)
    profile.without("it is of clang 19, another compiler is used")


def test_no_compiler(profile):
    profile.checkout.stand_in("compiler", "exit 1")
    profile.without("compiler does not run")


def test_a_damaged_profile(profile):
    (profile.folder / "compiler.profdata.xz").write_bytes(b"no xz")
    status, output = profile.checkout.run(
        "superbuild/compiler_profile.sh", "compiler", str(profile.unpacked)
    )
    assert status == 0
    assert "profile: compiled without a profile: it is damaged" in output
    assert "-fprofile-use" not in output
    assert not list(profile.unpacked.iterdir())


def test_static_functions_are_counted_and_found_by_one_name(profile):
    """The path of a file is another in each checkout, and relative only with ccache."""
    option = "-Xclang -mllvm -Xclang -static-func-full-module-prefix=false"
    assert f" {option} " in profile.flags()
    text = (profile.checkout.path / "CMakeLists.txt").read_text()
    assert f'"-fprofile-generate {option}"' in text
