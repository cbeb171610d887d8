"""`hive-mind broker` in a process of its own, and what it refuses to do."""

import json
import signal
import socket
from subprocess import PIPE

import pytest

from hive_mind.devbroker.amqp.connection import AMQP_HEADER

LIMIT_S = 60


def speaks_amqp(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as wire:
        wire.sendall(AMQP_HEADER)
        return wire.recv(8) == AMQP_HEADER


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_program_starts_it_reads_one_line_and_ends_it(hive_mind, number, code):
    arguments = ["broker", "--port", 0, "--hub", "events:2", "--queue", "jobs", "--topic", "news", "-o", "json"]
    with hive_mind.start(*arguments, stdout=PIPE, stderr=PIPE) as process:
        ready = json.loads(process.stdout.readline())
        assert speaks_amqp(ready["port"])
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT_S)

    assert process.returncode == code
    assert (out, err) == (b"", b"stopped; nothing was kept\n" if code else b"")
    assert ready["durable"] is False
    assert list(ready["connection_strings"]) == ["events", "jobs", "news"]
    assert ready["connection_strings"]["jobs"].endswith("UseDevelopmentEmulator=true;EntityPath=jobs;")


def test_where_a_shell_ignores_ctrl_c_for_it_only_another_signal_ends_it(hive_mind):
    """As for a job in the background of a script."""
    with hive_mind.start("broker", "--port", 0, "-o", "json", stdout=PIPE, stderr=PIPE, ignoring="INT") as process:
        ready = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        # By its answer it has seen the signal.
        assert speaks_amqp(ready["port"])
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LIMIT_S)

    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_person_is_told_what_it_is_for_and_how_to_reach_it(hive_mind, tmp_path):
    config = tmp_path / "Config.json"
    config.write_text('{"UserConfig": {"Namespaces": [{"Name": "ns", "Queues": [{"Name": "jobs"}]}]}}')
    arguments = ["broker", "--port", 0, "--config", config, "--auto-create", "--fault", "send:jobs:server-busy:times=3"]
    with hive_mind.start(*arguments, stdout=PIPE, stderr=PIPE) as process:
        first, second = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)

    assert b"for development and test only; keeps nothing over a restart (durable=False)" in first
    assert second.strip().startswith(b"Endpoint=sb://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--hub", "events"], "NAME:PARTITIONS"),
        (["--hub", "events:many"], "NAME:PARTITIONS"),
        (["--hub", "events:0"], "partitions"),
        (["--queue", "jobs", "--topic", "jobs"], "already"),
        (["--fault", "send:*:explode"], "WHAT one of"),
        (["--config", "/no/such/file"], "/no/such/file"),
    ],
)
def test_what_it_can_not_do_is_said_with_what_to_do_instead(hive_mind, arguments, reason):
    ended = hive_mind("broker", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert reason in ended.err


def test_a_port_that_is_taken_is_said(hive_mind):
    with socket.create_server(("127.0.0.1", 0)) as other:
        ended = hive_mind("broker", "--port", other.getsockname()[1])
    assert ended.code == 1
    assert "give another --port" in ended.err
