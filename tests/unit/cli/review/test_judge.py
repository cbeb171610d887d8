"""`hive-mind judge`: its figures at any time, also while the agent runs, and forgetting what it learned.

`hive-mind rules`: begun, checked, tried on what an agent knows, and learned from what people decided.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hive_mind.agents.desk import LedgerDesk
from hive_mind.agents.judging.decision_log import LedgerLog
from hive_mind.agents.judging.fact_judge import FactJudge, audit_item, fact_item
from hive_mind.agents.judging.model_judge import ModelJudge
from hive_mind.judge.items import Decision, Item
from hive_mind.judge.judgment import JudgeSettings, JudgmentAction
from hive_mind.llm.base import Prompt
from hive_mind.llm.scripted import ScriptedModel
from hive_mind.model.fact import Fact
from hive_mind.model.ids import fact_id, item_id
from hive_mind.runtime.settings import Settings, ledger_path
from hive_mind.runtime.wiring import open_ledger
from tests.acceptance.hive_mind_command import HiveMind
from tests.unit.agents.town import reply, shown, verdict

ACCEPT, REJECT = JudgmentAction.ACCEPT, JudgmentAction.ESCALATE


@pytest.fixture
def hive_mind(tmp_path: Path) -> HiveMind:
    return HiveMind(tmp_path / "home")


def answer(prompt: Prompt) -> str:
    """Half as sure of what is told of boats as of what is told of the pier."""
    return reply(*(verdict(one["number"], confidence=0.45 if "Boat" in one["text"] else 0.92) for one in shown(prompt)))


async def half_confirmed(facts: Sequence[Fact]) -> Mapping[str, float]:
    """Others have said what has an even number."""
    return {fact.id: 0.5 for fact in facts if int(fact.content.split()[2]) % 2 == 0}


def lived(home: Path, *, wrong: int, facts: int = 30, weighs: bool = False) -> None:
    """The judge of ann has judged so many facts, and people have answered about each: that the last ones are wrong."""

    async def work() -> None:
        ledger = await open_ledger(Settings(home=home), "ann")
        desk, settings = LedgerDesk(ledger), JudgeSettings(has_model=True)
        checked, log = ModelJudge(ScriptedModel(answer)), LedgerLog(ledger, audit_share=1.0, learns_weights=weighs)
        judge = FactJudge("ann", checked, log, settings, half_confirmed)
        await judge.load()
        for number in range(facts):
            text = f"{'Boat' if number % 3 == 0 else 'Post'} number {number} is painted green."
            fact = Fact(fact_id(text), text, "harbour", 0.9, ("notes",), 1)
            (judged,) = await judge.judge([fact])
            is_audit = judged.audit > 0
            item = audit_item("ann", judged) if is_audit else fact_item("ann", fact, judged.judgment, is_by_model=True)
            await desk.ask(item)
            action = REJECT if number >= facts - wrong else ACCEPT
            await desk.decide(Decision(item=item.id, action=action, by="olga"))
        await judge.judge([])
        await ledger.close()

    asyncio.run(work())


def test_where_nothing_was_judged_it_says_so_and_makes_no_file(hive_mind: HiveMind) -> None:
    assert "Nothing was judged for ann yet" in hive_mind("judge", "ann").out
    assert hive_mind("judge", "-o", "json").json["judged"] == 0
    refused = hive_mind("judge", "reset", "ann")
    assert (refused.code, "nothing was ever judged for 'ann'" in refused.err) == (2, True)
    assert not ledger_path(Settings(home=hive_mind.home), "ann").exists()


def test_the_measures_and_the_four_calibration_figures_can_be_read(hive_mind: HiveMind) -> None:
    lived(hive_mind.home, wrong=3)

    told = hive_mind("judge", "ann", "-o", "json").json
    assert (told["agent"], told["judged"], told["escalated"], told["audits"], told["compared"]) == ("ann", 30, 10, 20, 30)
    assert told["escalation_rate"] == pytest.approx(1 / 3)
    assert (told["rule_match_rate"], told["by_confidence"]) == (0, {"0.4": 10, "0.9": 20})
    assert told["accept_accuracy_by_confidence"] == {"0.4": 0.9, "0.9": 0.9}
    assert (told["recommended_threshold"], told["threshold_by_goal_type"], told["retry_success_rate"]) == (None, {}, None)
    assert (told["threshold"], told["is_threshold_learned"]) == (None, False)
    assert (told["asked"], told["models"], told["unpriced"]) == (30, ["scripted"], 30)
    assert told["tokens"] > 0
    assert told["weights_by_goal_type"]["fact"].keys() == {"confirmations", "model"}
    assert (told["decisions_by_goal_type"], told["are_weights_used"]) == ({"fact": 30}, False)

    shown_too = hive_mind("judge", "ann").out
    assert "33%" in shown_too
    assert "manifest's" in shown_too
    assert "90%" in shown_too
    assert "Signals count alike so far" in shown_too


def test_what_it_learned_is_shown_and_can_be_forgotten(hive_mind: HiveMind) -> None:
    lived(hive_mind.home, wrong=20, facts=90, weighs=True)
    told = hive_mind("judge", "ann", "-o", "json").json
    assert (told["threshold"], told["is_threshold_learned"]) == (None, True)
    shown_too = hive_mind("judge", "ann").out
    assert "it may not decide alone" in shown_too
    assert f"{told['weights_by_goal_type']['fact']['model']:.2f}" in shown_too
    assert (told["are_weights_used"], "Signals count alike" in shown_too) == (True, False)

    assert hive_mind("judge", "reset", "ann").code == 0
    told = hive_mind("judge", "ann", "-o", "json").json
    assert (told["is_threshold_learned"], told["compared"], told["judged"]) == (False, 0, 90)
    assert told["weights_by_goal_type"] == {}


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
