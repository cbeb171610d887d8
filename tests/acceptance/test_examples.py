"""Every file of docs/examples runs as it stands and prints what its reader is promised."""

import sys
from pathlib import Path

import pytest

from tests.servers.forked import run

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.py"))
PROMISED = {
    "01_one_agent": ["runbook.md: 2 facts", "The gateway listens on port 8443.", "I don't know"],
    "02_facts_by_hand": [
        "('handbook', 'Ines')",
        "['The nightly backup starts at 04:30.']",
        "The nightly backup starts at 02:00.",
        "The nightly backup starts at 02:00. → The nightly backup starts at 04:30.",
    ],
    "03_own_reader": ["timeout is 30 s"],
    "04_a_hive": [
        line
        for topology in ("flat", "federated", "sharded")
        for line in (
            f"{topology}: dora finds ['The gateway listens on port 8443.']; private because ",
            f"{topology}: after ada took it back, dora finds 0",
        )
    ],
    "05_a_hive_as_one_object": [
        "confirmed, 1 confirmation, by ['ada', 'bert']",
        "disputed: The gateway listens on port 8443.",
        "disputed: The gateway listens on port 9443.",
        "2 facts, 1 confirmed; newest: The gateway listens on port 9443.",
        "trust in bert: 0.4",
        "['ada: 1.0', 'bert: 0.4', 'mo: 1.0']",
        "taken back: 1; left: 1",
    ],
    "07_a_run": ["a person is asked: may order run?", "ended: accepted · ordered grease"],
    "08_a_model_with_tools": ["accepted after 2 turns: Port 8443, says the runbook.", "The gateway listens on port 8443."],
    "09_a_source_of_inputs": ["leaves at nine. → 1 fact learned", "→ “The ferry leaves at nine.”", "→ I don't know"],
    "10_a_toolset_for_pydantic_ai": ["['recall', 'remember']: ['The gateway listens on port 8443. (runbook)']"],
    "11_a_store_for_langgraph": [
        "got: {'text': 'Ines keeps the spare seal in cupboard 12. Ines works in hall 3.'}",
        "found: ['Ines keeps the spare seal in cupboard 12.']",
        "now: ['Ines works in hall 4.']",
        "left: []",
    ],
    "12_a_session_for_openai_agents": [
        "conversation 1: nothing",
        "conversation 2: You remember: The gateway listens on port 8443. (conversation 1)",
    ],
    "06_members_on_a_bus": [
        "nobody is missing: True",
        "ben found: The gateway listens on port 8443. (100% of the hive was reached)",
    ],
}
# Packages that the tests do without elsewhere; where one is missing, its example is not run.
NEEDED = {
    "10_a_toolset_for_pydantic_ai": ("pydantic_ai",),
    "11_a_store_for_langgraph": ("langgraph.store.base",),
    "12_a_session_for_openai_agents": ("agents.memory.session",),
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints_what_it_promises(path, tmp_path):
    for package in NEEDED.get(path.stem, ()):
        pytest.importorskip(package)
    ended = run([sys.executable, "-W", "error", path], 60, cwd=tmp_path, text=True)

    assert ended.returncode == 0, ended.stderr
    assert [promise for promise in PROMISED[path.stem] if promise not in ended.stdout] == []
    assert list(tmp_path.iterdir()) == []
