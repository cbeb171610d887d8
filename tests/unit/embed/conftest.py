import socket

import pytest


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """A machine that reaches nobody, without models that were loaded before."""
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HOME", str(tmp_path))

    def unknown_host(*_args, **_kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown_host)
