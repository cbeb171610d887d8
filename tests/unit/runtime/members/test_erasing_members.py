"""Members over one bus, memories and journals in files: what is erased leaves the files of all, also of who was away."""

from pathlib import Path

import pytest

from hive_mind.api import requests as api
from hive_mind.bus.dead_letters import file_of, refusal, unreadable
from hive_mind.hive.policy.admission import erased_key
from hive_mind.hive.policy.node_policy import PolicySettings
from hive_mind.hive.settings import HiveSettings
from hive_mind.model.erasure import erasure_of
from hive_mind.runtime.calls import AgentCalls
from hive_mind.runtime.members import MemberPlan
from hive_mind.runtime.members.member import RunningMember
from tests.contract.bus_builders import envelope
from tests.unit.runtime.members.town import Town, plan
from tests.waiting import until

ADA = "Ada Lovelace lives at 12 Elm Street."
FERRY = "The ferry leaves at nine."
SUBJECT = erasure_of("subject", "Ada Lovelace")


def member(name: str) -> MemberPlan:
    return plan(name, "ann", "ben", "cleo", nodes=HiveSettings(standing=PolicySettings(moderators=("ann",))))


def files_with(folder: Path, text: str) -> list[str]:
    wanted = text.casefold().encode()
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [str(file.relative_to(folder)) for file in files if wanted in file.read_bytes().lower()]


def refuse(folder: Path) -> None:
    """Each node once refused a message that says it, and one that says something else."""
    for journal in list(folder.rglob("hives/*/*.sqlite")):
        letters = file_of(journal.parent, journal.stem)
        letters.write([refusal(envelope(text), 1, "it bites") for text in (ADA, FERRY)])
        letters.write([unreadable(f"\0{ADA}".encode(), 1, "malformed")])


def has_confirmed(seen_by: RunningMember, name: str) -> bool:
    return bool(seen_by.member.node.registry.get(erased_key(name, SUBJECT)))


async def test_also_what_a_member_that_was_away_had_told_nobody(tmp_path: Path, town: Town) -> None:
    ann, ben, cleo = [await town.begin(member(name), "sqlite") for name in ("ann", "ben", "cleo")]
    for one in (ann, ben, cleo):
        await one.until_ready(10, lambda _: None)
    await ann.memory.store_fact("ada", ADA)
    await ann.memory.store_fact("ferry", FERRY)
    await cleo.memory.local_store_fact("ada", "Ada Lovelace has the key of the vault.")
    await until(lambda: all(len(one.member.node.partitions.shares["all"]) == 2 for one in (ann, ben, cleo)))
    await cleo.close()
    refuse(tmp_path)
    assert len({file.split("/")[0] for file in files_with(tmp_path, "lovelace")}) == 2

    calls = AgentCalls(ann.agent, ann, is_kept=True)
    await calls.do(api.Erase(erasures=(SUBJECT.key,)))
    await until(lambda: ben.member.node.registry.get(f"erasure/{SUBJECT.key}"))
    for one in (ann, ben):
        await one.erase()
    await until(lambda: has_confirmed(ann, "ben"))
    told = await calls.do(api.Erased(erasures=(SUBJECT.key,)))
    assert {name: bool(value) for name, value in told["confirmed"].items()} == {"ann": True, "ben": True}
    assert all("cleo" in file for file in files_with(tmp_path, "lovelace"))

    cleo = await town.begin(member("cleo"), "sqlite")
    await cleo.until_ready(10, lambda _: None)
    await until(lambda: cleo.member.node.registry.get(f"erasure/{SUBJECT.key}"))

    async def cleo_has_confirmed() -> bool:
        await cleo.erase()
        return has_confirmed(ann, "cleo")

    await until(cleo_has_confirmed)

    assert files_with(tmp_path, "lovelace") == []
    assert [len(one.runner.letters.letters()) for one in (ann, ben, cleo)] == [1] * 3
    assert [fact.content for fact in await cleo.memory.get_all_facts()] == [FERRY]


async def test_nobody_confirms_while_its_node_still_has_some_of_it(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = await town.begin(member("ann"))
    calls, partitions = AgentCalls(ann.agent, ann, is_kept=True), ann.member.node.partitions
    # As one that does not know the time yet.
    monkeypatch.setattr(partitions, "erased", lambda: {"f" * 32})
    await calls.do(api.Erase(erasures=(SUBJECT.key,)))
    await ann.erase()
    assert not has_confirmed(ann, "ann")

    monkeypatch.setattr(partitions, "erased", set)
    await ann.erase()
    assert has_confirmed(ann, "ann")
