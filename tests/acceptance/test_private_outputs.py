"""An output belongs to its run until the run is accepted: one that was rejected is in no later prompt, file or export."""

from pathlib import Path
from typing import Any

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.model_runs import process, prompts, says, sets, with_model, worker_file
from tests.servers.openai_compatible import OpenAICompatibleServer

CARD = "4111 1111 1111 1111"
GOAL = {
    "id": "safe",
    "successCriteria": [{"id": "short", "metric": "condition", "target": "len(output.note) < 100"}],
    "constraints": [{"id": "no-card", "check": "'4111' not in str(result)"}],
}


def note(folder: Path, id: str, **node: Any) -> Path:
    """A worker that writes a note, which the runs of a stream and the fleet share."""
    write = {"id": "write", "prompt": "Write it.", "inputs": ["note", "all"], "outputs": ["note", "all"], **node}
    return worker_file(folder, id, entry="write", nodes=[write], goal=GOAL, scopes={"note": "stream", "all": "fleet"})


def memory_of(hive_mind: HiveMind) -> str:
    path = hive_mind.home / "agents" / "default" / "adapt.md"
    return path.read_text("utf-8") if path.exists() else ""


def files_that_hold(text: str, folder: Path) -> list[str]:
    """All but the journal and the folder of the run itself."""
    held = [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
    return [str(path.relative_to(folder)) for path in held if "ledger" not in path.name and "runs" not in path.parts]


def test_a_private_card_number_that_a_hard_constraint_rejects_is_in_no_later_prompt_file_or_export(
    hive_mind: HiveMind, tmp_path: Path
) -> None:
    file = note(tmp_path, "note")
    hive_mind("learn", "-", "--source", "notes", stdin="The ferry leaves at nine.")
    replies = [sets(note=CARD, all=CARD), sets(note="all is well", all="so far"), sets(note="still well", all="as before")]
    with OpenAICompatibleServer(replies) as server:
        command = with_model(hive_mind, server)
        first = process(command, "run", file, "--name", "first", "--stream", "s", "-o", "json").json
        assert (first["status"], first["reason"]) == ("parked", "violates hard constraint no-card")
        assert "4111" not in memory_of(hive_mind)
        assert hive_mind("inbox", "reject", first["waiting"][0]["id"], "--because", "private", "--as", "ines").code == 0
        assert command("runs", "resume", "first", "-o", "json").json["status"] == "rejected"
        for name in ("second", "third"):
            assert command("run", file, "--name", name, "--stream", "s", "-o", "json").json["status"] == "accepted"
    assert len(server.requests) == 3
    assert not [prompt for prompt in prompts(server)[1:] if "4111" in prompt]
    assert hive_mind("facts", "export", tmp_path / "facts.jsonl").code == 0
    assert hive_mind("backup", tmp_path / "copy.sqlite").code == 0
    assert files_that_hold(CARD, tmp_path) == []
    # The accepted ones are remembered, and shared with the stream and the fleet.
    for told in ('- note: \\"all is well\\"', "note: all is well", "all: so far"):
        assert told in prompts(server)[-1]
    assert '- note: "still well"\n- all: "as before"\n' in memory_of(hive_mind)


def test_a_run_sees_its_own_outputs_and_writes_none_into_the_agents_memory_itself(hive_mind: HiveMind, tmp_path: Path) -> None:
    file = note(tmp_path, "note", tools=["load_data", "edit_data"])
    edits = {"filename": "adapt.md", "old": "## Outputs\n", "new": f"## Outputs\n- card: {CARD}\n"}
    script = [
        says(("set_output", {"key": "note", "value": CARD})),
        says(("edit_data", edits), ("edit_data", {**edits, "old": "## Rules\n", "new": "## Rules\n- be brief\n"})),
        says(text="I give up."),
    ]
    with OpenAICompatibleServer(script) as server:
        with_model(hive_mind, server)("run", file, "--name", "first", "-o", "json")
    second, third = prompts(server)[1:3]
    assert f"- note: {CARD}" in second
    assert "the outputs of runs that were accepted" in third
    assert "- be brief" in memory_of(hive_mind)
    assert "4111" not in memory_of(hive_mind)
