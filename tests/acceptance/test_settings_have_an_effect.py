"""Every setting that is accepted changes something that can be seen, or is said to change nothing."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.runtime import settings as settings_file
from hive_mind.runtime.settings import SECRETS, Settings, without_effect
from hive_mind.runtime.wiring import open_embedder, quoting_reader, vector_arms
from tests.acceptance.hive_mind_command import HiveMind

ROOT = Path(__file__).parents[2]


def doctor_line(name: str) -> Callable[[HiveMind], str]:
    def line(hive_mind: HiveMind) -> str:
        checks = {check["name"]: check["detail"] for check in hive_mind("doctor", "-o", "json").json["checks"]}
        return str(checks[name])

    return line


def ended(*words: str) -> Callable[[HiveMind], str]:
    def end(hive_mind: HiveMind) -> str:
        done = hive_mind(*words)
        return f"{done.code} {done.err}"

    return end


def arm(hive_mind: HiveMind) -> str:
    made = vector_arms(Settings.from_environment(hive_mind.environment))
    return str(made.__module__)


def setting(name: str) -> Callable[[HiveMind], str]:
    """Of one whose effect takes a process or minutes: how it arrives where it is used, which other tests follow."""
    return lambda hive_mind: str(getattr(Settings.from_environment(hive_mind.environment), name))


# Two values, and where they are seen.
SEEN: dict[str, tuple[str, str, Callable[[HiveMind], str]]] = {
    "home": ("one", "two", doctor_line("database")),
    "store": ("sqlite", "memory", doctor_line("database")),
    "embed": ("none", "openai", doctor_line("embedding")),
    "embed_model": ("small", "large", doctor_line("embedding")),
    "embed_url": ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1", doctor_line("embedding")),
    "ann": ("exact", "usearch", arm),
    "llm": ("scripted:a", "scripted:b", doctor_line("reader")),
    "llm_url": ("nonsense", "http://127.0.0.1:1/v1", doctor_line("settings")),
    "llm_timeout_s": ("1", "2", setting("llm_timeout_s")),
    "llm_tries": ("1", "2", setting("llm_tries")),
    "token_budget": ("1", "2", doctor_line("reader")),
    "lock_wait_s": ("1", "2", setting("lock_wait_s")),
    "timeout_s": ("1", "2", setting("timeout_s")),
    "bus": ("memory", "pigeon://x", ended("bus", "check")),
    "credentials_key_in": ("file", "nowhere", ended("credentials", "list")),
    "http_host": ("127.0.0.1", "0.0.0.0", setting("http_host")),  # noqa: S104 - nothing listens
    "http_requests_max": ("1", "2", setting("http_requests_max")),
    "answering": (
        "careful",
        "eager",
        lambda hive_mind: str(quoting_reader(Settings.from_environment(hive_mind.environment))._quoting),
    ),
    "console_hosts": ("a.example", "b.example", setting("console_hosts")),
}
BESIDES = {
    "embed_model": {"HIVE_MIND_EMBED": "openai"},
    "embed_url": {"HIVE_MIND_EMBED": "openai"},
    "token_budget": {"HIVE_MIND_LLM": "scripted:a"},
}


def test_every_setting_is_walked() -> None:
    assert SEEN.keys() == {field.name for field in fields(Settings)}


@pytest.mark.parametrize("name", [name for name in SEEN if name != "llm_url"])
def test_two_values_of_a_setting_are_seen_to_differ(hive_mind: HiveMind, name: str) -> None:
    first, second, seen = SEEN[name]
    with_first, with_second = (
        hive_mind.with_environment(**BESIDES.get(name, {}), **{f"HIVE_MIND_{name.upper()}": value}) for value in (first, second)
    )
    assert seen(with_first) != seen(with_second)


@pytest.mark.parametrize("name", ["store", "embed", "ann", "llm", "credentials_key_in", "bus"])
def test_a_value_that_means_nothing_is_refused_where_it_is_used(hive_mind: HiveMind, name: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The pump is red.")
    nonsense = hive_mind.with_environment(**{f"HIVE_MIND_{name.upper()}": "nonsense"})
    used = {"bus": ("bus", "check"), "credentials_key_in": ("credentials", "set", "x")}.get(name, ("learn", tmp_path / "a.txt"))
    done = nonsense(*used, stdin="v\n")
    assert done.code == 2, done.err
    assert "nonsense" in done.err


def test_a_former_name_of_a_store_is_said_to_be_one(hive_mind: HiveMind, tmp_path: Path) -> None:
    backends._today.cache_clear()
    (tmp_path / "a.txt").write_text("The pump is red.")
    done = hive_mind.with_environment(HIVE_MIND_STORE="kuzu")("learn", tmp_path / "a.txt")
    assert done.code == 0
    assert "'kuzu' is a former name of 'sqlite'" in done.err
    assert "HIVE_MIND_STORE=sqlite" in done.err


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"HIVE_MIND_LLM_URL": "http://127.0.0.1:1/v1"}, "HIVE_MIND_LLM_URL has no effect without HIVE_MIND_LLM"),
        ({"HIVE_MIND_LLM_TRIES": "2"}, "HIVE_MIND_LLM_TRIES has no effect"),
        ({"HIVE_MIND_EMBED_URL": "http://127.0.0.1:1/v1"}, "HIVE_MIND_EMBED_URL has no effect without HIVE_MIND_EMBED=openai"),
        ({"HIVE_MIND_EMBED": "none", "HIVE_MIND_EMBED_MODEL": "m"}, "HIVE_MIND_EMBED_MODEL has no effect"),
        ({"HIVE_MIND_EMBEDD": "none"}, "HIVE_MIND_EMBEDD is no setting: did you mean"),
        ({"HIVE_MIND_ZEBRA_CROSSING": "none"}, "HIVE_MIND_ZEBRA_CROSSING is no setting: "),
    ],
)
def test_a_variable_that_changes_nothing_is_named(environment: dict[str, str], says: str) -> None:
    (said,) = without_effect(environment)
    assert said.startswith(says)


def test_a_doctor_names_what_changes_nothing_and_is_not_alarmed(hive_mind: HiveMind) -> None:
    told = hive_mind.with_environment(HIVE_MIND_EMBEDD="none")("doctor", "-o", "json")
    (check,) = [check for check in told.json["checks"] if check["name"] == "settings"]
    assert (told.code, check["state"]) == (0, "absent")
    assert "HIVE_MIND_EMBEDD is no setting" in check["detail"]


def test_what_has_an_effect_is_not_named() -> None:
    whole = {"HIVE_MIND_LLM": "openai:m", "HIVE_MIND_LLM_URL": "u", "HIVE_MIND_TOKEN_BUDGET": "1", "HIVE_MIND_EMBED": "openai"}
    whole |= {"HIVE_MIND_EMBED_URL": "u", "HIVE_MIND_EMBED_KEY": "k", "HIVE_MIND_ENV_ALLOWED": "X", "HIVE_MIND_CREDENTIAL_A": "b"}
    assert without_effect(whole | {f"HIVE_MIND_{name}": "s" for name in SECRETS}) == []


def test_the_secrets_are_those_that_are_read() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "hive_mind").rglob("*.py") if path != Path(settings_file.__file__)]
    assert [name for name in SECRETS if not any(f'secret("{name}")' in text for text in texts)] == []


async def test_an_embedder_by_its_name_is_that_one() -> None:
    assert (await open_embedder(Settings(embed="none"))).dimension == 0


def test_what_says_how_a_memory_is_opened_is_said_to_change_nothing_where_a_process_has_it_open(guarded: HiveMind) -> None:
    careful = guarded.with_environment(HIVE_MIND_ANSWERING="careful")
    careful("learn", "-", stdin="The ferry leaves at nine.")
    careful("serve")
    eager = guarded.with_environment(HIVE_MIND_ANSWERING="eager")

    said = {
        "eager": eager("ask", "When does the ferry leave?").err,
        "careful": careful("ask", "When does the ferry leave?").err,
        "unset": guarded("ask", "When does the ferry leave?").err,
        "listing": eager("facts", "list").err,
        "serve": guarded("serve", "--model", "large").err,
        **{
            words[0]: guarded(*words, "--model", "large", stdin="The mill is old.").err
            for words in (["ask", "When?"], ["learn", "-"], ["stats"], ["chat"], ["facts", "search", "ferry"], ["run", "learn"])
        },
    }

    without = {name: line for name, text in said.items() for line in text.splitlines() if "without effect" in line}
    advice = "A process has the memory open already; hive-mind serve --stop ends it"
    assert without.pop("eager") == f"note: without effect: HIVE_MIND_ANSWERING. {advice}"
    assert set(without) == {"ask", "learn", "stats", "chat", "facts", "run", "serve"}
    assert set(without.values()) == {f"note: without effect: --model. {advice}"}
