import pytest

from hive_mind.cognition.extraction.blocks import Block, Layout, blocks


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# __init__.py", "__init__.py"),
        ("## _said(node)", "_said(node)"),
        ("## __init__", "__init__"),
        ("## __In bold__:", "In bold"),
        ("## **In bold**", "In bold"),
        ("__In bold__:", "In bold"),
        ("## [2.1.0](https://plover.example/2.1.0) - 2024-08-03", "2.1.0 - 2024-08-03"),
    ],
)
def test_a_heading_keeps_the_underscores_of_a_name_and_no_address_of_a_link(line: str, title: str):
    assert blocks(f"{line}\n\nThe door is green.")[0].heading == title


def test_a_block_knows_every_heading_it_stands_under():
    found = blocks("# Plan\nWe start.\n\nGoals\n=====\nWe win.\n\n**Risks**\nRain.")
    assert [(block.heading, block.text) for block in found] == [("Plan", "We start."), ("Goals", "We win."), ("Risks", "Rain.")]

    found = blocks("# Log\n## May\n**Rain**\nWet.\n## May\nDry.\nNotes\n=====\nEnd.")
    assert [[heading.title for heading in block.headings] for block in found] == [
        ["Log", "May", "Rain"],
        ["Log", "May"],
        ["Notes"],
    ]
    assert found[0].headings[1] != found[1].headings[1]


@pytest.mark.parametrize("line", ["**Default:** `30`", "Default: `30`", "Default value: `30`."])
def test_the_default_of_a_setting_stands_in_the_title_of_what_explains_it(line: str):
    found = blocks(f"## `wait`\n\n{line}\n\nSeconds that a boat waits.\n\n## Other\n\nIt is wet. Default: 3")

    assert [block.heading for block in found] == ["`wait`", "`wait` (default `30`)", "Other"]


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("Boats that may wait. The default is 8.", "8"),
        ("Boats that may wait (defaults to 8).", "8"),
        ("Boats that may wait. The default queue is /var/lib/boats, and it is kept.", "/var/lib/boats"),
        ("Boats that may wait. The default value is 3 boats and the most is 9.", "3 boats"),
    ],
)
def test_a_default_told_in_a_sentence_stands_behind_the_term_or_the_name_above_it(text: str, default: str):
    assert [block.topic for block in blocks(f"# Harbour\n\n- queue\n  - {text}")][-1] == f"Harbour: queue (default {default})"
    assert [block.topic for block in blocks(f"## `--queue`\n\n{text}")] == [f"`--queue` (default {default})"]


@pytest.mark.parametrize("text", ["By default it is off.", "The default is to wait.", "This depends on what the default is."])
def test_a_sentence_that_gives_no_default_changes_no_title(text: str):
    assert [block.topic for block in blocks(f"## `--queue`\n\n{text}")] == [""]


@pytest.mark.parametrize("title", ["Executive summary", "OUTLOOK", "Invoice No. 2026-0417", "Εισαγωγή", "概要"])
def test_a_line_alone_that_states_nothing_is_a_title(title: str):
    found = blocks(f"The year was good.\n\n{title}\n\nMore passengers came.\n\nFewer complained.")

    assert [(block.heading, block.text) for block in found] == [
        ("", "The year was good."),
        (title, "More passengers came."),
        (title, "Fewer complained."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("Thanks!", "Really?", "well then", "Dear Ms Okafor,", "The heater broke yesterday", "- Tomatoes", "42"),
        "The code of the door is:\n\nKestrel",
    ],
)
def test_a_line_alone_that_says_something_or_is_announced_is_none(text: str):
    assert {block.heading for block in blocks(f"{text}\n\nMore passengers came.")} == {""}


@pytest.mark.parametrize("form", ["Customer: Alpine Railways", "Server: d7\nSystem: Debian 12\nAdministrator: Ana Lopes"])
def test_a_customer_in_a_form_is_nobody_who_speaks(form: str):
    assert [(block.layout, block.text) for block in blocks(form)] == [(Layout.PROSE, line) for line in form.splitlines()]


def test_list_items_stand_alone_and_know_the_line_that_introduces_them():
    found = blocks("The owners are:\n- Ana owns billing\n2. Ben owns search\n* [x] done")

    assert [(block.text, block.lead) for block in found[1:3]] == [
        ("Ana owns billing", "The owners are:"),
        ("Ben owns search", "The owners are:"),
    ]
    assert all(block.layout is Layout.ITEM for block in found[1:])


def test_wrapped_lines_are_one_paragraph_and_an_empty_line_ends_it():
    text = "The outage began when the switch in the second rack lost\npower and nobody noticed.\n\nIt ended later."

    assert [block.text for block in blocks(text)] == [
        "The outage began when the switch in the second rack lost power and nobody noticed.",
        "It ended later.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "name                       state                  starts\nledger-6f9c7d              running                0",
        "Owner: Ana\nbudget: 5 EUR",
        "Chess — Tuesday and Friday from five to seven, room 12, Pavel Orlov\nPottery — Wednesday, the workshop, Zoya Lebedeva",
        "9fe2a10 (HEAD -> main, tag: v3.2.0) Drop support for the oldest Python\n41bb7d3 Fix double free in the decoder",
        "1.1 Anna Petersen, born 1830 in Husum, married to Claus Hinrichs the baker\n1.2 Detlef, emigrated to Iowa in 1857",
    ],
)
def test_lines_that_name_something_each_are_not_joined(text: str):
    assert [block.text for block in blocks(text)] == text.split("\n")


def test_a_table_row_knows_the_header_of_its_table():
    found = blocks("| service | owner |\n|---|---|\n| billing | Ana |\n| search | Ben |")

    assert [(block.text, block.lead) for block in found] == [
        ("| billing | Ana |", "| service | owner |"),
        ("| search | Ben |", "| service | owner |"),
    ]


def test_code_is_one_block_that_is_not_read_as_text_also_where_it_is_set_in_or_never_closed():
    found = blocks("Run this:\n```sh\n# restart\nsystemctl restart db\n```\nDone now.")
    assert Block("# restart\nsystemctl restart db", Layout.CODE, lead="Run this:") in found

    found = blocks("# Fix\nRun this:\n\n    stop foo\n    if slow; then\n        wait\n    fi\n\nDone now.")
    assert found[1] == Block("stop foo\nif slow; then\n    wait\nfi", Layout.CODE, found[0].headings, lead="Run this:")
    assert (found[2].text, found[2].layout) == ("Done now.", Layout.PROSE)

    assert blocks("```\nx = 1")[0].text == "x = 1"


@pytest.mark.parametrize(
    ("set_in", "layout"),
    [
        ("    The pump was off\n    for two hours.", Layout.PROSE),
        ("    A lonely line", Layout.PROSE),
        ("    - one thing\n    - another thing", Layout.ITEM),
        ("    Ann: Did you see it?\n    Ben: I did", Layout.UTTERANCE),
    ],
    ids=["sentence", "line", "list", "chat"],
)
def test_sentences_lists_and_chats_that_are_set_in_are_no_code(set_in: str, layout: Layout):
    assert {block.layout for block in blocks(set_in)} == {layout}


def test_stamped_lines_are_utterances_and_labels_speak_when_somebody_says_i_or_you():
    found = blocks("[2024-03-05 10:22] Ana: I moved.\nto Porto\n[10:25] Ben Silva: Good.")

    assert [(block.stamp, block.speaker, block.text) for block in found] == [
        ("2024-03-05 10:22", "Ana", "I moved. to Porto"),
        ("10:25", "Ben Silva", "Good."),
    ]
    assert [block.speaker for block in blocks("Ana: I like tea.\nBen: Coffee is better.\nuser: hello")] == ["Ana", "Ben", "user"]
    assert {block.speaker for block in blocks("Note: you must restart.\nBudget: 5,000 EUR\nServer: db01")} == {""}


def test_quoted_lines_lose_their_mark_and_stay_apart():
    assert [block.text for block in blocks("> first line\n> second line")] == ["first line", "second line"]
