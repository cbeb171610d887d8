"""Ports for servers of tests."""

import socket
from random import Random

# Below those that systems hand out to outgoing connections (32768 and up on Linux), so that nobody is given one by accident
# while its server has not started yet, or is being restarted.
_FIRST, _LAST = 10_240, 32_767
_CHANCE = Random()


def free_port() -> int:
    """One of loopback that nobody listens on."""
    while True:
        port = _CHANCE.randint(_FIRST, _LAST)
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
