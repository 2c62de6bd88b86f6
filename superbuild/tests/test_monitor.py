"""`make monitor`: Debian's Prometheus and exporter on the demonstration, looked at by a browser."""

import os
import re
import shutil
import socket
import subprocess
import time

import pytest
from conftest import ROOT
from loopback import free_port
from test_demo import Demonstration

PROGRAMS = ("prometheus", "prometheus-sql-exporter", "chromium-headless-shell", "sysbench")
PATIENCE = 600  #: seconds until each panel has something to draw


@pytest.fixture
def monitored():
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"there is no program {program}")
    home = ROOT / "build" / "home-of-test-monitor"
    monitored = Demonstration(home)
    # A run of the tests that was killed may have left a server.
    monitored.script("stop.sh")
    shutil.rmtree(home, ignore_errors=True)
    monitored.picture = home / "picture.png"
    # Somewhat more than the pool holds.
    monitored.variables |= {
        "ROWS": "350000", "SECONDS_OF_LOAD": "20", "PICTURE": str(monitored.picture),
        "PORT": str(free_port()), "EXPORTER_PORT": str(free_port()),
    }  # fmt: skip
    yield monitored
    stopped = monitored.script("stop.sh")
    assert stopped.returncode == 0, stopped.stdout
    for port in ("PORT", "EXPORTER_PORT"):
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", int(monitored.variables[port]))) != 0
    shutil.rmtree(home)


def drawn(page):
    """What the browser makes of the page, panel by panel: title, and whether it shows a figure."""
    dom = subprocess.run(
        [ROOT / "superbuild/as-user.sh", "chromium-headless-shell", "--no-sandbox", "--disable-gpu",
         "--no-proxy-server", "--virtual-time-budget=20000", "--dump-dom", page],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300, check=True,
    ).stdout  # fmt: skip
    panels = re.split(r"<h3>(.*?)</h3>", dom)[1:]
    return {
        title: bool(re.search(r'<path [^>]*d="M|<td class="number">', body))
        for title, body in zip(panels[::2], panels[1::2], strict=True)
    }


def test_a_browser_sees_every_panel(monitored):
    run = monitored.script("monitor.sh")
    assert run.returncode == 0, run.stdout
    (page,) = set(re.findall(r"http://127\.0\.0\.1:\d+/consoles/lru\.html", run.stdout))
    assert monitored.picture.read_bytes().startswith(b"\x89PNG")

    dashboard = (ROOT / "docs/monitoring/lru_grafana.json").read_text()
    end = time.monotonic() + PATIENCE
    panels = drawn(page)
    while not all(panels.values()) and time.monotonic() < end:
        time.sleep(1)
        panels = drawn(page)
    assert len(panels) == dashboard.count('"targets": ['), sorted(panels)
    assert all(panels.values()), [title for title, is_drawn in panels.items() if not is_drawn]


def test_nothing_is_installed_without_being_asked(tmp_path):
    """As Debian starts what it installs."""
    nothing = tmp_path / "dpkg-query"
    nothing.write_text("#!/bin/sh\nexit 1\n")
    nothing.chmod(0o755)
    run = subprocess.run(
        [ROOT / "demo/monitor.sh"], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DEMO_HOME": str(tmp_path)},
    )  # fmt: skip
    assert run.returncode == 1
    assert (
        "apt-get install --no-install-recommends prometheus prometheus-sql-exporter" in run.stdout
    )
    assert "chromium" not in run.stdout
    assert "systemctl disable --now prometheus" in run.stdout
