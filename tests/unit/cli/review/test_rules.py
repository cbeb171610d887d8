"""`hive-mind rules`: begun, checked, tried on what an agent knows, and learned from what people decided."""

import asyncio
from pathlib import Path

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.judge.items import Decision, Item
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.model.ids import fact_id, item_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_ledger
from tests.acceptance.hive_mind_command import HiveMind

ACCEPT, REJECT = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE
NOTES = "The ferry costs 14 euros.\n\n# Pump\n\nThe pump is red.\n\n# Talk\n\nA rumour says that the ferry is sold.\n"


@pytest.fixture
def command(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / "home").with_environment(HIVE_MIND_EMBED="none")


@pytest.fixture
def rules(command: HiveMind, tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    assert command("file", "init", "rules", file).code == 0
    return file


def decide(command: HiveMind, *said: tuple[str, JudgmentAction]) -> None:
    async def whole() -> None:
        ledger = await open_ledger(Settings(home=command.home), "default")
        desk = LedgerDesk(ledger)
        for text, action in said:
            subject = fact_id(text)
            item = Item(
                id=item_id("fact", subject, subject),
                kind="fact",
                agent="default",
                subject=subject,
                title=text[:40],
                opened_ms=1,
                context=(("fact", text),),
            )
            await desk.ask(item)
            await desk.decide(Decision(item=item.id, action=action, by="olga"))
        await ledger.close()

    asyncio.run(whole())


def test_what_init_writes_is_right_and_a_mistake_is_told_with_its_line(command: HiveMind, rules: Path) -> None:
    assert command("file", "validate", rules).out == f"{rules}: nothing is wrong\n"
    assert command("file", "init", "rules", rules).code == 2

    rules.write_text(rules.read_text().replace("'euros' in", "open("))
    told = command("file", "validate", rules)

    assert told.code == 2
    assert f"{rules}:11: spec.rules[0].condition: the condition can't be used" in told.out


def test_rules_are_tried_on_what_an_agent_knows_and_on_an_export(command: HiveMind, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(NOTES)
    assert command("learn", tmp_path / "notes.md").code == 0
    decide(command, ("The ferry costs 14 euros.", ACCEPT))
    assert command("facts", "export", tmp_path / "facts.jsonl").code == 0

    of_agent = command("rules", "try", rules, "-o", "json").json
    of_file = command("rules", "try", rules, "--on", tmp_path / "facts.jsonl", "-o", "json").json

    prices, code, rumours = of_agent["rules"]
    assert (code["id"], code["matched"], code["broken"]) == ("no-eval", 0, 0), "it is about outputs"
    assert (prices["matched"], prices["wrongly"], prices["examples"]) == (1, 1, ["The ferry costs 14 euros."])
    assert (rumours["id"], rumours["matched"]) == ("rumours", 1)
    assert [rule["matched"] for rule in of_file["rules"]] == [1, 0, 1]
    assert of_file["facts"] == of_agent["facts"]
    assert "tried on" in command("rules", "try", rules).err


def test_what_is_no_export_is_refused_with_what_to_do(command: HiveMind, rules: Path) -> None:
    told = command("rules", "try", rules, "--on", rules)
    assert told.code == 1
    assert "give a file that `facts export` wrote" in told.err


def test_rules_follow_from_what_people_decided_alike(command: HiveMind, tmp_path: Path) -> None:
    prices = [(f"A berth of class {n} costs {n} euros.", REJECT) for n in range(12)]
    others = [(f"Berth {n} lies at the quay.", ACCEPT) for n in range(12)]
    decide(command, *prices, *others)
    written = tmp_path / "learned.yaml"

    (found,) = command("rules", "propose", "--out", written, "-o", "json").json

    assert (found["rule"]["action"], found["rule"]["mode"], found["coverage"]) == ("retry", "shadow", 12)
    assert found["rule"]["condition"] == "'class' in result.get('text', '').lower()"
    assert command("file", "validate", written).code == 0
    assert found["rule"]["id"] in command("rules", "propose").out

    decide(command, ("A berth of another class costs 20 euros.", ACCEPT))
    assert command("rules", "propose").out.startswith("No rule follows from 25 decisions")


def test_without_a_fleet_no_rules_are_at_work(command: HiveMind) -> None:
    told = command("rules", "list")
    assert told.code == 2
    assert "there is no fleet in" in told.err
