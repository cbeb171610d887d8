"""A fleet whose facts are judged: rules decide at once, people from the command line, and nobody else sees what waits."""

import pytest

from tests.waiting import wait_until

pytestmark = pytest.mark.slow

MANIFEST = """
apiVersion: hive-mind/v1
kind: Hive
metadata: {name: town}
spec:
  topology: flat
  agents: [{name: ann}, {name: ben}]
  judge: {facts: rules}
  rules:
    - {id: prices, condition: "'price' in result.text.lower()", action: escalate, description: a person checks prices}
    - {id: rumours, condition: "'rumour' in result.text", action: retry, description: no rumours}
"""
FERRY = "The ferry leaves Corrin at nine in the morning."
PRICE = "The price of a ticket is 23 pounds in summer."
WRONG_PRICE = "The price of a season ticket is 2 pounds."
BOAT_PRICE = "The price of a boat is 40 pounds an hour."
RUMOUR = "People say a rumour that the ferry will be sold."
LIMIT = ("--timeout", 300)


def own(command, agent="ann"):
    """What an agent keeps, by its text."""
    return {fact["content"]: fact for fact in command("get", "facts", agent, "-o", "json").json}


def test_what_waits_for_a_person_is_in_the_inbox_once_and_a_decision_takes_effect_everywhere(command, tmp_path):
    manifest, notes = tmp_path / "town.yaml", tmp_path / "notes.md"
    manifest.write_text(MANIFEST)
    # Apart, so that no text stands before another.
    notes.write_text(f"# Ferry\n\n{FERRY}\n\n# Price\n\n{PRICE}\n\n# Season\n\n{WRONG_PRICE}\n\n# Talk\n\n{RUMOUR}\n")
    assert command("apply", "-f", manifest, *LIMIT).code == 0
    assert command("learn", notes, "--agent", "ann").code == 0

    waiting = wait_until(
        lambda: {one["item"]["title"]: one["item"] for one in inbox(command)} if len(inbox(command)) == 2 else None
    )
    assert set(waiting) == {PRICE, WRONG_PRICE}
    mine = own(command)
    assert mine[RUMOUR]["held_back"] == "rule rumours (no rumours)"
    assert mine[PRICE]["held_back"] == f"asked a person ({waiting[PRICE]['id'][:8]})"
    assert "held back" in command("get", "facts", "ann").out
    assert seen_by_ben(command, PRICE, WRONG_PRICE, RUMOUR, FERRY) == {FERRY}

    approved = command("inbox", "approve", waiting[PRICE]["id"], "--as", "olga")
    rejected = command("inbox", "reject", waiting[WRONG_PRICE]["id"], "--agent", "ann", "--as", "olga", "--because", "too cheap")
    assert (approved.code, rejected.code) == (0, 0)
    wait_until(lambda: own(command)[WRONG_PRICE]["held_back"] == "olga said no: too cheap")
    wait_until(lambda: own(command)[PRICE]["sharing"] == "shared")
    assert seen_by_ben(command, PRICE, WRONG_PRICE, RUMOUR, FERRY) == {FERRY, PRICE}
    assert inbox(command) == []

    # The desk is Ann's, of the fleet: what Ben asks lies there, too, and what is decided there reaches him.
    notes.write_text(f"# Boat\n\n{BOAT_PRICE}\n")
    assert command("learn", notes, "--agent", "ben").code == 0
    (asked,) = wait_until(lambda: inbox(command))
    assert (asked["item"]["agent"], asked["item"]["title"]) == ("ben", BOAT_PRICE)
    assert command("inbox", "list", "--agent", "ben", "-o", "json").json == [asked]
    assert command("inbox", "list", "--agent", "ann", "-o", "json").json == []
    assert command("inbox", "approve", asked["item"]["id"], "--as", "olga").code == 0
    wait_until(lambda: own(command, "ben")[BOAT_PRICE]["sharing"] == "shared")

    # Another rule: what was shared is taken back where it forbids.
    manifest.write_text(MANIFEST.replace("'rumour' in", "'ferry' in"))
    assert command("apply", "-f", manifest, *LIMIT).code == 0
    wait_until(lambda: own(command)[FERRY]["held_back"] == "rule rumours (no rumours)")
    assert seen_by_ben(command, PRICE, FERRY) == {PRICE}
    assert command("delete", "--purge", "--yes").code == 0


RULES = """
apiVersion: hive-mind/v1
kind: Rules
spec:
  rules:
    - {id: no_prices, condition: "'price' in result.text.lower()", action: retry, description: prices change}
"""


def test_a_rule_that_is_approved_decides_in_the_whole_hive_until_it_is_taken_back(command, tmp_path):
    manifest, notes, rules = (tmp_path / name for name in ("town.yaml", "notes.md", "learned.yaml"))
    manifest.write_text(MANIFEST.replace("escalate", "accept"))
    notes.write_text(f"# Ferry\n\n{FERRY}\n\n# Price\n\n{PRICE}\n")
    rules.write_text(RULES)
    off = command("rules", "approve", "--from", rules)
    assert (off.code, "no fleet" in off.err) == (2, True)
    assert command("apply", "-f", manifest, *LIMIT).code == 0
    assert command("learn", notes, "--agent", "ben").code == 0
    wait_until(lambda: own(command, "ben")[PRICE]["sharing"] == "shared")

    first = command("rules", "approve", "--from", rules, "--as", "ruth")
    assert first.out == "no_prices decides 10% of all cases from now on, at every agent (people decided no case of it)\n"
    early = command("rules", "approve", "no_prices")
    assert early.code == 2
    assert "the next step takes 20 decisions that agree" in early.err
    # Before the rule of the manifest that accepts.
    rules.write_text(RULES.replace("description", "priority: 200, description"))
    whole = command("rules", "approve", "--from", rules, "--of", "1", "--as", "ruth", "-o", "json").json
    assert [(rule["id"], rule["rollout"], rule["peopleDecided"]) for rule in whole] == [("no_prices", 1.0, 0)]
    wait_until(lambda: own(command, "ben")[PRICE]["held_back"] == "rule no_prices (prices change)")
    listed = command("rules", "list", "-o", "json").json
    assert [(rule["id"], rule["metadata"].get("approved_by")) for rule in listed] == [
        ("no_prices", "ruth"),
        ("prices", None),
        ("rumours", None),
    ]
    assert "the hive, by ruth" in command("rules", "list").out

    shown = command("rules", "show", "no_prices")
    assert "approved_by: ruth" in shown.out
    assert "people decided no case of it" in shown.err
    assert command("rules", "show", "nobody").code == 2

    of_manifest = command("rules", "retire", "rumours")
    assert of_manifest.code == 2
    assert "stands in the manifest: change it there" in of_manifest.err
    assert "hive-mind rules list shows them" in command("rules", "shadow", "nobody").err
    assert command("rules", "retire", "no_prices").out == "no_prices is retired\n"
    wait_until(lambda: own(command, "ben")[PRICE]["sharing"] == "shared")

    assert command("delete", "--yes").code == 0
    stopped = command("rules", "approve", "no_prices")
    assert (stopped.code, "is stopped" in stopped.err) == (1, True)
    assert command("delete", "--purge", "--yes").code == 0


def inbox(command):
    return command("inbox", "list", "-o", "json").json


def seen_by_ben(command, *texts):
    """Those of the texts that Ben finds, asked for in their own words."""
    found = [command("ask", text, "--agent", "ben", "-o", "json").json for text in texts]
    return {hit["content"] for told in found for hit in (*told["sources"], *told.get("closest", ()))} & set(texts)
