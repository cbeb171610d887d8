"""Credentials of this machine in what is rendered: a secret of the platform has the value there, under a name of its own."""

import re

import pytest

from hive_mind.control.manifests.reading import Source
from hive_mind.control.platforms import compose, containerapps, kubernetes
from hive_mind.control.platforms.in_containers import contained
from tests.unit.control.cloud import configs_of, fleet, source_of

AGENTS = [{"name": "ada", "env": {"API": "${credential:ada-api}", "LANG": "C"}}, {"name": "ben"}]
LLM = {"model": "openai:gpt-5-mini", "key": "${credential:model-key}"}


def source(kind: str) -> Source:
    return source_of(fleet(kind, agents=AGENTS, llm=LLM))


def test_each_becomes_a_secret_of_the_process_that_uses_it() -> None:
    given = source("kubernetes")
    ada, ben = contained(given, configs_of(given), name_chars_max=52)

    assert ada.config.models.llm_key == "${env:HIVE_MIND_CREDENTIAL_MODEL_KEY}"
    assert ada.secret["HIVE_MIND_CREDENTIAL_MODEL_KEY"] == "HIVE_MIND_CREDENTIAL_MODEL_KEY"
    assert ada.secret["API"] == "HIVE_MIND_CREDENTIAL_ADA_API"
    assert "API" not in ben.secret


def test_what_only_looks_like_one_stays() -> None:
    given = source_of(fleet(agents=[{"name": "ada", "prompt": "write $${credential:x} for ${credential:y}"}]))
    (ada,) = contained(given, configs_of(given), name_chars_max=52)
    assert ada.config.agents[0].prompt == "write $${credential:x} for ${env:HIVE_MIND_CREDENTIAL_Y}"


RENDER = {"kubernetes": kubernetes.render, "compose": compose.render, "containerapps": containerapps.render}
BUS = "servicebus://works-bus.servicebus.windows.net/hive-events"


@pytest.mark.parametrize("kind", RENDER)
def test_no_rendered_file_refers_to_what_a_container_does_not_have(kind: str) -> None:
    given = source_of(fleet(kind, agents=AGENTS, llm=LLM, bus=BUS))
    files = RENDER[kind](given, configs_of(given), {})
    assert not any("${credential:" in text for text in files.values())
    assert any(re.search("credential[_-]model[_-]key", text, re.IGNORECASE) for text in files.values())
