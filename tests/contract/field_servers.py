"""Fields that name servers: language models, models of embeddings and buses, each of them real and on the loopback interface.

Which address was asked, with which key and for what, is seen at the server.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hive_mind.bus.redis import RedisBus
from hive_mind.errors import HiveError
from hive_mind.runtime.routes import Routed
from tests.contract.field_fleets import PASSWORDS, QUICK, Fleet, Ground, Sight, Story
from tests.contract.field_probes import Spec
from tests.servers.openai_compatible import Received


async def asked(fleet: Fleet, agent: str) -> tuple[str, Received]:
    """The server, and the last request it got from the language model of this agent."""
    text = f"{agent} says that the ferry leaves at nine in {fleet.step}."
    with suppress(HiveError):
        # What the server replies is no list of facts.
        await fleet.call("learn", agent=agent, text=text)
    return fleet.received("/chat/completions", lambda one: agent in str(one.body))


def of_model(agent: str, what: Callable[[str, Received], Any]) -> Callable[[Fleet], Any]:
    async def see(fleet: Fleet) -> Any:
        return what(*await asked(fleet, agent))

    return see


def of_embedder(what: Callable[[str, Received], Any]) -> Callable[[Fleet], Any]:
    return lambda fleet: what(*fleet.received("/embeddings"))


def arm_of(fleet: Fleet) -> str:
    state = fleet.memory()._state
    assert state is not None
    return type(state.recall.current._vectors).__name__


def models(server: str, key: str, model: str, budget: int, index: str, own: dict[str, str]) -> Spec:
    def spec(ground: Ground) -> dict[str, Any]:
        url = ground.models[server].base_url
        return {
            "gossip": QUICK,
            "agents": [{"name": "ada", **own}, {"name": "bob"}],
            "llm": {
                "model": f"openai:{model}",
                "url": url,
                "key": key,
                "tokenBudget": budget,
                "timeoutS": budget // 10_000,
                "tries": budget // 100_000,
            },
            "embedding": {"kind": "openai", "model": f"{model}-vectors", "url": url, "key": key, "index": index},
        }

    return spec


MODELS = Story(
    "models",
    models("first", "${env:FIRST_KEY}", "small", 100_000, "exact", {"prompt": "Be brief.", "model": "openai:ada-one"}),
    models("other", "${env:OTHER_KEY}", "large", 200_000, "usearch", {"prompt": "Be thorough.", "model": "openai:ada-two"}),
    {
        "spec.agents.model": Sight(of_model("ada", lambda _, one: one.body["model"]), "ada-one", "ada-two"),
        "spec.agents.prompt": Sight(
            of_model("ada", lambda _, one: [word for word in ("brief", "thorough") if f"Be {word}." in str(one.body)]),
            ["brief"],
            ["thorough"],
        ),
        "spec.llm.model": Sight(of_model("bob", lambda _, one: one.body["model"]), "small", "large"),
        "spec.llm.url": Sight(of_model("bob", lambda server, _: server), "first", "other"),
        "spec.llm.key": Sight(of_model("bob", lambda _, one: one.headers["authorization"]), "Bearer key-one", "Bearer key-other"),
        "spec.llm.timeoutS": Sight(lambda f: f.agent("bob")._agent.reader.reader._model._model._timeout_s, 10, 20),
        "spec.llm.tries": Sight(lambda f: f.agent("bob")._agent.reader.reader._settings.retry.attempts_max, 1, 2),
        "spec.llm.tokenBudget": Sight(lambda f: f.agent("bob")._agent.reader.reader.budget.max_tokens, 100_000, 200_000),
        "spec.embedding.model": Sight(of_embedder(lambda _, one: one.body["model"]), "small-vectors", "large-vectors"),
        "spec.embedding.url": Sight(of_embedder(lambda server, _: server), "first", "other"),
        "spec.embedding.key": Sight(
            of_embedder(lambda _, one: one.headers["authorization"]), "Bearer key-one", "Bearer key-other"
        ),
        "spec.embedding.index": Sight(arm_of, "ExactVectors", "UsearchVectors"),
    },
)


def backends(store: str, embedding: Callable[[Ground], dict[str, Any]]) -> Spec:
    return lambda ground: {"gossip": QUICK, "agents": [{"name": "ada"}], "store": store, "embedding": embedding(ground)}


BACKENDS = Story(
    "backends",
    backends("sqlite", lambda _: {"kind": "none"}),
    backends("memory", lambda ground: {"kind": "openai", "url": ground.models["first"].base_url}),
    {
        "spec.store": Sight(lambda f: type(f.memory()._state.store).__name__, "SqliteStore", "MemoryStore"),  # type: ignore[union-attr]
        "spec.embedding.kind": Sight(lambda f: f.worker._host.embedder.dimension, 0, 8),  # type: ignore[union-attr]
    },
)


def buses(one: str, other: str) -> Spec:
    """Over the first for what must not be lost and over the other for questions. Each has a password of its own."""

    def spec(ground: Ground) -> dict[str, Any]:
        url, searches = (f"redis://127.0.0.1:{ground.brokers[name].port}/0" for name in (one, other))
        logins = {"credential": f"${{env:{one.upper()}_LOGIN}}", "searchesCredential": f"${{env:{other.upper()}_LOGIN}}"}
        return {"gossip": QUICK, "agents": [{"name": "ada"}], "bus": {"url": url, "searches": searches, **logins}}

    return spec


def bus_of(fleet: Fleet, part: int) -> RedisBus:
    host = fleet.worker._host
    assert host is not None
    routed = host.bus
    assert isinstance(routed, Routed)
    bus = routed.parts[part]
    assert isinstance(bus, RedisBus)
    assert bus.health.is_connected
    return bus


def broker_of(part: int) -> Callable[[Fleet], str]:
    """Which of the brokers it is connected to."""

    def see(fleet: Fleet) -> str:
        ports = {broker.port: name for name, broker in fleet.ground.brokers.items()}
        return ports[bus_of(fleet, part)._place.address.port or 0]

    return see


def login_of(part: int) -> Callable[[Fleet], str]:
    """Whose password let it in."""
    names = {password: name for name, password in PASSWORDS.items()}
    return lambda fleet: names[bus_of(fleet, part)._place.settings.credential]


BUSES = Story(
    "buses",
    buses("first", "other"),
    buses("other", "first"),
    {
        "spec.bus.url": Sight(broker_of(0), "first", "other"),
        "spec.bus.searches": Sight(broker_of(1), "other", "first"),
        "spec.bus.credential": Sight(login_of(0), "first", "other"),
        "spec.bus.searchesCredential": Sight(login_of(1), "other", "first"),
    },
)

STORIES = (MODELS, BACKENDS, BUSES)
