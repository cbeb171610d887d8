"""Certificates are issued for what is started, and again before they end."""

import base64
import time
from pathlib import Path

import msgspec
import pytest

from hive_mind.control.remembering import issue_for, issued_for, movers_seal, renew, shut_out
from hive_mind.errors import ConfigError
from hive_mind.hive.policy import UNSEALED
from hive_mind.identity import issued
from hive_mind.runtime.keys import KeyFolder
from hive_mind.runtime.workers.config import AgentConfig, HiveConfig, IdentityConfig, NodeConfig, WorkerConfig


def process(folder: Path, *agents: str, mode: str = "require", name: str = "town-0") -> WorkerConfig:
    identity = IdentityConfig(mode, str(folder))  # type: ignore[arg-type]
    hive = HiveConfig("town", is_sealed=mode == "require")
    nodes, made = (NodeConfig(name, agents),), tuple(map(AgentConfig, agents))
    return WorkerConfig("town", name, str(folder), str(folder), hive, nodes, made, identity=identity)


def test_a_process_may_speak_for_itself_its_nodes_and_its_agents(tmp_path: Path) -> None:
    issue_for(process(tmp_path, "ada", "bob"))
    made = KeyFolder(tmp_path, "town").certificate("town-0")
    assert made is not None
    assert made.names == ("town-0", "ada", "bob")


def test_who_proves_nothing_needs_nothing(tmp_path: Path) -> None:
    issue_for(process(tmp_path, "ada", mode="off"))
    renew([process(tmp_path, "ada", mode="off")], print)
    assert not list(tmp_path.iterdir())
    assert movers_seal(process(tmp_path, "ada", mode="off")) is UNSEALED


def test_starting_again_issues_nothing_new_and_another_agent_does(tmp_path: Path) -> None:
    keys = KeyFolder(tmp_path, "town")
    issue_for(process(tmp_path, "ada"))
    first = keys.certificate("town-0")
    issue_for(process(tmp_path, "ada"))
    assert keys.certificate("town-0") == first

    issue_for(process(tmp_path, "ada", "bob"))
    more = keys.certificate("town-0")
    issue_for(process(tmp_path, "bob"))
    less = keys.certificate("town-0")

    assert first is not None
    assert more is not None
    assert less is not None
    # A name more: the same key. A name less: another, and what was said by the former stays.
    assert (first.public == more.public, more.public == less.public) == (True, False)
    assert more in [made for _, made in keys.certificates()]


def test_what_ends_soon_is_renewed_while_the_process_runs(tmp_path: Path) -> None:
    keys, told = KeyFolder(tmp_path, "town"), list[str]()
    keys.found()
    keys.issue("town-0", ["ada"], days=3)
    renew([process(tmp_path, "ada")], told.append)
    made = keys.certificate("town-0")

    assert made is not None
    assert made.not_after_ms > (time.time() + 300 * 24 * 3600) * 1000
    assert told == []


def test_without_the_roots_key_it_is_told_only_where_something_has_to_be_issued(tmp_path: Path) -> None:
    keys, told = KeyFolder(tmp_path, "town"), list[str]()
    keys.found()
    keys.issue("town-0", ["ada"])
    keys.issue("town-1", ["bob"], days=3)
    (tmp_path / "root.key").unlink()

    issue_for(process(tmp_path, "ada"))
    renew([process(tmp_path, "ada"), process(tmp_path, "bob", name="town-1")], told.append)

    assert len(told) == 1
    assert "bring root.key here" in told[0]
    with pytest.raises(ConfigError, match=r"bring root\.key here"):
        issue_for(process(tmp_path, "cyd", name="town-2"))


def test_where_messages_are_encrypted_each_process_that_is_started_is_handed_the_epoch(tmp_path: Path) -> None:
    keys, ada = KeyFolder(tmp_path, "town"), process(tmp_path, "ada")
    issue_for(ada)
    assert keys.epoch() is None
    encrypted = msgspec.structs.replace(ada, identity=msgspec.structs.replace(ada.identity, encryption=True))
    # As an earlier version issued it.
    made, root = keys.certificate("town-0"), keys.root_if_here()
    assert made is not None
    assert root is not None
    earlier = issued(root, msgspec.structs.replace(made, box=b""))
    (tmp_path / "town-0.cert").write_bytes(base64.b64encode(earlier))

    issue_for(encrypted)
    first = keys.epoch()
    issue_for(encrypted)

    assert first is not None
    assert set(first.handed) == {made.key_id}
    assert keys.epoch() == first
    lack = [keys.signing("town-0", "require", is_encrypted=True).epochs, keys.signing("town-0", "require").epochs]
    assert (lack[0] and lack[0].lack, lack[1]) == ("", None)


def test_keys_that_a_person_gives_are_handed_the_epoch_and_nothing_is_issued(tmp_path: Path) -> None:
    keys, ada = KeyFolder(tmp_path, "town"), process(tmp_path, "ada")
    encrypted = msgspec.structs.replace(ada, identity=msgspec.structs.replace(ada.identity, encryption=True))
    keys.found()
    made = keys.issue("town-0", ["ada"])
    given = issued_for({"town-0": encrypted, "town-1": msgspec.structs.replace(encrypted, process="town-1")}, keys, is_given=True)

    assert (given.ids, set(given.public)) == ({}, {"root.pub", "certificates", "epochs"})
    assert keys.certificate("town-1") is None
    assert set(getattr(keys.epoch(), "handed", {})) == {made.key_id}


def test_who_was_put_out_is_told_to_read_on_where_the_root_is_not_here(tmp_path: Path) -> None:
    keys, told = KeyFolder(tmp_path, "town"), list[str]()
    issue_for(process(tmp_path, "ada"))
    shut_out("ada", keys, told.append)
    keys.admit("town-0")
    (tmp_path / "root.key").unlink()
    shut_out("ada", keys, told.append)

    (line,) = told
    assert "ada still reads what is sent" in line


def test_who_moves_facts_seals_them_for_their_authors_and_members_believe_it(tmp_path: Path) -> None:
    sealed = movers_seal(process(tmp_path, "ada")).seal("ada", b"a fact")
    issue_for(process(tmp_path, "ada"))
    keyring = KeyFolder(tmp_path, "town").signing("town-0", "require").keyring
    assert keyring.refusal("ada", b"hive-mind/seal/1/town\0a fact", sealed, 1, is_present=False) == ""
