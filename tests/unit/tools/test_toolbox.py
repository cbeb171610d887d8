"""A box of tools: by name, by server, and each name once."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.runs.effects import ToolTraits
from hive_mind.tools import Tool, Toolbox
from hive_mind.tools.functions import tool


def named(name: str, *, idempotent: bool = True) -> Tool:
    @tool(name=name, idempotent=idempotent)
    def it() -> str:
        """Do it."""
        return name

    return it


def test_two_tools_of_one_name_are_refused_and_the_same_twice_is_fine() -> None:
    look = named("look")
    assert len(Toolbox([look, look])) == 1
    with pytest.raises(InvalidInput, match="two tools called 'look'"):
        Toolbox([look, named("look")])


def test_a_list_of_names_allows_what_it_names_and_all_of_a_server() -> None:
    box = Toolbox([named(name) for name in ("look", "pay", "mail/send", "mail/read", "mailbox")])
    assert [one.name for one in box.chosen(["pay", "mail/*", "nothing"])] == ["pay", "mail/send", "mail/read"]
    assert box.chosen([]) == []
    assert box.chosen(["*"]) == []


def test_a_box_says_what_it_has_and_what_a_run_has_to_know_of_each() -> None:
    box = Toolbox([named("look"), named("pay", idempotent=False)])
    assert "look" in box
    assert "fly" not in box
    assert box.get("fly") is None
    assert [one.name for one in box] == ["look", "pay"]
    assert box.traits == {"look": ToolTraits(), "pay": ToolTraits(is_idempotent=False)}
