"""Erasing as an operator does it: from one agent's home, and from a fleet of processes of which some are away."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hive_mind.bus.dead_letters import file_of, refusal
from hive_mind.devbroker import BrokerThread
from hive_mind.devbroker.broker import BrokerSettings
from tests.acceptance.hive_mind_command import HiveMind, manifest_of
from tests.contract.bus_builders import envelope
from tests.contract.test_bus_erasing import reached
from tests.servers.forked import Forked
from tests.servers.redis_server import RedisServer

ADA = "Ada Lovelace lives at 12 Elm Street in Corrin."
FERRY = "The ferry to Corrin leaves at nine."
NAMES = [f"agent{number}" for number in range(5)]
AWAY = NAMES[-2:]
FLEET = manifest_of("""\
  topology: flat
  identity: require
  trust: {{moderators: [agent0]}}
  agents:
{agents}
  bus: "{url}"
""")


def files_with(text: str, *folders: Path) -> list[str]:
    wanted = text.casefold().encode()
    files = (file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file())
    return [str(file) for file in files if wanted in file.read_bytes().lower()]


@pytest.fixture
def learned(hive_mind: HiveMind, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(f"{ADA}\n{FERRY}\n")
    hive_mind("learn", tmp_path / "notes.txt")


@pytest.mark.usefixtures("learned")
def test_nothing_is_changed_before_it_is_confirmed(hive_mind: HiveMind) -> None:
    told = hive_mind("erase", "--subject", "Ada Lovelace", "-o", "json")

    assert (told.code, told.json["would_erase"]) == (0, [ADA])
    assert {fact["content"] for fact in hive_mind("facts", "list", "-o", "json").json} == {ADA, FERRY}
    assert hive_mind("erase").code == 2
    assert hive_mind("erase", "--subject", "Ada", "--source", "x").code == 2


def test_a_longer_name_that_begins_alike_stays_and_owes_nothing(hive_mind: HiveMind, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Ann lives in Corrin.\nAnna plans the annual fair.\n")
    hive_mind("learn", tmp_path / "notes.txt")

    done = hive_mind("erase", "--subject", "Ann", "--yes", "-o", "json")

    assert (done.code, done.json["owed"]) == (0, [])
    again = hive_mind("learn", tmp_path / "notes.txt", "-o", "json").json["files"]

    assert [fact["content"] for fact in hive_mind("facts", "list", "-o", "json").json] == ["Anna plans the annual fair."]
    assert [file["left_out"] for file in again] == [{"erased before": 1}]
    assert "nothing in that to remember: erased before." in hive_mind("chat", stdin="Ann lives in Corrin.\n").out


@pytest.mark.usefixtures("learned")
def test_backups_are_written_anew_and_other_copies_are_owed_until_they_are_gone(hive_mind: HiveMind, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    hive_mind("backup", copies / "monday.sqlite")
    hive_mind("facts", "export", copies / "all.jsonl")

    first = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")

    assert first.code == 1
    assert [one["who"] for one in first.json["owed"]] == [str(copies / "all.jsonl")]
    assert files_with("lovelace", copies, hive_mind.home) == [str(copies / "all.jsonl")]
    (copies / "all.jsonl").unlink()
    second = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")
    assert (second.code, second.json["is_complete"]) == (0, True)
    assert hive_mind("restore", copies / "monday.sqlite", "--force").code == 0
    assert [fact["content"] for fact in hive_mind("facts", "list", "-o", "json").json] == [FERRY]


def test_what_a_node_refused_is_erased_though_nobody_runs_it(hive_mind: HiveMind) -> None:
    letters = file_of(hive_mind.home / "hives" / "harbour", "ada")
    letters.write([refusal(envelope(text), 1, "it bites") for text in (ADA, FERRY)])
    file = str(letters.path)
    dry = hive_mind("erase", "--subject", "Ada Lovelace", "-o", "json").json["from"]
    assert [(one["who"], one["episodes"]) for one in dry] == [(f"dead letters {file}", 1)]
    assert files_with("lovelace", hive_mind.home) == [file]

    told = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")
    assert (told.code, told.json["confirmed"][-1]["who"]) == (0, f"dead letters {file}")
    assert files_with("lovelace", hive_mind.home) == []
    assert len(letters.letters()) == 1


@pytest.mark.usefixtures("learned")
def test_what_quotes_it_is_named_and_it_is_not_called_done(hive_mind: HiveMind) -> None:
    (hive_mind.home / "agents" / "default" / "ledger.txt").write_text("somebody asked about ada lovelace")

    told = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")

    assert told.code == 1
    assert [Path(one["who"]).name for one in told.json["owed"]] == ["ledger.txt"]


@pytest.mark.usefixtures("learned")
def test_a_receipt_that_was_changed_proves_nothing(hive_mind: HiveMind) -> None:
    receipt = Path(hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json").json["file"])
    genuine = hive_mind("erase", "--check", receipt)
    assert (genuine.code, "signed by this home" in genuine.out) == (0, True)

    receipt.write_text(receipt.read_text().replace('"facts": 1', '"facts": 9'))
    assert hive_mind("erase", "--check", receipt).code == 2


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        # So that bytes can be looked for in its files.
        assert server.do("CONFIG", "SET", "rdbcompression", "no").startswith(b"+OK")
        yield server


@pytest.mark.slow
def test_no_file_stream_or_archive_of_a_fleet_has_it_though_two_were_away(
    fleet: HiveMind, redis: RedisServer, tmp_path: Path
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "notes.txt").write_text(f"{ADA}\n{FERRY}\n")
    agents = "\n".join(f"    - {{name: {name}}}" for name in NAMES)
    fleet.applies(FLEET.format(url=redis.url, agents=agents), tmp_path)
    assert fleet("learn", sources / "notes.txt", "--agent", "agent1").code == 0
    assert "Elm Street" in fleet("ask", "Where does Ada Lovelace live?", "--agent", AWAY[0]).out
    killed = kill(fleet, *AWAY)
    # On its way to two that are away.
    later = sources / "later.txt"
    later.write_text("Ada Lovelace plays chess on Sundays.\n")
    assert fleet("learn", later, "--agent", "agent2").code == 0
    assert fleet("backup", tmp_path / "copy.sqlite", "--agent", "agent1").code == 0

    assert is_in_streams(redis, b"lovelace")

    first = fleet("erase", "--subject", "Ada Lovelace", "--yes", "--timeout", "10", "-o", "json")

    assert first.code == 1, first.out + first.err
    assert {f"node {name}" for name in AWAY} <= {one["who"] for one in first.json["owed"]}
    assert {one["who"] for one in first.json["confirmed"]} >= {f"node {name}" for name in NAMES if name not in AWAY}
    assert not is_in_streams(redis, b"lovelace")
    assert {name for name in files_with("lovelace", fleet.home) if not any(one in name for one in AWAY)} == set()

    # One of the two is back later: of it nothing is found any more, and the receipt owes the other alone.
    back = start_again(killed[AWAY[0]])
    half = erased_until(fleet, lambda owed: f"node {AWAY[0]}" not in owed)
    assert {one["who"] for one in half["owed"] if one["who"].startswith("node ")} == {f"node {AWAY[1]}"}
    assert f"node {AWAY[0]}" in {one["who"] for one in half["confirmed"]}
    for text in ("lovelace", "chess"):
        assert {name for name in files_with(text, fleet.home, redis.folder) if AWAY[1] not in name} == set()
    assert not is_in_streams(redis, b"lovelace")
    verified = fleet("erase", "--check", half["file"])
    assert (verified.code, "signed by this home" in verified.out) == (1, True)
    assert f"owed: node {AWAY[1]}" in verified.out
    assert f"owed: node {AWAY[0]}" not in verified.out

    assert fleet("apply", "-f", tmp_path / "fleet.yaml").code == 0
    done = erased_until(fleet, lambda owed: not owed)
    assert files_with("lovelace", fleet.home, redis.folder) + files_with("chess", fleet.home, redis.folder) == []
    assert files_with("lovelace", tmp_path) == [str(sources / "later.txt"), str(sources / "notes.txt")]
    assert not is_in_streams(redis, b"lovelace")
    assert fleet("erase", "--check", done["file"]).code == 0
    assert FERRY in fleet("ask", "When does the ferry leave?", "--agent", AWAY[0]).out
    assert fleet("learn", later, "--agent", AWAY[1]).code == 0
    assert files_with("chess", fleet.home, redis.folder) == []
    assert fleet("delete", "--yes").code == 0
    assert back.wait(30) is not None


@pytest.mark.thorough
def test_over_amqp_queues_lose_it_and_of_a_hub_the_receipt_says_until_when_it_has_it(hive_mind: HiveMind, tmp_path: Path) -> None:
    names = NAMES[:3]
    (tmp_path / "notes.txt").write_text(f"{ADA}\n{FERRY}\n")
    (tmp_path / "later.txt").write_text("Ada Lovelace plays chess on Sundays.\n")
    with BrokerThread(settings=BrokerSettings(auto_partitions=4)) as broker:
        here = f"127.0.0.1:{broker.port}"
        buses = f'{{url: "servicebus://{here}/hive", searches: "eventhubs://{here}/searches"}}'
        agents = "\n".join(f"    - {{name: {name}}}" for name in names)
        manifest = FLEET.format(url="", agents=agents).replace('bus: ""', f"bus: {buses}")
        (tmp_path / "fleet.yaml").write_text(manifest.replace("topology: flat", "topology: sharded"))
        try:
            assert hive_mind("apply", "-f", tmp_path / "fleet.yaml").code == 0
            assert hive_mind("learn", tmp_path / "notes.txt", "--agent", names[1]).code == 0
            assert "Elm Street" in hive_mind("ask", "Where does Ada Lovelace live?", "--agent", names[2]).out
            kill(hive_mind, names[2])
            assert hive_mind("learn", tmp_path / "later.txt", "--agent", names[1]).code == 0

            first = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "--timeout", "20", "-o", "json")
            owed = {one["who"]: one["why"] for one in first.json["owed"]}
            assert f"node {names[2]}" in owed
            assert "retention time" in next(why for who, why in owed.items() if who.startswith("eventhubs://"))
            assert not any(who.startswith("servicebus://") for who in owed), owed
            queues = reached(broker.broker.entities.namespace, broker.broker)
            assert not any(b"lovelace" in data.lower() for data in queues)

            assert hive_mind("apply", "-f", tmp_path / "fleet.yaml").code == 0
            done = erased_until(hive_mind, lambda owed: len(owed) <= 1)
            assert files_with("lovelace", hive_mind.home) + files_with("chess", hive_mind.home) == []
            genuine = hive_mind("erase", "--check", done["file"])
            assert (genuine.code, "signed by this home" in genuine.out, "retention time" in genuine.out) == (1, True, True)
        finally:
            hive_mind("delete", "--yes")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_a_member_that_does_not_answer_is_named_soon_and_nobody_is_told_to_delete_its_memory(hive_mind: HiveMind, tmp_path, sent):
    (tmp_path / "notes.txt").write_text(f"{ADA}\n{FERRY}\n")
    agents = "\n".join(f"    - {{name: {name}}}" for name in NAMES[:3])
    moderated = FLEET.replace("agent0", f"{NAMES[2]}, {NAMES[0]}")
    with RedisServer() as redis:
        (tmp_path / "fleet.yaml").write_text(moderated.format(url=redis.url, agents=agents))
        try:
            assert hive_mind("apply", "-f", tmp_path / "fleet.yaml").code == 0
            assert hive_mind("learn", tmp_path / "notes.txt", "--agent", NAMES[2]).code == 0
            assert "Elm Street" in hive_mind("ask", "Where does Ada Lovelace live?", "--agent", NAMES[0]).out
            processes = {process["name"]: process["pid"] for process in hive_mind("status", "-o", "json").json["processes"]}
            os.kill(processes[NAMES[2]], sent)

            began_s = time.monotonic()
            told = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "-o", "json")
            # A hung one is waited for once, however many requests there are, and never for the whole timeout.
            assert time.monotonic() - began_s < 45
            assert told.code == 1
            assert [debt["who"] for debt in told.json["owed"]] == [f"node {NAMES[2]}"], told.out
            assert "hears of it when it runs again" in told.json["owed"][0]["why"]
        finally:
            hive_mind("delete", "--yes")


def erased_until(hive_mind: HiveMind, is_done: Callable[[set[str]], bool]) -> dict[str, Any]:
    """The receipt of the first call after which who is owed is as wanted."""
    until_s = time.monotonic() + 60
    while True:
        told = hive_mind("erase", "--subject", "Ada Lovelace", "--yes", "--timeout", "5", "-o", "json")
        if is_done({one["who"] for one in told.json["owed"]}):
            return dict(told.json)
        assert time.monotonic() < until_s, told.out


class Command(NamedTuple):
    """How a process was started."""

    words: list[str]
    environment: dict[str, str]
    folder: str


def kill(hive_mind: HiveMind, *names: str) -> dict[str, Command]:
    found = dict[str, Command]()
    for process in hive_mind("status", "-o", "json").json["processes"]:
        if process["name"] in names:
            place = Path("/proc", str(process["pid"]))
            # A copy of another process has its arguments in one.
            words = (place / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode().split()
            variables = (place / "environ").read_bytes().decode().split("\0")[:-1]
            found[process["name"]] = Command(words, dict(one.split("=", 1) for one in variables), str((place / "cwd").readlink()))
            os.kill(process["pid"], signal.SIGKILL)
    return found


def start_again(command: Command) -> subprocess.Popen[bytes]:
    """As its machine does when it is back; whoever looks after the fleet would start the other one, too."""
    nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    return Forked(command.words, **nowhere, cwd=command.folder, env=command.environment, start_new_session=True)


def is_in_streams(redis: RedisServer, text: bytes) -> bool:
    """Whether it is in the server's memory: written to a file as it is, byte for byte."""
    assert redis.do("SAVE").startswith(b"+OK")
    dump = redis.folder / "dump.rdb"
    body = dump.read_bytes().lower()
    dump.unlink()
    return text in body
