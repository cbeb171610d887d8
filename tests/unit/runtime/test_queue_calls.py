"""Why a fact is not in an answer, what stands behind one, and what waits for a person: as requests to agents."""

from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.runtime.workers.worker import Worker
from tests.unit.runtime.worker_builders import config, running
from tests.waiting import until

PUMP = "The pump in hall 3 is red."
ASKED = {"question": "What colour is the pump in hall 3?"}


async def ready(worker: Worker) -> None:
    await until(lambda: worker.status().is_ready)


async def test_each_step_at_which_a_fact_falls_out_is_named(tmp_path: Path) -> None:
    async with running(config(tmp_path)) as worker:
        await ready(worker)
        call = worker.call
        kept = [
            await call("ada", "store", content=text)
            for text in (PUMP, "The pumps of the town were bought in 1987.", "Zebras eat grass.")
        ]
        former, back = [
            (await call("ada", "store", content=f"The gate of the yard is {one}."))["fact_id"] for one in ("dim", "old")
        ]
        await call("ada", "correct", fact_id=former, content="The gate of the yard is shut.")
        await call("ada", "retract", fact_id=back)

        async def step(expected: str, limit: int = 10) -> str:
            told = await call("ada", "why_not", **ASKED, text=expected, limit=limit)
            return str(told["step"])

        assert await step(kept[0]["fact_id"]) == "used"
        assert await step(kept[0]["fact_id"][:8]) == "used"
        assert await step(PUMP) == "used"
        assert await step(former) == "superseded"
        assert await step(back) == "retracted"
        assert await step(kept[2]["fact_id"]) == "not found"
        assert await step("a yak in Nepal") == "unknown"
        told = await call("ada", "why_not", **ASKED, text=kept[1]["fact_id"], limit=10)
        assert (told["step"], told["fact"]["fact_id"]) == ("not used", kept[1]["fact_id"])
        assert told["place"] > 1
        assert told["hit"]["score"] > 0
        with pytest.raises(InvalidInput, match="say which fact"):
            await call("ada", "why_not", **ASKED, text=" ")


async def test_a_fact_far_down_is_said_to_be_ranked_below_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(config(tmp_path)) as worker:
        await ready(worker)
        kept = [await worker.call("ada", "store", content=f"Pump {number} runs {'and runs ' * number}.") for number in range(40)]
        told = await worker.call("ada", "why_not", question="Which pump runs?", text=kept[-1]["fact_id"], limit=2)

        found = (await worker.call("ada", "search", query="Which pump runs?", limit=100))["hits"]
        place = [one["fact_id"] for one in found].index(kept[-1]["fact_id"]) + 1
        assert (told["step"], told["place"]) == ("ranked below", place)
        assert told["last"]["score"] > told["hit"]["score"]

        monkeypatch.setattr("hive_mind.runtime.inquiry._PLACES_MAX", 5)
        told = await worker.call("ada", "why_not", question="Which pump runs?", text=kept[-1]["fact_id"], limit=2)
        assert (told["step"], told["place"], told["hit"]) == ("ranked below", 0, None)
        assert "not among the first 5" in told["told"]


async def test_evidence_names_vouchers_copies_and_what_contradicts(tmp_path: Path) -> None:
    async with running(config(tmp_path, topology="sharded")) as worker:
        await ready(worker)
        kept = await worker.call("ada", "store", content=PUMP, concept="pump", source="tour")
        await worker.call("ben", "store", content=PUMP, concept="pump", source="plan")
        await worker.call("cleo", "store", content="The pump in hall 3 is blue.", concept="pump", source="rumour")

        told = await worker.call("ada", "evidence", fact_id=kept["fact_id"])

        assert {(one["agent"], one["source"]) for one in told["vouchers"]} == {("ada", "tour"), ("ben", "plan")}
        assert (len(told["kept_by"]), told["silent"], told["confirmations"]) == (2, [], 1)
        assert [one["content"] for one in told["disputed"]] == ["The pump in hall 3 is blue."]


async def test_queues_list_what_waits_and_take_only_what_who_asks_may_decide(tmp_path: Path) -> None:
    async with running(config(tmp_path)) as worker:
        await ready(worker)
        kept = await worker.call("ada", "store", content=PUMP, confidence=0.01)
        await worker.call("ada", "store", content="The valve is shut.")

        told = await worker.call("ada", "held_back", limit=5)
        assert ([one["fact_id"] for one in told["facts"]], told["count"]) == ([kept["fact_id"]], 1)
        again = await worker.call("ada", "reconsider", fact_id=kept["fact_id"])
        assert again == {"fact_id": kept["fact_id"], "sharing": "private"}
        with pytest.raises(InvalidInput, match="holds no fact"):
            await worker.call("ben", "reconsider", fact_id=kept["fact_id"])
        with pytest.raises(InvalidInput, match="and 'ben' is not one"):
            await worker.call("ben", "quarantine", fact_id=kept["fact_id"], good=False, because="doubtful")
        assert await worker.call("ben", "quarantined") == {"facts": [], "count": 0}
        assert await worker.call("ada", "inbox") == {"items": [], "count": 0, "agent": "ada"}
        for kind, why in (("approve", "no item"), ("burn", "`kind`")):
            with pytest.raises(InvalidInput, match=why):
                await worker.call("ada", "decide", title="none", kind=kind, source="ines")
