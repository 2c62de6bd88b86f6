"""Ports of the loopback for servers that tests start."""

import random
import socket


def free_port() -> int:
    """Below those that the system hands out to clients until the server takes it, minutes later."""
    for port in random.sample(range(20000, 32000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("none of 100 ports of the loopback is free")
