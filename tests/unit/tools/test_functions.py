"""`@tool`: the schema comes from the signature, the description from the docstring, and what does not fit is refused."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from hive_mind.errors import InvalidInput
from hive_mind.runs.effects import ToolTraits
from hive_mind.tools import TIMEOUT_S, Tool, ToolContext
from hive_mind.tools.functions import tool

CONTEXT = ToolContext("r1", "act", "r1.p1.1.0.0", "ada")


class Part(BaseModel):
    """A part of an order."""

    what: str
    count: int = 1


def called(one: Tool, **arguments: Any) -> Any:
    return asyncio.run(one.call(CONTEXT, arguments))


def test_a_schema_says_what_the_signature_says() -> None:
    @tool
    def order(
        what: str, count: Annotated[int, Field(ge=1, description="How many.")] = 1, kind: Literal["rope", "chain"] = "rope"
    ) -> str:
        """Order something.

        From the chandler.
        """
        return f"{count} {kind} {what}"

    assert (order.name, order.spec.description) == ("order", "Order something.\n\nFrom the chandler.")
    schema = order.spec.parameters
    assert schema["required"] == ["what"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"] == {
        "default": 1,
        "description": "How many.",
        "minimum": 1,
        "title": "Count",
        "type": "integer",
    }
    assert schema["properties"]["kind"]["enum"] == ["rope", "chain"]
    assert called(order, what="thick") == "1 rope thick"


def test_arguments_come_as_what_their_types_say() -> None:
    @tool
    def order(parts: list[Part], note: str | None = None) -> list[str]:
        """Order parts."""
        assert note is None
        return [f"{part.count} {part.what}" for part in parts]

    assert called(order, parts=[{"what": "rope"}, {"what": "chain", "count": 3}]) == ["1 rope", "3 chain"]


def test_a_parameter_typed_as_context_gets_it_and_no_model_sees_it() -> None:
    @tool
    async def who(context: ToolContext, end: str = ".") -> str:
        """Tell who asks."""
        return f"{context.agent} in {context.run}, {context.node}: {context.call}{end}"

    assert list(who.spec.parameters["properties"]) == ["end"]
    assert called(who) == "ada in r1, act: r1.p1.1.0.0."
    with pytest.raises(InvalidInput, match="context: Extra inputs"):
        called(who, context={"run": "other"})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "what: Field required"),
        ({"what": "x", "count": "many"}, "count: Input should be a valid integer"),
        ({"what": "x", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ({"what": 5, "count": "many"}, "what: Input should be a valid string; count: Input"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_all_that_is_wrong(arguments: dict[str, Any], told: str) -> None:
    @tool
    def order(what: str, count: int = 1) -> str:
        """Order something."""
        raise AssertionError(f"it is called with {what}, {count}")

    with pytest.raises(InvalidInput, match="the arguments of order do not fit") as caught:
        called(order, **arguments)
    assert told in str(caught.value)


def undocumented(what: str) -> str:
    return what


def untyped(what) -> str:  # type: ignore[no-untyped-def]
    """Order something."""
    return str(what)


def many(*what: str) -> str:
    """Order several."""
    return "".join(what)


def named(**what: str) -> str:
    """Order by name."""
    return "".join(what)


class Opaque:
    """Nothing that a schema could describe."""


def opaque(what: Opaque) -> str:
    """Order something."""
    return str(what)


def returning(what: Callable[[], int]) -> str:
    """Order something."""
    return str(what())


def private(_what: str) -> str:
    """Order something."""
    return _what


def unknown(what: "Nobody") -> str:  # type: ignore[name-defined]  # noqa: F821 - that is what is tested
    """Order something."""
    return str(what)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (undocumented, "needs a docstring"),
        (untyped, "'what' needs a type"),
        (many, "must not be \\*args"),
        (named, "must not be \\*args"),
        (opaque, "no schema can describe"),
        (returning, "no schema can describe"),
        (private, "must not begin with an underscore"),
        (unknown, "no schema can describe"),
    ],
)
def test_a_function_that_no_model_could_call_is_refused_at_once(function: Callable[..., Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        tool(function)


def test_a_tool_says_of_itself_what_a_run_has_to_know() -> None:
    @tool(name="pay_out", approval=True, idempotent=False, timeout_s=5)
    def pay(amount: float) -> str:
        """Send money."""
        return f"{amount}"

    assert (pay.name, pay.timeout_s) == ("pay_out", 5)
    assert pay.traits == ToolTraits(is_idempotent=False, needs_approval=True)
    plain = tool(opened)
    assert plain.traits == ToolTraits(is_idempotent=True, needs_approval=False)
    assert plain.timeout_s == TIMEOUT_S


def opened() -> str:
    """Look whether it is open."""
    return threading.current_thread().name


def test_a_plain_function_runs_in_a_thread_and_a_coroutine_where_it_is_called() -> None:
    @tool
    async def here() -> str:
        """Tell the thread."""
        return threading.current_thread().name

    assert called(tool(opened)) != threading.main_thread().name
    assert called(here) == threading.main_thread().name


async def test_a_plain_function_holds_nobody_up() -> None:
    gate = threading.Event()

    @tool
    def wait() -> str:
        """Wait for the other."""
        return "opened" if gate.wait(60) else "it took too long"

    @tool
    async def release() -> str:
        """Open the gate."""
        gate.set()
        return "done"

    assert (await asyncio.gather(wait.call(CONTEXT, {}), release.call(CONTEXT, {}))) == ["opened", "done"]


@dataclass
class Boat:
    """Somebody's own class with methods as tools."""

    name: str

    def sail(self, where: str) -> str:
        """Sail somewhere."""
        return f"{self.name} sails to {where}"


def test_a_method_is_a_tool_too() -> None:
    sail = tool(Boat("Anna").sail)
    assert list(sail.spec.parameters["properties"]) == ["where"]
    assert called(sail, where="Porto") == "Anna sails to Porto"


def test_a_function_that_is_made_again_with_another_default_is_another_tool() -> None:
    def made(default: Any) -> Any:
        @tool
        async def wait(turns: int = default) -> Any:
            """Wait."""
            return turns, default

        return wait

    for default in (0, False, 3, 0):
        one = made(default)
        assert one.spec.parameters["properties"]["turns"]["default"] is default
        assert asyncio.run(one.call(ToolContext(), {})) == (default, default)


def test_a_tool_keeps_nothing_alive_that_its_function_closes_over() -> None:
    class Memory:
        pass

    def made(memory: Memory) -> Any:
        @tool
        async def look() -> str:
            """Look."""
            return str(memory)

        return look

    memory = Memory()
    gone = weakref.ref(memory)
    made(memory)
    del memory
    gc.collect()
    assert gone() is None
