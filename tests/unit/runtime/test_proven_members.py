"""Members that prove who they are share as ever; whoever has no key, another's, or one that is good no more, says nothing."""

import asyncio
from pathlib import Path

import pytest

from hive_mind.bus import Envelope
from hive_mind.errors import ConfigError
from hive_mind.identity import PrivateKey
from hive_mind.identity.epochs import Mode
from hive_mind.model.messages import Heartbeat, Receipt
from hive_mind.runtime.keys import KeyFolder, Proof
from hive_mind.runtime.members.member import RunningMember
from tests.attacking import FALSE, MODERATED, TRUE, addressed, comes_to, known_to, said_in_a_twin
from tests.unit.runtime.members.town import Town, plan
from tests.waiting import until

MEMBERS = ("ada", "bob", "cleo")


def keys_in(folder: Path, *names: str) -> KeyFolder:
    keys = KeyFolder(folder, "hive")
    keys.found()
    for name in names:
        keys.issue(name)
    return keys


async def members(town: Town, keys: KeyFolder | None, mode: Mode = "require") -> list[RunningMember]:
    """All three, and each has heard the others. Without keys: they believe everybody."""
    proofs = {name: Proof(mode, keys.path, name) if keys else None for name in MEMBERS}
    for name, proof in proofs.items():
        await town.begin(plan(name, *MEMBERS, topology="flat", nodes=MODERATED, proof=proof))
    await town.until_met()
    return list(town.open)


def revoke(keys: KeyFolder, name: str, since_ms: int = 0) -> None:
    made = keys.certificate(name)
    assert made is not None
    keys.revoke(made.key_id, since_ms)


async def test_what_a_dead_member_said_before_keeps_it_alive_for_nobody_when_it_is_said_again(tmp_path: Path, town: Town) -> None:
    keys = keys_in(tmp_path / "keys", "ada", "bob")

    async def begun(town: Town, name: str) -> RunningMember:
        return await town.begin(plan(name, "ada", "bob", topology="flat", proof=Proof("require", keys.path, name)))

    seen: list[Envelope] = []
    await town.bus.watch("hive", seen.append)
    for name in ("ada", "bob"):
        await begun(town, name)
    await town.until_met()
    await town.end(*town.open)
    kept = [one for one in seen if one.sender == "bob" and isinstance(one.message, Heartbeat)]
    assert len(kept) > 1
    ada = await begun(town, "ada")
    await town.bus.publish([*kept, Envelope("end", "hive", "bob", ("ada",), "receipt", Receipt("end"))])
    await until(lambda: ada.runner.figures.unproven == {"unsigned": 1})

    assert ada.silent() == ("bob",)
    await begun(town, "bob")
    await until(lambda: not ada.silent())


async def test_a_joiner_needs_a_certificate_of_this_fleet(tmp_path: Path, town: Town) -> None:
    keys, others = keys_in(tmp_path / "keys", *MEMBERS), keys_in(tmp_path / "others", "eve", "mallory")
    ada, *_ = await members(town, keys)
    mallory = await town.begin(plan("mallory", is_joining=True, proof=Proof("require", others.path, "mallory")))
    await until(lambda: ada.runner.figures.unproven.get("unknown key", 0) > 2)
    assert not mallory.is_in
    keys.issue("eve")
    eve = await town.begin(plan("eve", is_joining=True, proof=Proof("require", keys.path, "eve")))
    await until(lambda: eve.is_in)
    await eve.memory.store_fact("pumps", TRUE)
    await comes_to(ada, TRUE)


async def test_a_key_that_is_revoked_says_nothing_more_and_what_it_said_before_stays(tmp_path: Path, town: Town) -> None:
    keys = keys_in(tmp_path / "keys", *MEMBERS)
    ada, bob, cleo = await members(town, keys)
    await cleo.memory.store_fact("pumps", TRUE)
    await comes_to(ada, TRUE)
    await until(lambda: not cleo.is_busy)
    revoke(keys, "cleo", since_ms=1 << 60)
    # One member looks into the folder, the others hear of it by its beats.
    ada.look_at_keys()
    await until(lambda: bob.runner.figures.unproven.get("revoked", 0) > 2)
    await cleo.memory.store_fact("pumps", FALSE)
    await asyncio.sleep(0.3)
    assert TRUE in await known_to(bob)
    assert FALSE not in await known_to(bob)


async def test_a_revoked_key_stays_so_for_who_heard_of_it_from_others_and_starts_again_alone(tmp_path: Path, town: Town) -> None:
    keys = keys_in(tmp_path / "keys", *MEMBERS)
    keys.export(tmp_path / "of ada", "ada")
    spent = keys.signing("cleo", "require")

    async def begun(town: Town, name: str, folder: Path) -> RunningMember:
        return await town.begin(plan(name, *MEMBERS, topology="flat", proof=Proof("require", folder, name)), store="sqlite")

    ada, bob = await begun(town, "ada", tmp_path / "of ada"), await begun(town, "bob", keys.path)
    await until(lambda: ada.silent() == ("cleo",) == bob.silent())
    revoke(keys, "cleo")
    bob.look_at_keys()
    said = [spent.signed(Envelope(f"r{n}", "hive", "cleo", ("ada",), "receipt", Receipt(f"r{n}"))) for n in range(2)]
    await until(lambda: ada.member.node.policy.seal.revision > 0 and not ada.is_busy)
    await town.bus.publish(said[:1])
    await until(lambda: ada.runner.figures.unproven == {"revoked": 1})
    # The journal has it as soon as the node has ticked.
    await until(lambda: ada.member.node._revision > 0 and not ada.is_busy)
    await town.end(ada, bob)

    again = await begun(town, "ada", tmp_path / "of ada")
    assert not (tmp_path / "of ada" / "revoked").exists()
    await town.bus.publish(said[1:])
    await until(lambda: again.runner.figures.unproven == {"revoked": 1})


async def test_who_was_idle_when_its_key_was_revoked_says_its_facts_again_by_its_next_key(tmp_path: Path, town: Town) -> None:
    keys = keys_in(tmp_path / "keys", "ada", "bob")

    async def begun(name: str) -> RunningMember:
        return await town.begin(
            plan(name, "ada", "bob", topology="flat", proof=Proof("require", keys.path, name)), store="sqlite"
        )

    ada, bob = await begun("ada"), await begun("bob")
    await town.until_met()
    await ada.memory.store_fact("pumps", TRUE)
    await comes_to(bob, TRUE)
    revoke(keys, "ada")
    for one in (ada, bob):
        one.look_at_keys()
    shares = [share for one in (ada, bob) for share in one.member.node.partitions.shares.values()]
    await until(lambda: not any(list(share.all_sealed()) for share in shares))
    await town.end(ada)

    keys.issue("ada")
    ada = await begun("ada")
    await until(lambda: not ada.silent())
    await comes_to(ada, TRUE)
    await comes_to(bob, TRUE)


async def test_a_member_that_believes_everybody_makes_nobody_else_believe(tmp_path: Path, town: Town) -> None:
    """Set to `warn` by whoever runs it, it takes in what a stranger says; what it hands on bears no seal, and stays with it."""
    attack = addressed((await said_in_a_twin(tmp_path / "twin", *MEMBERS)), "hive", MEMBERS)
    keys = keys_in(tmp_path / "keys", *MEMBERS)
    modes: dict[str, Mode] = {"ada": "require", "bob": "warn", "cleo": "require"}
    ada, bob, cleo = [
        await town.begin(plan(name, *MEMBERS, topology="flat", nodes=MODERATED, proof=Proof(mode, keys.path, name)))
        for name, mode in modes.items()
    ]
    await town.until_met()
    await cleo.memory.store_fact("pumps", TRUE)
    await comes_to(ada, TRUE)
    await comes_to(bob, TRUE)
    await town.bus.publish([one for one in attack if one.target == ("bob",)])
    await until(lambda: bob.runner.figures.unproven.get("unsigned", 0) > 10 and not bob.runner.is_busy)
    known = await known_to(bob)
    assert FALSE in known or TRUE not in known
    await cleo.memory.store_fact("pumps", "Pump 4 is in hall 2.")
    await comes_to(ada, "Pump 4 is in hall 2.")
    # Some rounds of what members tell each other by themselves.
    await asyncio.sleep(0.5)
    for one in (ada, cleo):
        assert TRUE in await known_to(one)
        assert FALSE not in await known_to(one)
        assert one.member.membership.topology is not None
        assert {"ada", "cleo"} <= set(one.member.membership.topology.nodes)


@pytest.mark.parametrize("mode", ["off", "warn"])
async def test_a_peer_that_asks_for_less_proof_lowers_nobody_elses_and_is_told_apart(
    tmp_path: Path, mode: Mode, town: Town
) -> None:
    """`off`: it also speaks the format that had no seals, which are the same bytes. `warn`: it signs, and hears strangers."""
    keys = keys_in(tmp_path / "keys", *MEMBERS)
    proofs = dict.fromkeys(MEMBERS, "require") | {"cleo": mode}
    ada, bob, cleo = [
        await town.begin(plan(name, *MEMBERS, topology="flat", proof=Proof(proof, keys.path, name) if proof != "off" else None))
        for name, proof in proofs.items()
    ]
    await until(lambda: ada.silent() == bob.silent() == (("cleo",) if mode == "off" else ()))
    for one, text in ((cleo, FALSE), (ada, TRUE)):
        await one.memory.store_fact("pumps", text)
    await comes_to(bob, TRUE)
    await town.bus.publish([Envelope("old", "hive", "cleo", ("ada", "bob"), "receipt", Receipt("old"))])
    await until(lambda: all(one.runner.figures.unproven["unsigned"] > 0 for one in (ada, bob)))
    await asyncio.sleep(0.3)
    for one in (ada, bob):
        assert one.signing is not None
        assert one.signing.is_required
        assert (FALSE in await known_to(one)) == (mode == "warn")
        assert set(one.runner.figures.unproven) == {"unsigned"}


async def test_what_was_said_unsigned_stays_where_it_was_believed_and_later_is_refused_and_counted(
    tmp_path: Path, town: Town
) -> None:
    """Members started by hand, one of which is away when the other begins to require proof."""
    keys, first, late, anew = keys_in(tmp_path / "keys", "ada", "bob"), "Pump 4 is old.", "Pump 4 is slow.", "Pump 4 is new."

    async def began(name: str, mode: Mode) -> RunningMember:
        proof = Proof(mode, keys.path, name) if mode != "off" else None
        return await town.begin(plan(name, "ada", "bob", topology="flat", proof=proof), store="sqlite")

    ada, bob = await began("ada", "warn"), await began("bob", "off")
    await town.until_met()
    await bob.memory.store_fact("pumps", first)
    await comes_to(ada, first)
    await town.end(ada)
    await bob.memory.store_fact("pumps", late)
    await town.end(bob)

    ada, bob = await began("ada", "require"), await began("bob", "require")
    await bob.memory.store_fact("pumps", anew)
    await comes_to(ada, anew)
    await until(lambda: ada.member.node.refused.get("not sealed by its agent", 0) > 0)
    assert await known_to(ada) == {first, anew}
    assert await known_to(bob) == {first, late, anew}


async def test_without_a_key_it_says_what_to_do(tmp_path: Path, town: Town) -> None:
    keys = keys_in(tmp_path / "keys", "ada")
    with pytest.raises(ConfigError, match="hive-mind keys issue bob"):
        await town.begin(plan("bob", *MEMBERS, proof=Proof("require", keys.path, "bob")))
    (keys.path / "ada.key").write_bytes((PrivateKey.generate().raw.hex() + "\n").encode())
    with pytest.raises(ConfigError):
        await town.begin(plan("ada", *MEMBERS, proof=Proof("require", keys.path, "ada")))
