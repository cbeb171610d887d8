"""What pages show of a worker that runs."""

import html
import re
from pathlib import Path

import msgspec
import pytest

from hive_mind.bus import Envelope
from hive_mind.bus.dead_letters import refusal
from hive_mind.console.visit import brief
from hive_mind.evals.experiments import Arm
from hive_mind.model.messages import Receipt
from hive_mind.runtime.workers.config import AgentConfig
from tests.unit.console.looking import looking
from tests.unit.evals.report.invented import experiment, write_run
from tests.unit.runtime.worker_builders import NAMES
from tests.waiting import until

EVIL = "<script>alert(1)</script>\"onload=alert(2) 'x"
PUMP, VALVE = "The pump in hall 3 is red.", "The valve V7 in hall 3 was replaced in 2019."


async def test_the_fleet_has_each_agent_with_phase_facts_and_whom_it_hears_and_is_followed(tmp_path):
    async with looking(tmp_path) as browser:
        await browser.worker.call("ada", "store", content=PUMP)
        page = (await browser.get(""))[1]
        assert all(f'id="agent-{name}"' in page for name in NAMES)
        assert "1 of 1 · 100 %" in page
        assert "ready" in page
        assert "No agent is like that." in (await browser.get("?q=nobody"))[1]
        told = await browser.first_event("fleet/live?q=ben")
        assert told["figures"]["agents"] == 4
        for found in ((await browser.get("?q=ben"))[1], told["html"]):
            assert 'id="agent-ben"' in found
            assert 'id="agent-ada"' not in found


async def test_a_process_that_does_not_answer_is_shown_as_silent_and_one_that_ended_stays_on_the_map(tmp_path, monkeypatch):
    monkeypatch.setattr("hive_mind.console.seen._FRESH_S", 0.0)
    async with looking(tmp_path) as browser:
        run = Path(browser.worker.config.run)
        contact = (run / "town.json").read_text().replace("town", "gone").replace(str(browser.root.port), "9")
        (run / "gone.json").write_text(contact)
        assert "Process gone: it does not answer" in (await browser.get(""))[1]

        config = run.parent / "config" / "ended.json"
        config.parent.mkdir()
        ended = msgspec.structs.replace(browser.worker.config, process="ended", agents=(AgentConfig("eve", group="north"),))
        config.write_bytes(ended.packed())
        page = (await browser.get(""))[1]
        assert "Process ended: it is not running: hive-mind status says why" in page
        assert 'id="agent-eve"' in page
        assert "process ended does not run" in (await browser.get("facts?agent=eve"))[1]
        config.unlink()
        assert 'id="agent-eve"' not in (await browser.get(""))[1]


async def test_an_answer_has_its_sources_scores_and_who_was_asked_and_why_not_the_step_at_which_a_fact_fell_out(tmp_path):
    async with looking(tmp_path) as browser:
        kept = await browser.worker.call("ada", "store", content=PUMP, source="tour")
        other = await browser.worker.call("ada", "store", content=VALVE)
        page = (await browser.get("ask?agent=ada&q=What colour is the pump in hall 3?"))[1]
        assert html.escape(PUMP) in page
        assert kept["fact_id"] in page
        assert all(part in page for part in ("Of the hive searched", "words", "keyword score", "Silent:", "tour"))

        asked = "ask/why-not?agent=ada&q=What colour is the pump in hall 3?&expected="
        assert "<strong>used.</strong>" in (await browser.get(f"{asked}The pump in hall 3 is red"))[1]
        assert "<strong>not used.</strong>" in (await browser.get(f"{asked}{other['fact_id']}"))[1]
        assert "<strong>unknown.</strong>" in (await browser.get(f"{asked}zebras gallop"))[1]


async def test_facts_are_listed_searched_and_turned(tmp_path):
    async with looking(tmp_path) as browser:
        for number in range(60):
            await browser.worker.call("ada", "store", content=f"Pump P{number} stands in hall {number}.")
        page = (await browser.get("facts?agent=ada"))[1]
        assert "1–50" in page
        assert "Pump P59 " in page
        assert "Pump P9 " not in page
        older = (await browser.get("facts?agent=ada&page=2"))[1]
        assert "51–60" in older
        assert "Pump P9 " in older
        assert "Pump P33 " in (await browser.get("facts?agent=ada&q=P33"))[1]


async def test_a_fact_has_its_source_verbatim_its_vouchers_and_its_copies(tmp_path):
    async with looking(tmp_path, topology="sharded") as browser:
        text = f"# Tour\n\n{PUMP} {VALVE}"
        learned = await browser.worker.call("ada", "learn", text=text, source="https://tour.example/hall", title="The tour")
        page = (await browser.get(f"facts/{learned['facts'][0]}?agent=ada"))[1]
        assert html.escape(text) in page
        assert '<a href="https://tour.example/hall" rel="noreferrer noopener">' in page
        assert "Who vouches for it" in page
        copies = page.split("Where its copies are")[1].split("<h2>")[0]
        assert sum(name in copies for name in NAMES) == 2
        elsewhere = (await browser.get(f"facts/{learned['facts'][0]}?agent=ben"))[1]
        assert html.escape(PUMP) in elsewhere
        assert "As agent ben has it" in elsewhere


async def test_a_fact_leads_to_the_file_that_another_read_to_others_about_what_it_names_and_to_what_contradicts_it(tmp_path):
    async with looking(tmp_path) as browser:
        call, path = browser.worker.call, "/srv/plant/notes/pumps.txt"
        learned = await call("ada", "learn", text=PUMP, source=path)
        at = f"facts/{learned['facts'][0]}"
        assert "stored as it is" not in (await browser.get(f"{at}?agent=ada"))[1]
        await browser.until_page(f"{at}?agent=ben", "ada has it from")
        elsewhere = (await browser.get(f"{at}?agent=ben"))[1]
        assert "stored as it is" not in elsewhere
        assert f"{at}?agent=ada" in elsewhere
        for page in (elsewhere, (await browser.get(f"{at}?agent=ada"))[1], (await browser.get("facts?agent=ada"))[1]):
            assert ">…/notes/pumps.txt<" in page
            assert f">{path}<" not in page

        kept = await call("ada", "store", content="Valve V7 stands in hall 3.", concept="Valve V7")
        await call("ada", "store", content="Valve V7 was made in Trieste.", concept="Valve V7")
        await call("ada", "store", content="Valve V7 stands in hall 4.", concept="Valve V7")
        await call("ada", "store", content="The ferry leaves at nine.", concept="ferry")
        page = (await browser.get(f"facts/{kept['fact_id']}?agent=ada"))[1]
        assert "It was stored as it is" in page
        assert "Trieste" in page.split("Around it")[1]
        assert "ferry" not in page
        assert "contradicted by" in page.split("Around it")[0]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("/srv/plant/notes/pumps.txt", "…/notes/pumps.txt"),
        ("C:\\plant\\notes\\pumps.txt", "…/notes/pumps.txt"),
        ("notes/pumps.txt", "notes/pumps.txt"),
        ("/pumps.txt", "/pumps.txt"),
        ("a shift log", "a shift log"),
        ("//", "//"),
        ("", ""),
    ],
)
def test_a_whole_path_is_shown_by_its_end(source, shown):
    assert brief(source) == shown


async def test_a_long_list_comes_whole(tmp_path):
    async with looking(tmp_path) as browser:
        for number in range(12):
            await browser.worker.call("ada", "store", content=f"Pump P{number} {'hums' * 4_500} waits.")
        page = (await browser.get("facts?agent=ada"))[1]
        assert "Pump P0 " in page
        assert len(page) > 200_000


async def test_a_fact_is_corrected_and_taken_back_with_a_reason_that_is_kept(tmp_path):
    async with looking(tmp_path) as browser:
        kept = await browser.worker.call("ada", "store", content=PUMP)
        path = f"facts/{kept['fact_id']}"
        form = {"agent": "ada", "csrf": await browser.csrf(f"{path}?agent=ada")}
        assert (await browser.post(f"{path}/retract", form))[0] == 400

        status, page = await browser.post(f"{path}/correct", {**form, "content": "The pump is blue.", "reason": "painted"})
        assert status == 200
        assert "The pump is blue." in page
        assert f'replaced <a href="/ui/facts/{kept["fact_id"]}' in page
        newer = (await browser.worker.call("ada", "facts"))["facts"][0]["fact_id"]
        status, page = await browser.post(f"facts/{newer}/retract", {**form, "reason": "never\nwas"})
        assert status == 200
        lines = browser.decisions.read_text().splitlines()
        assert [line.count('"outcome":"done"') for line in lines] == [0, 1, 0, 1]
        assert "never\\nwas" in lines[-1]


async def test_nothing_that_others_wrote_becomes_markup(tmp_path):
    agents = (AgentConfig("ada", domain=EVIL), *(AgentConfig(name) for name in NAMES[1:]))
    async with looking(tmp_path, agents=agents) as browser:
        kept = await browser.worker.call(
            "ada", "store", content=f"Pump {EVIL} is red.", source=EVIL, concept=EVIL, labels=(EVIL,)
        )
        linked = await browser.worker.call("ada", "store", content="A link.", source="javascript:alert(3)")
        learned = await browser.worker.call("ada", "learn", text=f"The valve {EVIL} is shut.", source=EVIL, title=EVIL)
        paths = ["facts?agent=ada", "ask?agent=ada&q=pump", "ask/why-not?agent=ada&q=pump&expected=pump"]
        paths += [f"facts/{one}?agent=ada" for one in (kept["fact_id"], linked["fact_id"], *learned["facts"])]
        paths += [f"?q={EVIL}", f"facts?agent=ada&q={EVIL}", f"ask?agent={EVIL}&q=x", f"facts/{'0' * 32}?agent={EVIL}"]
        for path in paths:
            page = (await browser.get(path))[1]
            assert "<script>alert" not in page, path
            assert "\"onload=alert(2) 'x" not in page, path
            assert 'href="javascript' not in page, path


async def test_a_run_is_shown_with_its_graph_and_followed_step_by_step(tmp_path):
    nodes = [{"id": "ask", "kind": "person", "outputs": ["word"], "prompt": EVIL}, {"id": "wait", "kind": "tool", "tool": "wait"}]
    worker = {"id": "asks", "entry": "ask", "nodes": nodes, "edges": [{"source": "ask", "target": "wait"}]}
    agents = (AgentConfig("ada", worker=worker), *(AgentConfig(name) for name in NAMES[1:]))
    async with looking(tmp_path, agents=agents) as browser:
        assert "ada has no runs." in (await browser.get("runs?agent=ada"))[1]
        await browser.worker.call("ada", "run", run="r")
        await browser.until_page("runs/r?agent=ada", "here now")
        page = (await browser.get("runs/r?agent=ada"))[1]
        assert all(part in page for part in ("asks", "→ wait", "It waits for a person", "parked"))
        assert "<script>alert" not in page
        told = await browser.first_event("runs/r/live?agent=ada")
        assert "<strong>started</strong>" in told["line"]
        assert "<script>alert" not in told["line"]
        assert 'id="run-r"' in (await browser.get("runs?agent=ada"))[1]

        form = {"agent": "ada", "csrf": await browser.csrf("runs/r?agent=ada")}
        assert (await browser.post("runs/r/cancel", form))[0] == 400
        status, page = await browser.post("runs/r/cancel", {**form, "reason": "no longer needed"})
        assert (status, "cancelled" in page) == (200, True)
        assert '"did":"run_cancelled"' in browser.decisions.read_text()


async def test_a_person_talks_with_a_run_and_a_form_that_is_sent_twice_says_it_once(tmp_path):
    worker = {"id": "talks", "entry": "talk", "nodes": [{"id": "talk", "clientFacing": True, "outputs": ["word"]}]}
    agents = (AgentConfig("ada", worker=worker, model=f"scripted:{EVIL}"), *(AgentConfig(name) for name in NAMES[1:]))
    async with looking(tmp_path, agents=agents) as browser:
        await browser.worker.call("ada", "run", run="r")
        await browser.until_page("runs/r?agent=ada", "Your reply")
        page = (await browser.get("runs/r?agent=ada"))[1]
        assert "<script>alert" not in page
        assert "waits for a word (talk)" in (await browser.get("runs?agent=ada"))[1]
        form = {
            "agent": "ada",
            "csrf": await browser.csrf("runs/r?agent=ada"),
            "key": re.findall(r'name="key" value="(\w+)"', page)[0],
        }
        assert (await browser.post("runs/r/say", form))[0] == 400
        for _ in range(2):
            assert (await browser.post("runs/r/say", {**form, "text": "to Corrin"}))[0] == 200
        await until_heard(browser, 1)
        assert (await browser.post("runs/r/say", {**form, "key": "another", "text": "at nine"}))[0] == 200
        await until_heard(browser, 2)


async def until_heard(browser, count):
    async def is_heard():
        shown = await browser.worker.call("ada", "run_shown", run="r")
        assert shown["heard"] <= count
        return shown["heard"] == count and shown["listening"]

    await until(is_heard)


async def test_queues_hold_what_waits_and_each_is_decided_with_a_reason(tmp_path):
    worker = {
        "id": "asks",
        "entry": "ask",
        "nodes": [{"id": "ask", "kind": "person", "outputs": ["word"], "prompt": f"Why {EVIL}?"}],
    }
    agents = (AgentConfig("ada", worker=worker), *(AgentConfig(name) for name in NAMES[1:]))
    async with looking(tmp_path, agents=agents) as browser:
        call = browser.worker.call
        held = await call("ada", "store", content=f"Perhaps {EVIL}.", confidence=0.01)
        rivals = [await call("ada", "store", content=f"The pump in hall 3 is {one}.", concept="pump") for one in ("red", "blue")]
        await call("ada", "run", run="r")
        await browser.until_page("queues?agent=ada", "Questions to people (1)")
        page = (await browser.get("queues?agent=ada"))[1]
        assert all(part in page for part in ("Contradictions (1)", "Held back (1)", "Under quarantine (0)"))
        assert "<script>alert" not in page

        form = {"agent": "ada", "shown": "ada", "csrf": await browser.csrf("queues?agent=ada")}
        for name, about in (("retract", rivals[1]), ("reconsider", held), ("retract", held)):
            given = {**form, "fact": about["fact_id"]}
            assert (await browser.post(f"queues/{name}", given))[0] == 400
            assert (await browser.post(f"queues/{name}", {**given, "reason": EVIL}))[0] == 200
        page = (await browser.get("queues?agent=ada"))[1]
        assert all(part in page for part in ("Contradictions (0)", "Held back (0)"))
        item = (await call("ada", "inbox"))["items"][0]["id"]
        answer = {**form, "item": item, "how": "answer", "text": "Since 2019.", "by": "ines", "reason": "asked the harbour"}
        status, page = await browser.post("queues/item", answer)
        assert (status, "Questions to people (0)" in page) == (200, True)
        assert "<script>alert" not in page
        assert (await browser.post("queues/item", answer | {"by": "joe"}))[0] == 400
        moderated = {**form, "fact": rivals[0]["fact_id"], "good": "false", "reason": "doubtful"}
        status, page = await browser.post("queues/quarantine", moderated)
        assert status == 400
        assert "failed: " in browser.decisions.read_text().splitlines()[-1]


async def test_an_item_of_a_run_shows_its_signals_and_what_follows(tmp_path):
    look = {
        "id": "look",
        "kind": "tool",
        "tool": "recall",
        "args": {"query": "x"},
        "outputs": ["found"],
        "requiresApproval": True,
    }
    worker = {"id": "looks", "description": "Look it up.", "entry": "look", "nodes": [look]}
    agents = (AgentConfig("ada", worker=worker), *(AgentConfig(name) for name in NAMES[1:]))
    async with looking(tmp_path, agents=agents) as browser:
        await browser.worker.call("ada", "run", run="r")
        await browser.until_page("queues?agent=ada", "Questions to people (1)")
        page = (await browser.get("queues?agent=ada"))[1]
    for told in (
        "on yes: what look set counts",
        "on no: the run ends as rejected",
        "the requested outputs are set",
        "Look it up.",
        "cost so far",
    ):
        assert told in page


async def test_a_message_is_sent_and_shown_to_whom_it_went_and_dead_letters_are_sent_again_and_forgotten(tmp_path):
    async with looking(tmp_path, topology="sharded") as browser:
        form = {"agent": "ada", "to": "ben", "text": EVIL, "csrf": await browser.csrf("messages?agent=ada")}
        assert (await browser.post("messages/tell", form))[0] == 200
        await browser.until_page("messages?agent=ben", "Messages to ben (1)")
        page = (await browser.get("messages?agent=ben"))[1]
        assert html.escape(EVIL, quote=False) in page.replace("&#34;", '"').replace("&#39;", "'")
        assert "<script>alert" not in page

        file = browser.worker._nodes["ada"].runner.letters
        messages = [Envelope(f"id-{number}", "town", EVIL, ("ada",), "receipt", Receipt(EVIL)) for number in range(2)]
        file.write([refusal(message, 1, EVIL) for message in messages])
        await browser.until_page("messages?agent=ada", "Dead letters of its hive (2)")
        page = (await browser.get("messages?agent=ada"))[1]
        assert "<script>alert" not in page
        letters = (await browser.worker.call("ada", "dead_letters"))["letters"]
        assert {one["name"] for one in letters} == {"ada"}

        form = {"agent": "ada", "letter": letters[0]["id"], "csrf": await browser.csrf("messages?agent=ada")}
        assert (await browser.post("messages/move", {**form, "how": "drop"}))[0] == 400
        assert (await browser.post("messages/move", {**form, "reason": "noise", "how": "burn"}))[0] == 400
        status, page = await browser.post("messages/move", {**form, "reason": "noise", "how": "drop"})
        assert (status, "Dead letters of its hive (1)" in page) == (200, True)
        again = {**form, "letter": letters[1]["id"], "reason": "mended", "how": "replay"}
        assert (await browser.post("messages/move", again))[0] == 200
        assert '"did":"replay"' in browser.decisions.read_text()


async def test_evaluations_are_listed_with_figures_and_a_report_that_can_do_nothing(tmp_path):
    wanted = experiment("Letters", "Which?", arms=[Arm("single"), Arm("federated", 10, 5)])
    folder = tmp_path / "runs" / "today"
    folder.mkdir(parents=True)
    write_run(folder, wanted, failed={"federated": EVIL})
    (folder / "report.html").write_text(EVIL)
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "scorecard.json").write_text("[")
    async with looking(tmp_path / "town") as browser:
        assert "No runs here." in (await browser.get("evaluations"))[1]
        assert (await browser.link(evaluations=str(tmp_path / "runs")))[0] == 200
        page = (await browser.get("evaluations"))[1]
        assert "today" in page
        assert "its scorecard can&#39;t be read" in page
        paths = [f"evaluations/{one.split(chr(34))[0]}" for one in page.split('id="run-')[1:]]
        (path,) = [path for path in paths if "<h1>today" in (await browser.get(path))[1]]
        page = (await browser.get(path))[1]
        assert all(part in page for part in ("recall", "failed", "done"))
        assert "<script>alert" not in page
        status, page, headers = await browser.get(f"{path}/report")
        assert (status, EVIL in page) == (200, True)
        assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none';")
        assert "script-src" not in headers["Content-Security-Policy"]
        for other in ("evaluations/today", "evaluations/%2e%2e%2ftoday/report"):
            assert (await browser.get(other))[0] == 404
