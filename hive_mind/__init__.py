"""hive-mind: a fleet of agents that remembers together.

    async with open_agent(Settings.from_environment(), "ines") as agent:
        await agent.learn_from_content(Content("The gateway listens on port 8443.", source="runbook"))
        answer = await agent.answer_question("Which port does the gateway use?")

The names in `public` are found here, and loaded when one of them is first used: a command needs few of them.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hive_mind.public import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return import_module("hive_mind.public").__all__
    # Python asks here for a submodule before it looks for one.
    is_other = name.startswith("_") or find_spec(f"{__name__}.{name}") is not None
    if not is_other and name in (public := import_module("hive_mind.public")).__all__:
        return getattr(public, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*import_module("hive_mind.public").__all__, "__version__"]
