"""Mail, transcripts and threads that somebody copied are conversations, whatever language their heads are in."""

import pytest

from hive_mind.cognition.extraction.blocks import Layout, blocks
from hive_mind.cognition.extraction.messages import as_conversation, name_of, subject_of
from tests.growth import costly

HEADS = {
    "English": "From: Ana Lopes\nSent: Monday, 2 March 2026 09:30\nTo: Bo Ek\nSubject: Weir 7",
    "German": "Von: Ana Lopes <ana@x.example>\nGesendet: Montag, 2. März 2026 09:30\nAn: Bo Ek\nBetreff: AW: Weir 7",
    "French": "De : Ana Lopes\nEnvoyé : lundi 2 mars 2026 à 09:30\nÀ : Bo Ek\nObjet : RE: Weir 7",
    "Spanish": "De: Ana Lopes\nEnviado: lunes, 2 de marzo de 2026 a las 09:30\nPara: Bo Ek\nAsunto: Weir 7",
    "Italian": "Da: Ana Lopes\nData: 2 marzo 2026 alle ore 09:30\nA: Bo Ek\nOggetto: Weir 7",
    "bold": "**From:** Ana Lopes\n**Date:** 2026-03-02 09:30\n**To:** Bo Ek\n**Subject:** Fwd: Weir 7",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_head_of_mail_says_who_wrote_what_is_below_it_and_when(head: str):
    (block,) = blocks(f"{head}\n\nIt opens at\nfive.\n")
    assert (block.layout, block.speaker, block.heading, block.text) == (
        Layout.UTTERANCE,
        "Ana Lopes",
        "Weir 7",
        "It opens at five.",
    )
    assert block.stamp == "2026-03-02 09:30"


def test_an_answer_above_what_it_answers_stands_behind_it_and_is_its_addressees():
    text = f"It opens at six now.\n\n-----Ursprüngliche Nachricht-----\n{HEADS['German']}\n\nDoes it open at five?\n"
    assert [(block.speaker, block.text) for block in blocks(text)] == [
        ("Ana Lopes", "Does it open at five?"),
        ("Bo Ek", "It opens at six now."),
    ]


def test_the_newest_first_becomes_the_oldest_first():
    later = HEADS["English"].replace("2 March", "3 March").replace("Ana Lopes", "Bo Ek")
    text = f"{later}\n\nThe weir is open.\n\n{HEADS['English']}\n\nIs the weir open?\n"
    assert [block.speaker for block in blocks(text)] == ["Ana Lopes", "Bo Ek"]


@pytest.mark.parametrize(
    "label",
    [
        "{who}  0:0{n}\n",
        "{who} — Today at 10:0{n} AM\n",
        "{who} [00:00:0{n}]\n",
        "{who}, [12.05.2026 18:0{n}]\n",
        "{who}\n09:1{n}\n",
        "**{who}** commented on Jan {n}, 2026\n\n",
        "### @{who} - 2026-02-0{n}\n\n",
    ],
)
def test_a_line_that_says_who_speaks_and_when_is_no_statement(label: str):
    said = ("Ana", "The kiln is hot."), ("Bo", "The door is shut."), ("Ana", "The clay came at noon.")
    text = "\n\n".join(f"{label.format(who=who, n=n)}{words}" for n, (who, words) in enumerate(said, 1))
    assert [(block.speaker, block.text) for block in blocks(text)] == list(said)


def test_a_comment_may_have_its_day_behind_the_name():
    text = "Bo Ek, 2026-03-04: The kiln is hot.\nAna, 2026-03-05: Confirmed.\n\nBorn in Porto, 2026-03-06: it rains."
    assert [(b.speaker, b.stamp) for b in blocks(text)] == [("Bo Ek", "2026-03-04"), ("Ana", "2026-03-05"), ("", "")]


def test_a_place_with_an_hour_behind_it_is_no_speaker():
    text = "Lisbon, 10:30: Train to Porto.\nPorto, 11:30: Lunch at the market."
    assert [block.text for block in blocks(text)] == text.splitlines()


def test_a_copied_chat_has_no_empty_lines():
    text = "#kiln\nana  10:14 AM\nThe kiln is hot.\nbo  10:19 AM\nThe door is shut.\nana  10:33 AM\nThe clay came."
    said = [("ana", "The kiln is hot."), ("bo", "The door is shut."), ("ana", "The clay came.")]
    assert [(block.speaker, block.text) for block in blocks(text)] == [("", "#kiln"), *said]


@pytest.mark.parametrize(
    "text",
    [
        "Kitchen 9:30\nBring cups.\n\nHall 10:00\nBring chairs.\n\nYard 11:00\nBring tents.\n",
        "Mill Street\n09:14\nHarbour\n09:20\nMill Street\n09:40\n",
        "From: Oslo\nTo: Bergen\nDate: 4 May 2026\n",
        "# Stand-up, 2 March 2026\n\nThe kiln is hot.\n\n# Stand-up, 9 March 2026\n\nThe kiln is cold.\n",
        "Subject: Weir 7\n\nIt opens at five.\n",
    ],
)
def test_an_agenda_a_ticket_and_minutes_are_no_messages(text: str):
    assert as_conversation(text.splitlines()) == text.splitlines()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[14:02] <ana> the kiln is hot again\n[14:03] <bo> which kiln?\n[14:04] <ana> kiln 4, done by noon\n"
            "[14:05] * bo waves\n",
            [
                ("ana", "the kiln is hot again"),
                ("bo", "which kiln?"),
                ("ana", "kiln 4, done by noon"),
                ("", "[14:05] * bo waves"),
            ],
        ),
        ("<@Ana> I sold the skiff\n<Bo> you did?\n", [("Ana", "I sold the skiff"), ("Bo", "you did?")]),
        (
            "Re: Weir 7\nby ana » Mon Mar 02, 2026 9:30 am\nIt leaks.\n\nRe: Weir 7\nby bo » Mon Mar 02, 2026 9:40 am\nWhere?\n\n"
            "Re: Weir 7\nby ana » Tue Mar 03, 2026 8:10 am\nAt the gate.\n",
            [("ana", "It leaks."), ("bo", "Where?"), ("ana", "At the gate.")],
        ),
        (
            f"{HEADS['English']}\n\nIt opens at six.\n\n> On Sun, 1 Mar 2026 at 08:15, Bo Ek wrote:\n> Does it open at five?\n",
            [("Bo Ek", "Does it open at five?"), ("Ana Lopes", "It opens at six.")],
        ),
        (
            f"{HEADS['German']}\n\nUm sechs.\n\nAm 01.03.2026 um 08:15 schrieb Bo Ek <bo@x.example>:\n> Öffnet es um fünf?\n",
            [("Bo Ek", "Öffnet es um fünf?"), ("Ana Lopes", "Um sechs.")],
        ),
        (
            f"{HEADS['French']}\n\nÀ six heures.\n\nLe 01/03/2026 à 08:15, Bo Ek a écrit :\n> Elle ouvre à cinq heures ?\n",
            [("Bo Ek", "Elle ouvre à cinq heures ?"), ("Ana Lopes", "À six heures.")],
        ),
        (
            "Reporter: Ana Lopes\nAssignee: Bo Ek\nComments:\n"
            "[2026-03-02] Bo Ek: It leaks at the gate.\n[2026-03-03] Ana Lopes: I shut it.\n",
            [
                ("", "Reporter: Ana Lopes"),
                ("", "Assignee: Bo Ek"),
                ("", "Comments:"),
                ("Bo Ek", "It leaks at the gate."),
                ("Ana Lopes", "I shut it."),
            ],
        ),
    ],
    ids="irc chat forum mail mail-german mail-french ticket".split(),
)
def test_who_says_what_is_read_however_a_program_lays_it_out(text: str, said: list[tuple[str, str]]):
    assert [(block.speaker, block.text) for block in blocks(text)] == said


def test_each_commit_of_a_log_says_who_made_it_and_when():
    head = "commit 9ab31f07c2\nAuthor: Ana Lopes <a@x.example>\nDate:   Mon Mar 2 09:30:00 2026 +0100\n"
    log = f"{head}\n    Fix the gate\n\n    It leaked.\n"
    first, second = blocks(log)
    assert first.text == "Fix the gate (Ana Lopes, Mon Mar 2 09:30:00 2026 +0100, commit 9ab31f07c2)"
    assert (second.text, second.lead) == ("It leaked.", first.text)


@pytest.mark.parametrize(
    ("text", "name"),
    [('"Ana Lopes" <a@x.example>', "Ana Lopes"), ("<ana.lopes@x.example>", "ana.lopes"), ("Bo Ek (ops)", "Bo Ek")],
)
def test_a_sender_is_called_by_name(text: str, name: str):
    assert name_of(text) == name


def test_a_thread_has_one_subject():
    assert {subject_of(text) for text in ("Weir 7", "Re: Weir 7", "AW: RE:  Weir 7", "Fwd: Antw: Weir\n 7")} == {"Weir 7"}


def test_time_grows_with_the_text_and_not_with_its_square():
    hostile = ["From: a\nTo: b\n", "From: a\nSubject: b\nTo: c\n\n", "a 0:01\nb\n\n", "a" * 80 + "\n\n", "De :", "Re: Re: "]
    hostile += ["<a> b\n", "commit abcdef1\n\na\n", "> On 1 May 2026, a wrote:\n> b\n", "Le " + "a" * 90 + "\n>", "by a » 1:00\n"]
    assert costly(lambda text: list(as_conversation(text.splitlines())), hostile, 5_000) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Caller (Rosa): I can't log in.\nDesk (Ivo): Which browser do you use?\nCaller (Rosa): I use Lynx.",
            ["Caller (Rosa)", "Desk (Ivo)", "Caller (Rosa)"],
        ),
        ("Rosa (10:14): I can't log in.\nIvo (10:15): Which browser do you use?", ["Rosa", "Ivo"]),
        ("Owner: Rosa Neri\nState: open\n\nUser: I can't log in.\n\nDesk: Which browser do you use?", ["", "", "User", "Desk"]),
        ("王芳：订好了吗？\n李明：订好了，在川香阁。\n王芳：好。对了，电话换了。", ["王芳", "李明", "王芳"]),
        # Without an empty line below them nothing says that these are fields.
        ("Rosa: login broken\nIvo: which browser do you use?\nRosa: Lynx, as ever", ["Rosa", "Ivo", "Rosa"]),
    ],
)
def test_who_speaks_is_told_with_a_remark_and_fields_above_speak_not(text: str, said: list[str]):
    assert [block.speaker for block in blocks(text)] == said
