"""A fleet whose facts a model judges: what it lets pass is audited, and what a person finds wrong is gone everywhere."""

import json

import pytest

from tests.acceptance.test_judged_fleet import LIMIT, inbox, own, seen_by_ben
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

VERDICTS = {"verdicts": [{"number": n, "action": "share", "confidence": 0.9, "reasoning": "plausible"} for n in range(1, 21)]}
MANIFEST = {
    "apiVersion": "hive-mind/v1",
    "kind": "Hive",
    "metadata": {"name": "town"},
    "spec": {
        "topology": "flat",
        "agents": [{"name": "ben"}, {"name": "ann"}],
        "judge": {"facts": "model", "model": f"scripted:{json.dumps(VERDICTS)}", "audit": 1.0, "callsPerMinute": 60},
        "rules": [{"id": "prices", "condition": "'price' in result.text", "action": "retry", "description": "no prices"}],
    },
}
FERRY = "The ferry leaves Corrin at nine in the morning."
CHEESE = "The pier of Corrin is made of cheese."
PRICE = "The price of a ticket is 23 pounds in summer."


def test_what_a_person_finds_wrong_in_an_audit_is_taken_back_from_all_and_counted(command, tmp_path):
    manifest, notes = tmp_path / "town.yaml", tmp_path / "notes.md"
    manifest.write_text(json.dumps(MANIFEST))
    notes.write_text(f"# Ferry\n\n{FERRY}\n\n# Pier\n\n{CHEESE}\n\n# Price\n\n{PRICE}\n")
    assert command("apply", "-f", manifest, *LIMIT).code == 0
    assert command("learn", notes, "--agent", "ann").code == 0

    wait_until(lambda: {own(command)[text]["sharing"] for text in (FERRY, CHEESE)} == {"shared"})
    assert own(command)[PRICE]["held_back"] == "rule prices (no prices)"
    assert seen_by_ben(command, FERRY, CHEESE, PRICE) == {FERRY, CHEESE}

    # At the desk of ben, the first agent.
    waiting = wait_until(
        lambda: {one["item"]["title"]: one["item"] for one in inbox(command)} if len(inbox(command)) == 2 else None
    )
    assert {(one["kind"], one["agent"]) for one in waiting.values()} == {("audit", "ann")}
    assert command("inbox", "approve", waiting[FERRY]["id"], "--as", "olga").code == 0
    assert command("inbox", "reject", waiting[CHEESE]["id"], "--as", "olga", "--because", "cheese melts").code == 0

    wait_until(lambda: own(command)[CHEESE]["held_back"] == "olga said no: cheese melts")
    wait_until(lambda: seen_by_ben(command, FERRY, CHEESE) == {FERRY})
    told = command("judge", "ann", "-o", "json").json
    assert (told["judged"], told["by_rule"], told["escalated"]) == (3, 1, 0)
    assert (told["by_confidence"], told["accept_accuracy_by_confidence"]) == ({"0.9": 2}, {"0.9": 0.5})
    assert told["models"] == [f"scripted:{json.dumps(VERDICTS)}"]
    assert command("delete", "--purge", "--yes").code == 0
