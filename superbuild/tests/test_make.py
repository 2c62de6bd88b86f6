"""What ends before the build begins, with a message that says what to do."""

import subprocess

import pytest
from conftest import Checkout


def test_a_path_with_a_space(tmp_path):
    checkout = Checkout(tmp_path / "my checkout")
    status, output = checkout.run("make", "help")
    assert status == 2
    assert f"This checkout lies at '{checkout.path}'" in output and "has a space" in output
    status, output = checkout.run("cmake", "--preset", "debug")
    assert status != 0
    assert "cannot be" in output and "has a space" in output


def plan(checkout, goal, preset, megabytes):
    checkout.stand_in("df", f"echo Avail; echo {megabytes}M")
    return checkout.run("superbuild/plan.sh", goal, preset)


@pytest.mark.parametrize(
    ("goal", "preset", "needed"), [("run", "release", 5000), ("test", "debug", 6000)]
)
def test_a_disk_that_is_too_small(checkout, goal, preset, needed):
    status, output = plan(checkout, goal, preset, needed - 1)
    assert status == 1
    assert f"takes about {needed} MB more, and {checkout.path} has {needed - 1} MB free" in output
    assert plan(checkout, goal, preset, needed)[0] == 0


def test_with_a_server_that_is_built(checkout):
    server = checkout.path / "build/debug/obj/runtime_output_directory/mysqld"
    server.parent.mkdir(parents=True)
    server.touch()
    server.chmod(0o755)
    status, output = plan(checkout, "test", "debug", 1999)
    assert status == 1 and "takes about 2000 MB more" in output
    assert plan(checkout, "test", "debug", 2000)[0] == 0


def venv(checkout, requirement):
    (checkout.path / "requirements").write_text(requirement)
    return checkout.run(
        "superbuild/venv.sh", "venv", "requirements",
        PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0", PIP_CONFIG_FILE="/dev/null",
    )  # fmt: skip


def test_no_network_for_the_virtual_environment(checkout):
    kept = checkout.path / "venv" / "kept"
    kept.parent.mkdir()
    kept.touch()
    status, output = venv(checkout, "a-package-that-is-not-here==1\n")
    assert status == 1
    assert "venv: error: pip could not install the packages of requirements" in output
    assert kept.exists()
    assert not (checkout.path / "venv.partial").exists()


def test_a_virtual_environment(checkout):
    status, output = venv(checkout, "\n")
    assert status == 0, output
    assert (checkout.path / "venv" / "complete").exists()
    subprocess.run([checkout.path / "venv/bin/python", "-c", "pass"], check=True)


def commands_of(checkout, *arguments):
    """What make would call, with everything that it needs in place."""
    for name in ("bench/requirements.txt", "build/bench/venv/complete"):
        file = checkout.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    status, output = checkout.run("make", "--dry-run", *arguments)
    assert status == 0, output
    return " ".join(output.split())


def test_variables_become_options_of_a_tool(checkout):
    command = commands_of(checkout, "bench-cpu-profile", "DATA_BY_POOL=6", "SERVERS=stock sluice")
    assert command.endswith("-m tools.cpu_profile --servers='stock sluice' --data-by-pool='6'")
    command = commands_of(checkout, "bench-instructions", "OPTIONS=--one=1 --two")
    assert command.endswith("-m tools.instructions --options='--one=1 --two'")


def test_a_default_of_one_target_is_no_option_of_another(checkout):
    """ROUNDS=2000 and MINUTES=30 are for power cuts and stresses."""
    for target in ("bench", "bench-lru-cost", "bench-instructions"):
        assert "2000" not in commands_of(checkout, target)
    assert "--rounds 3" in commands_of(checkout, "bench", "ROUNDS=3")
    assert "--rounds 2000" in commands_of(checkout, "power-cuts")


def test_topologies_of_servers_that_are_there_build_nothing(checkout):
    given = (
        "SLUICE_SERVER=one/sluice.toml",
        "STOCK_SERVER=/other/stock.toml",
        "ONLY=group or clone",
    )
    command = commands_of(checkout, "test-topologies", *given)
    assert "cmake" not in command
    assert f"--sluice '{checkout.path}/one/sluice.toml' --stock '/other/stock.toml'" in command
    assert command.endswith("superbuild/topologies -k 'group or clone'")
    command = commands_of(checkout, "test-topologies")
    for preset in ("package", "package-stock"):
        assert f"cmake --build --preset {preset}" in command


def test_a_list_of_packages_that_is_not_there(checkout):
    status, output = checkout.run("superbuild/dependencies.sh", "--help")
    assert status == 2
    assert "there is no list of packages '--help'" in output
