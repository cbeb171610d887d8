"""What only a heading, a file or a folder says: it is shown beside a quote, and other versions and projects stay declined."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.answering.headings import lacks_name_of_program, notes_around, opening_bonus, titles_of, unsaid, value_of
from hive_mind.model.content import Content
from hive_mind.model.fact import place_label
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_agent
from tests.unit.cognition.reading import hit

TEXTS = {
    "/p/client/README.md": "The client is written in TypeScript.\nThe renderer is Skia.\nThe timeout is 30 seconds.\n",
    "/p/server/README.md": "The database is PostgreSQL 15.\nBackups run at 02:30.\nThe maintainer is Jonas Brandt.",
    "/p/deploy/notes.md": "The cluster has five nodes.\nA release takes ten minutes.\nSecrets come from Vault.\n",
    "/p/plover-1.2/CHANGES.md": """# Changes

## 1.0.5 (2024-03-02)

- Handle the end of a stream.
- Allow trio 0.25.

## 1.0.6

- Close idle connections.

## 0.9.0

### Added

- Proxies over HTTPS.

### Fixed

- A race in the pool.

## 0.8.0

### Fixed

- Headers of 100 kB.
""",
    "/p/kestrel-2.0/CHANGES.md": """# Changes

## 2.0.1

- A leak is closed.

## 1.9.0

### Removed

- Support for Windows 7.
""",
    "/p/a/news.md": "# dunlin\n\n## 3.1.4\n\n- Fixed the race in the scheduler.\n\n## 3.1.3\n\n- Sort the queue.\n",
    "/p/b/news.md": "# Avocet\n\n# 3.2.0\n\n- The clock is kept.\n\n# 3.1.9\n\n### Fixed\n\n- The pause.\n",
    # The same words as in another file.
    "/p/d/news.md": "# Smew\n\n## 7.7.1\n\n- Fixed the race in the scheduler.\n- The pause.\n",
    "/p/c/guide.md": """---
title: Cedar House
---

## Kitchen

The dishwasher runs at night.
The oven is cleaned on Mondays.

### Keys

| room | key |
|---|---|
| Pantry | K-9 |
| Cellar | K-4 |
""",
    "/p/ops/hosts.md": """willet-vpn-10 stands in rack 7.
willet-vpn-10 was restarted on Monday by Ana.
The certificate of willet-vpn-10 ends in June.
plover-db-3 was built by Lenovo.
plover-db-3 runs Debian 12.
""",
}
_OF_STREAM = "“Handle the end of a stream.” — 2 Mar 2024 (under “1.0.5 (2024-03-02)”; in “plover-1.2”)"
ANSWERED = {
    "What was fixed in plover 1.0.5?": _OF_STREAM,
    "What changed in plover 1.0.6?": "“Close idle connections.” (under “1.0.6”; in “plover-1.2”)",
    "What was added in plover 0.9.0?": "“Proxies over HTTPS.” (under “0.9.0: Added”; in “plover-1.2”)",
    "What was fixed in plover 0.8.0?": "“Headers of 100 kB.” (under “0.8.0: Fixed”; in “plover-1.2”)",
    "What was removed in kestrel 1.9.0?": "“Support for Windows 7.” (under “1.9.0: Removed”; in “kestrel-2.0”)",
    "When was plover 1.0.5 released?": _OF_STREAM,
    "What was fixed in dunlin 3.1.4?": "“Fixed the race in the scheduler.” (under “3.1.4”; in “dunlin”)",
    "What changed in dunlin 3.1.3?": "“Sort the queue.” (under “3.1.3”; in “dunlin”)",
    "What was changed in Avocet 3.2.0?": "“The clock is kept.” (under “3.2.0”; in “Avocet”)",
    "What was fixed in Avocet 3.1.9?": "“The pause.” (under “3.1.9: Fixed”; in “Avocet”)",
    "What was fixed in Smew 7.7.1?": "“Fixed the race in the scheduler.” (in “Smew: 7.7.1”)",
    "When is the oven of Cedar House cleaned?": "“The oven is cleaned on Mondays.” (in “Cedar House”)",
    "Which database does the server use?": "“The database is PostgreSQL 15.” (in “server”)",
    "Who maintains the server?": "“The maintainer is Jonas Brandt.” (in “server”)",
    "When do backups of the server run?": "“Backups run at 02:30.” (in “server”)",
    "What is the timeout of the client?": "“The timeout is 30 seconds.” (in “client”)",
    "Which renderer does the client use?": "“The renderer is Skia.” (in “client”)",
    "Where does willet-vpn-10 stand?": "“willet-vpn-10 stands in rack 7.”",
    "Who built plover-db-3?": "“plover-db-3 was built by Lenovo.”",
}
DECLINED = (
    "What was fixed in plover 1.0.7?",
    "What changed in kestrel 1.0.6?",
    "What was added in kestrel 0.9.0?",
    "When was kestrel 1.0.5 released?",
    "What was removed in plover 0.9.0?",
    "What was deprecated in plover 1.0.6?",
    "What was fixed in Avocet 3.1.4?",
    "What changed in dunlin 3.2.0?",
    "What was fixed in dunlin 7.7.1?",
    "What was fixed in Smew 3.1.4?",
    "When is the oven of Birch House cleaned?",
    "Which database does the client use?",
    "Which renderer does the server use?",
    "What is the timeout of the server?",
    "How many nodes does the client have?",
    "Which vendor built willet-vpn-10?",
    "Which firewall protects willet-vpn-10?",
    "Which operating system does willet-vpn-10 run?",
    "How much memory does willet-vpn-10 have?",
)


@pytest.fixture(scope="module")
def first_quotes() -> dict[str, str]:
    """By question the first quote as it is shown, "" where it is declined."""
    return asyncio.run(_first_quotes())


async def _first_quotes() -> dict[str, str]:
    async with await open_agent(Settings(store="memory", embed="none"), "headings") as agent:
        for source, text in TEXTS.items():
            await agent.learn_from_content(Content(text, source=source))
        return {question: await _first_quote(agent, question) for question in (*ANSWERED, *DECLINED)}


async def _first_quote(agent: LearningAgent, question: str) -> str:
    answer = await agent.answer_question(question)
    return answer.text.splitlines()[1] if answer.is_known else ""


@pytest.mark.parametrize("question", ANSWERED)
def test_a_quote_shows_what_only_its_heading_or_its_folder_says(first_quotes: dict[str, str], question: str):
    assert first_quotes[question] == ANSWERED[question]


@pytest.mark.parametrize("question", DECLINED)
def test_another_version_another_project_and_an_identifier_alone_answer_nothing(first_quotes: dict[str, str], question: str):
    assert first_quotes[question] == ""


@pytest.mark.parametrize(
    ("question", "heading", "left_unsaid"),
    [
        ("What was fixed in plover 1.0.5?", "1.0.5", {"fix"}),
        ("What was fixed in plover 1.0?", "Version 1.0.5, 3 May 2024", {"fix"}),
        ("When did plover 1.0.5 come out?", "[1.0.5] - 2024-05-03: Added", {"releas"}),
        ("When was plover 1.0.5 released?", "1.0.5 (3 May 2024): Fixed", {"releas"}),
        ("When did plover 1.0.5 come out?", "1.0.5", set()),
        ("What was fixed in plover 1.0.5?", "1.0.6", set()),
        ("What was fixed in plover 1.0.5?", "1.0.5: Added", set()),
        ("What was fixed in plover 1.0.5?", "Moving to 1.0.5", set()),
        ("What was removed in plover 1.0.5?", "1.0.5", set()),
        ("What was fixed in kestrel 1.0.5?", "1.0.5", set()),
        ("What was the fix in plover 1.0.5?", "1.0.5", set()),
        ("Which defect was fixed in plover 1.0.5?", "1.0.5", set()),
        ("What was fixed in plover?", "1.0.5", set()),
    ],
)
def test_what_happened_in_a_version_need_not_be_said_under_a_heading_that_is_nothing_else(
    question: str, heading: str, left_unsaid: set[str]
):
    fact = hit("Handle the end of a stream.", concept=heading, sources=("/docs/plover-1.2/release-notes.md",)).fact
    assert unsaid(question, fact) == left_unsaid


@pytest.mark.parametrize(
    ("question", "content", "notes"),
    [
        ("What opens in winter?", "The lock opens at nine.", ["under “Winter”"]),
        ("What opens in winter?", "In winter the lock opens at nine.", []),
        ("Where is the harbour's lock in winter?", "It lies to the east.", ["under “Winter”", "in “harbour”"]),
        ("Where is the lock of Wadden in winter?", "It lies to the east.", ["under “Winter”", "in “Wadden: Doors”"]),
        ("How deep is it?", "Five metres.", []),
    ],
)
def test_a_heading_and_a_file_are_shown_for_words_that_are_only_there(question: str, content: str, notes: list[str]):
    labels = (place_label(["Wadden", "Doors"]),)
    fact = hit(content, concept="Winter", sources=("/town/harbour.md",), labels=labels).fact
    assert notes_around(question, fact) == notes


@pytest.mark.parametrize(
    ("question", "left_unsaid", "is_first"),
    [
        ("What does nlargest return?", {"return"}, True),
        ("What does heapq.nlargest() do?", set(), True),
        ("What does nlargest cost?", set(), False),
        ("What does nsmallest return?", set(), False),
        ("What does largest return?", set(), False),
        ("Who wrote nlargest?", set(), False),
    ],
)
def test_a_docstring_need_not_say_that_its_function_returns_what_it_tells_of_and_comes_first(
    question: str, left_unsaid: set[str], is_first: bool
):
    labels = (place_label(["heapq.py", "nlargest(n, iterable)"]),)
    summary = hit("Find the n largest.", concept="nlargest(n, iterable)", before="heapq.py: nlargest(n, iterable)", labels=labels)
    further = replace(summary.fact, content="Slow for all.", before="Find the n largest.")
    assert unsaid(question, summary.fact) == left_unsaid
    assert (opening_bonus(question, summary.fact) > 0) is is_first
    assert opening_bonus(question, further) == 0


@pytest.mark.parametrize(
    ("question", "bonus"),
    [("How many boats can lie there?", True), ("How many boats pass?", True), ("Who sells tickets?", False)],
)
def test_what_stands_first_under_a_question_like_the_one_asked_answers_it(question: str, bonus: bool):
    fact = hit("The default is 12.", concept="How many boats can moor?", before="FAQ: How many boats can moor?").fact
    assert (opening_bonus(question, fact) > 0) is bonus


@pytest.mark.parametrize(
    ("question", "is_lacking"),
    [
        ("What does Counter.most_common return?", False),
        ("What does counters.Counter.most_common return?", False),
        ("What does Counter.least_common return?", True),
        ("What does OrderedDict.most_common return?", True),
        ("What does heap.push take?", False),
        ("What does Counter return?", False),
        ("Who answers at ana@counter.example?", False),
        ("What does most_common take?", False),
        ("What does --most-common do?", False),
        ("What does least_common take?", True),
        ("What does --dry-run do?", True),
        ("What did it say in v2.1, e.g. there?", False),
    ],
)
def test_a_dotted_name_is_in_a_fact_or_its_owner_above_it(question: str, is_lacking: bool):
    labels = (place_label(["Counter", "most_common(self, n)"]),)
    fact = hit("Unlike heap.push it sorts.", concept="most_common(self, n)", sources=("/lib/counters.py",), labels=labels).fact
    assert lacks_name_of_program(question, fact) is is_lacking
    assert not lacks_name_of_program("In which line of app.py did it fail?", hit('File "/srv/mill/app.py", line 88').fact)


def test_a_file_is_about_its_folders_too_and_about_no_version_of_them():
    assert titles_of(hit("x", sources=("/a/b/c/jinja2-3.1/guide/pool.md",)).fact) == {"jinja2", "jinja", "guid", "pool"}


@pytest.mark.parametrize(
    ("concept", "value"),
    [
        ("map_size (16777216)", "16777216"),
        ("Parameters: map_size (60s)", "60s"),
        ("`timeout` (default `30`)", "`30`"),
        ("1.4 (May 2, 2026)", ""),
        ("Boats (12)", ""),
        ("map_size", ""),
    ],
)
def test_a_setting_may_have_its_value_in_its_title(concept: str, value: str):
    assert value_of(hit("The size of a berth.", concept=concept).fact) == value


def test_what_explains_a_term_of_a_program_is_quoted_with_it():
    fact = hit("Only show what would be removed.", concept="Options: -n, --dry-run").fact
    assert notes_around("Which option shows what would be removed?", fact) == ["under “Options: -n, --dry-run”"]
    assert notes_around("Which option shows what would be removed?", hit(fact.content, concept="Flags").fact) == []


def test_a_quote_shows_the_value_of_its_setting_where_it_does_not_say_it():
    concept = "KEYS: port number (default 4460)"

    assert notes_around("Which port is used?", hit("The port on which the server listens.", concept=concept).fact) == [
        f"under “{concept}”"
    ]
    assert notes_around("Which port is used?", hit("The default port is 4460.", concept=concept).fact) == []


@pytest.mark.parametrize(
    ("diary", "question", "day"),
    [
        (
            "Thursday, 3 April\nThe course began.\n\nSaturday, 5 April\nMy bicycle was stolen.\n",
            "When was my bicycle stolen?",
            "5 April",
        ),
        (
            "# Tagebuch\n\nMontag, 3. März\nDer Ofen ging aus.\n\nMittwoch, 5. März\nAlles gut.\n",
            "Wann ging der Ofen aus?",
            "3. März",
        ),
        ("3 апреля\nКупили печку.\n\n5 апреля\nПечка сломалась.\n", "Когда сломалась печка?", "5 апреля"),
        ("四月三日（木）\n大学が始まった。\n\n四月五日（土）\n自転車を盗まれた。\n", "いつ自転車を盗まれましたか？", "四月五日"),
    ],
)
def test_an_entry_of_a_diary_tells_when_by_the_day_above_it(diary: str, question: str, day: str, tmp_path: Path):
    async def answered() -> str:
        async with await open_agent(Settings(home=tmp_path, embed="none"), "diary") as agent:
            await agent.learn_from_content(Content(diary, source="diary.txt"))
            return (await agent.answer_question(question)).text

    assert day in asyncio.run(answered())
