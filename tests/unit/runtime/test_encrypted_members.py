"""Members whose bus carries nothing that anybody else can read: they share as ever, and hear nobody without the key."""

from pathlib import Path

import pytest

from hive_mind.bus import Envelope, type_of
from hive_mind.identity.epochs import LOCKED, PLAIN, UNREADABLE
from hive_mind.model.messages import Encrypted, Receipt
from hive_mind.runtime.keys import KeyFolder, Proof
from hive_mind.runtime.members.member import RunningMember
from tests.attacking import TRUE, comes_to, known_to
from tests.unit.runtime.members.town import Town, plan
from tests.unit.runtime.test_proven_members import revoke
from tests.waiting import until

MEMBERS = ("ada", "bob", "cleo")


@pytest.fixture
def keys(tmp_path: Path) -> KeyFolder:
    made = KeyFolder(tmp_path / "keys", "hive")
    made.found()
    for name in MEMBERS:
        made.issue(name)
        made.admit(name)
    return made


async def member(town: Town, keys: KeyFolder, name: str, **fields: object) -> RunningMember:
    proof = Proof("require", keys.path, name, is_encrypted=True)
    founding = {"topology": "flat"} if name in MEMBERS else {"is_joining": True}
    return await town.begin(plan(name, *(MEMBERS if name in MEMBERS else ()), **{**founding, "proof": proof, **fields}))


async def members(town: Town, keys: KeyFolder) -> list[RunningMember]:
    """All three, and each has heard the others."""
    for name in MEMBERS:
        await member(town, keys, name)
    await town.until_met()
    return list(town.open)


async def test_what_comes_in_plain_and_garbage_is_refused_and_counted_and_one_of_a_sender_is_put_aside(
    keys: KeyFolder, town: Town
) -> None:
    ada, bob, _ = await members(town, keys)
    # It has a key and certificate, and signs: but in plain.
    signing = keys.signing("cleo", "require")
    message = Encrypted(1, b"s" * 16, 1, b"garbage")
    plain = [signing.signed(_said(f"p{number}")) for number in range(3)]
    await town.bus.publish(plain)
    await town.bus.publish([Envelope(f"g{n}", "hive", "cleo", ("ada",), type_of(message), message) for n in range(5)])
    await until(lambda: sum(ada.unread.values()) == 8)
    assert ada.unread == {PLAIN: 3, UNREADABLE: 5}
    (sample,) = await until(lambda: [letter for letter in ada.runner.letters.letters() if letter.count == 8])
    assert (sample.envelope and sample.envelope.sender, ada.runner.health.dead_letters) == ("cleo", 0)
    await ada.memory.store_fact("pumps", TRUE)
    await comes_to(bob, TRUE)


async def test_a_member_without_key_says_so_sends_nothing_and_joins_with_one(keys: KeyFolder, tmp_path: Path, town: Town) -> None:
    (epoch,) = keys.path.glob("*.epoch")
    handed = epoch.read_bytes()
    epoch.unlink()
    keys.issue("eve")
    keys.export(tmp_path / "eve", "eve")
    epoch.write_bytes(handed)
    ada, *_ = await members(town, keys)
    await ada.memory.store_fact("pumps", TRUE)
    carried: list[Envelope] = []
    await town.bus.watch("hive", carried.append)
    eve = await member(town, KeyFolder(tmp_path / "eve", "hive"), "eve")
    # Of which epoch it lacks the key, the others' beats tell; perhaps already.
    assert eve.keyless
    await until(lambda: "was not handed the key of epoch 1" in eve.keyless)
    assert not [one for one in carried if one.sender == "eve"]
    keys.admit("eve")
    # Nobody brings it to eve but the beats of a member that has looked into the folder.
    ada.look_at_keys()
    await until(lambda: eve.is_in)
    assert eve.keyless == ""
    await comes_to(eve, TRUE)


async def test_who_is_revoked_reads_nothing_that_is_sent_from_then_on_and_the_others_go_on(keys: KeyFolder, town: Town) -> None:
    ada, bob, cleo = await members(town, keys)
    await ada.memory.store_fact("pumps", TRUE)
    await comes_to(cleo, TRUE)
    revoke(keys, "cleo")
    # One looks into the folder; the other hears of it by a beat.
    ada.look_at_keys()
    await until(lambda: bob.keyless == "" and bob.secret_epoch == 2)
    for said, heard in ((ada, bob), (bob, ada)):
        text = f"Pump 5 was bought by {said.plan.name}."
        await said.memory.store_fact("pumps", text)
        await comes_to(heard, text)
    await until(lambda: "was not handed the key of epoch 2" in cleo.keyless)
    assert not [text for text in await known_to(cleo) if "Pump 5" in text]


async def test_what_is_of_an_epoch_that_is_not_known_yet_waits_for_it(keys: KeyFolder, tmp_path: Path, town: Town) -> None:
    behind = KeyFolder(tmp_path / "behind", "hive")
    keys.export(behind.path, "bob")
    ada = await member(town, keys, "ada")
    bob = await member(town, behind, "bob")
    await member(town, keys, "cleo")
    await town.until_met()
    keys.issue("dora")
    revoke(keys, "dora")
    ada.look_at_keys()
    await ada.memory.store_fact("pumps", TRUE)
    await comes_to(bob, TRUE)
    assert bob.unread[LOCKED] == 0


async def test_a_member_that_encrypts_nothing_puts_aside_what_is_encrypted_and_goes_on(town: Town) -> None:
    ada, bob = [await town.begin(plan(name, "ada", "bob", topology="flat")) for name in ("ada", "bob")]
    message = Encrypted(1, b"s" * 16, 1, b"what it can't read")
    await town.bus.publish([Envelope("e1", "hive", "bob", ("ada",), type_of(message), message)])
    await until(lambda: ada.runner.figures.refused["encrypted"] == 1)
    await ada.memory.store_fact("pumps", TRUE)
    await comes_to(bob, TRUE)


def _said(id: str) -> Envelope:
    message = Receipt("what is said in plain")
    return Envelope(id, "hive", "cleo", ("ada",), type_of(message), message)
