"""`@tool`: the schema is that of the signature, what does not fit is refused, and a function without words is no tool."""

import asyncio
import threading
from typing import Any, Literal

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.runs.effects import ToolTraits
from hive_mind.tools.base import Tool, Toolbox, ToolContext
from hive_mind.tools.functions import tool


@tool(approval=True, idempotent=False, timeout_s=5)
async def order(what: str, count: int = 1, *, how: Literal["ship", "van"] = "van") -> str:
    """Order something."""
    return f"{count} {what} by {how}"


def call(one: Tool, **arguments: Any) -> Any:
    return asyncio.run(one.call(ToolContext("r", "n", "c", "ada"), arguments))


def test_the_schema_is_that_of_the_signature() -> None:
    assert (order.name, order.spec.description, order.timeout_s) == ("order", "Order something.", 5)
    assert order.traits == ToolTraits(is_idempotent=False, needs_approval=True)
    assert order.spec.parameters["required"] == ["what"]
    assert order.spec.parameters["properties"]["how"]["enum"] == ["ship", "van"]
    assert order.spec.parameters["additionalProperties"] is False


def test_what_fits_is_called() -> None:
    assert call(order, what="grease", count=2) == "2 grease by van"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "what: Field required"),
        ({"what": "x", "count": "many"}, "count:"),
        ({"what": "x", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"what": "x", "how": "air"}, "how:"),
        ({"unreadable_json": "{"}, "what: Field required"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        call(order, **arguments)


def test_the_context_is_handed_in_and_no_argument_can_take_its_place() -> None:
    @tool
    async def whoami(context: ToolContext) -> str:
        """Tell which agent it is."""
        return context.agent

    assert call(whoami) == "ada"
    assert whoami.spec.parameters["properties"] == {}
    with pytest.raises(InvalidInput):
        call(whoami, context="eve")


def test_a_plain_function_runs_in_a_thread() -> None:
    @tool
    def where() -> bool:
        """Tell whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    assert call(where) is False


def test_a_function_that_nobody_could_choose_or_describe_is_no_tool() -> None:
    async def silent(x: int) -> int:
        return x

    async def untyped(x) -> int:  # type: ignore[no-untyped-def]
        """Say something."""
        return int(x)

    async def many(*x: int) -> int:
        """Say something."""
        return len(x)

    for function, told in ((silent, "needs a docstring"), (untyped, "needs a type"), (many, "may be no")):
        with pytest.raises(InvalidInput, match=told):
            tool(function)


def test_a_box_has_each_name_once_and_gives_what_a_list_allows() -> None:
    other = tool(name="mcp:t/list")(order_like())
    box = Toolbox([order, other])
    assert [one.name for one in box.chosen(["mcp:t/*"])] == ["mcp:t/list"]
    assert [one.name for one in box.chosen(["order", "nothing"])] == ["order"]
    assert (len(box), "order" in box, box.get("nothing")) == (2, True, None)
    with pytest.raises(InvalidInput, match="two tools called 'order'"):
        Toolbox([order, tool(name="order")(order_like())])


def order_like() -> Any:
    async def listed() -> list[str]:
        """List what there is."""
        return []

    return listed
