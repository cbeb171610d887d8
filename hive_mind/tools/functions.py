"""`@tool` makes a tool of a typed Python function: its schema comes from the signature, its description from the docstring.

@tool(idempotent=False)
async def open_ticket(title: str, urgent: bool = False) -> str:
    \"\"\"Open a ticket.\"\"\"
"""

import asyncio
import inspect
from collections.abc import Callable, Hashable
from copy import deepcopy
from types import FunctionType
from typing import Any, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUserError

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Arguments, ToolSpec
from hive_mind.runs.effects import ToolTraits
from hive_mind.tools import TIMEOUT_S, Tool, ToolContext

Function = Callable[..., Any]
_Form = tuple[type[BaseModel], str, dict[str, Any]]
_FORMS: dict[Hashable, _Form] = {}
# To make one costs some 2 ms, a run has twenty tools. Beyond this somebody makes functions without end.
_FORMS_MAX = 1_000
_FORBID = ConfigDict(extra="forbid")
_PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *, name: str = "", approval: bool = False, idempotent: bool = True, timeout_s: float = TIMEOUT_S
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str = "",
    approval: bool = False,
    idempotent: bool = True,
    timeout_s: float = TIMEOUT_S,
) -> Tool | Callable[[Function], Tool]:
    """A tool of a function, which may be a coroutine; one that is not runs in a thread. A parameter typed `ToolContext` gets it.

    `approval`: a person says yes to each call. `idempotent=False`: it must not happen twice, so after a crash a person is asked.
    Raises `InvalidInput` for a function without a docstring or with parameters that no schema can describe.
    """

    def made(function: Function) -> Tool:
        return _made(function, name or function.__name__, ToolTraits(idempotent, approval), timeout_s)

    return made if function is None else made(function)


def _made(function: Function, name: str, traits: ToolTraits, timeout_s: float) -> Tool:
    if not (description := inspect.getdoc(function)):
        raise InvalidInput(f"tool {name!r} needs a docstring: a model chooses tools by their docstrings")
    try:
        model, context, schema = _form_of(function, name)
    except (PydanticUserError, NameError) as error:
        raise InvalidInput(f"tool {name!r}: no schema can describe its parameters: {error}") from None

    async def call(tool_context: ToolContext, arguments: Arguments) -> Any:
        validated = _validated(model, name, arguments) | ({context: tool_context} if context else {})
        if inspect.iscoroutinefunction(function):
            return await function(**validated)
        return await asyncio.to_thread(function, **validated)

    return Tool(ToolSpec(name, description, deepcopy(schema)), call, traits, timeout_s)


def _form_of(function: Function, name: str) -> _Form:
    """From the cache where the same function was made a tool before: those of a memory or a run are made anew for each run."""
    key = _key_of(function, name)
    if key is not None and key in _FORMS:
        return _FORMS[key]
    model, context = _model_of(function, name)
    schema = model.model_json_schema()
    schema.pop("title", None)
    if key is not None:
        if len(_FORMS) >= _FORMS_MAX:
            _FORMS.clear()
        _FORMS[key] = model, context, schema
    return model, context, schema


def _key_of(function: Function, name: str) -> Hashable | None:
    """The key under which its schema is cached: holds neither the function nor its closure. None where there is no such key."""
    if not isinstance(function, FunctionType):
        return None
    keyword_defaults = function.__kwdefaults__ or {}
    # 0 and False are equal, and not the same default.
    defaults = [(type(default), default) for default in (*(function.__defaults__ or ()), *keyword_defaults.values())]
    key = (function.__code__, function.__module__, name, *function.__annotations__.items(), *keyword_defaults, *defaults)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _model_of(function: Function, name: str) -> tuple[type[BaseModel], str]:
    """The form of its arguments, and the parameter that gets the context, if there is one."""
    hints, context, fields = get_type_hints(function, include_extras=True), "", dict[str, Any]()
    for parameter in inspect.signature(function).parameters.values():
        if hints.get(parameter.name) is ToolContext:
            context = parameter.name
        elif parameter.kind not in _PLAIN or parameter.name not in hints or parameter.name.startswith("_"):
            problem = "needs a type, must not be *args, and must not begin with an underscore"
            raise InvalidInput(f"tool {name!r}: parameter {parameter.name!r} {problem}")
        else:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[parameter.name] = (hints[parameter.name], default)
    return create_model(name, __config__=_FORBID, **fields), context


def _validated(model: type[BaseModel], name: str, arguments: Arguments) -> dict[str, Any]:
    try:
        found_model = model.model_validate(dict(arguments))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors(include_url=False)
        )
        raise InvalidInput(f"the arguments of {name} do not fit: {problems}") from None
    return {field: getattr(found_model, field) for field in type(found_model).model_fields}
