"""A reply is learned with its sender, its time and what it answers; what it quotes is not learned again."""

import pytest

from hive_mind.runtime.texts.messages import text_of_mail
from tests.unit.cognition.reading import candidates

HEAD = "From: Ben Ito <ben@x.org>\nSubject: Re: Gateway B7\nDate: Tue, 3 Mar 2026 10:00:00 +0000\n\n"
WROTE = "On Mon, 2 Mar 2026 at 09:30, Ana Lopes <ana@x.org> wrote:\n"


def learned(body: str) -> list[tuple[str, str]]:
    return [(one.content, one.before) for one in candidates(text_of_mail(f"{HEAD}{body}".encode()).text)]


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (
            f"It is 9443 now.\n\n{WROTE}> Hi Ben,\n>\n> gateway B7 listens on port 8443.\n",
            [("It is 9443 now.", "gateway B7 listens on port 8443.")],
        ),
        (
            f"{WROTE}> Gateway B7 is slow. Who changes the firewall?\n\nCarla does.\n",
            [("Ana Lopes: Who changes the firewall? Ben Ito: Carla does.".partition(": ")[2], "Gateway B7")],
        ),
        (
            f"Hi Ana,\n\n{WROTE}> the fan is loud.\n>> It was quiet in May.\n\nIt was oiled today.\n\nThe pump is new.\n",
            [("It was oiled today.", "the fan is loud."), ("The pump is new.", "Ben Ito: It was oiled today.")],
        ),
        ("The pump is new.\n", [("The pump is new.", "Gateway B7")]),
    ],
)
def test_a_reply_stands_behind_what_it_answers(body: str, facts: list[tuple[str, str]]):
    assert learned(body) == facts


def test_quoted_lines_are_counted_as_left_out():
    assert text_of_mail(f"{HEAD}Yes, it is.\n\n{WROTE}> one\n> two\n".encode()).left_out == {"quoted line": 2}
    assert text_of_mail(f"{HEAD}Yes, it is.\n".encode()).left_out == {}
