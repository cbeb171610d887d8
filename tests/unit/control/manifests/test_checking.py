"""What contradicts itself in a manifest, what it keeps to itself, and what it names that is not there."""

import os
from pathlib import Path

import pytest

from hive_mind.control.manifests import sources
from hive_mind.control.manifests.reading import Source, read_manifest
from hive_mind.control.manifests.sources import SourceReader, roots_of
from hive_mind.errors import InvalidInput, ManifestError
from tests.unit.control.bad_manifests import AGENTS, HEAD, one_agent, within


@pytest.fixture
def read(tmp_path):
    def read_here(text: str) -> Source:
        file = tmp_path / "hive.yaml"
        file.write_text(text)
        return read_manifest(file)

    return read_here


def test_references_that_lead_somewhere_are_fine(read, tmp_path, monkeypatch):
    monkeypatch.setenv("REDIS_PASSWORD", "anything")
    (tmp_path / "prompt.md").write_text("Be brief.")
    source = read(one_agent("name: ada, prompt: '${file:prompt.md}'") + "  bus: rediss://:${env:REDIS_PASSWORD}@r.example:6379\n")
    assert source.manifest.spec.agents[0].prompt == "${file:prompt.md}"
    assert "anything" not in repr(source)


EMULATED = "  bus: {{url: 'servicebus://{host}/hive', searches: 'eventhubs://{host}/searches'}}\n"
TWO_SPACES = "  bus: {url: 'servicebus://a.servicebus.windows.net/h', searches: 'eventhubs://b.servicebus.windows.net/s'}\n"
CLOUD = "  platform: {kind: kubernetes, image: a/b}\n  bus: {url: 'rediss://r.example', credential: '${env:ONLY_THERE}'}\n"
CONNECTING = "Endpoint=sb://a.example/;SharedAccessKeyName=hive;SharedAccessKey=${env:SAS}"
GROUPS = "  topology: {kind: federated, groups: [{name: n}, {name: s}]}\n"


@pytest.mark.parametrize(
    "text",
    [
        one_agent("name: ada, sources: ['FOLDER/elsewhere/*.txt']"),
        one_agent("name: ada, sources: [elsewhere/../a.txt, ./a.txt]"),
        *(within(EMULATED.format(host=host)) for host in ("127.0.0.1:5672", "emulator:5672")),
        within(TWO_SPACES),
        # What containers find in their own world is not looked for in this one.
        within(CLOUD),
        within(f"  bus: {{url: 'servicebus://a.example/hive', credential: '{CONNECTING}'}}\n"),
        *(one_agent(f"name: ada, prompt: '{prompt}'") for prompt in ("Never say a password.", "The token is counted.")),
        *(one_agent(f"name: ada, prompt: '{prompt}'") for prompt in ("Cost: $5 {net}", "$${env:X} stays")),
        # Agents without a group fill those that have none.
        HEAD + GROUPS + "  agents:\n    - {name: 'r-{n}', count: 2}\n",
        # Three replicas by default need no three nodes.
        within("  topology: sharded\n"),
        *map(within, ("  judge: {facts: off}\n", "  identity: off\n", '  identity: "off"\n')),
    ],
)
def test_what_contradicts_nothing_and_is_there_is_taken(text, read, tmp_path, monkeypatch):
    monkeypatch.setenv("SAS", "x")
    (tmp_path / "elsewhere").mkdir()
    for file in (tmp_path / "a.txt", tmp_path / "elsewhere" / "a.txt"):
        file.write_text("The ferry leaves at nine.")
    assert read(text.replace("FOLDER", str(tmp_path)))


def test_a_variable_that_is_empty_counts_as_forgotten(read, monkeypatch):
    monkeypatch.setenv("REDIS_PASSWORD", "")
    with pytest.raises(ManifestError, match="REDIS_PASSWORD"):
        read(within("  bus: rediss://:${env:REDIS_PASSWORD}@r.example:6379\n"))


def test_variables_that_say_values_are_taken_and_others_where_the_person_allows_them(read, monkeypatch):
    assert read(one_agent("name: ada, env: {OPENAI_API_KEY: x, LOG_LEVEL: z, TOKEN: t, HF_HUB_OFFLINE: '1'}"))
    with pytest.raises(ManifestError, match="HF_HOME"):
        read(one_agent("name: ada, env: {HF_HOME: /models}"))
    monkeypatch.setenv("HIVE_MIND_ENV_ALLOWED", "MY_*, HF_HOME")
    assert read(one_agent("name: ada, env: {HF_HOME: /models, MY_PATH: /a}"))


@pytest.mark.parametrize(
    "name",
    # What leads traffic elsewhere, what says which certificates are trusted, hubs of models, the loader, Python's start, tools.
    "HTTP_PROXY https_proxy ALL_PROXY no_proxy npm_config_https_proxy OPENAI_BASE_URL OPENAI_API_BASE ANTHROPIC_BASE_URL "
    "AZURE_OPENAI_ENDPOINT AZURE_AUTHORITY_HOST AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_CONTAINER_CREDENTIALS_FULL_URI "
    "IDENTITY_ENDPOINT OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_HEADERS MLFLOW_TRACKING_URI SENTRY_DSN DOCKER_HOST "
    "KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT PGHOST HOSTALIASES LOCALDOMAIN RES_OPTIONS "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS SSLKEYLOGFILE OPENSSL_CONF "
    "HF_ENDPOINT HF_INFERENCE_ENDPOINT HF_HOME HF_HUB_CACHE TRANSFORMERS_CACHE TORCH_HOME SENTENCE_TRANSFORMERS_HOME "
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_DEFAULT_INDEX npm_config_registry GOPROXY GIT_SSH_COMMAND "
    "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH "
    "PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONWARNINGS PYTHONBREAKPOINT BASH_ENV ENV PATH HOME EDITOR".split(),
)
def test_a_variable_that_leads_elsewhere_or_loads_code_needs_the_leave_of_the_person(name, read, monkeypatch):
    with pytest.raises(ManifestError, match=f"HIVE_MIND_ENV_ALLOWED={name}"):
        read(one_agent(f"name: ada, env: {{{name}: x}}"))
    monkeypatch.setenv("HIVE_MIND_ENV_ALLOWED", name)
    assert read(one_agent(f"name: ada, env: {{{name}: x}}"))


def test_a_source_that_is_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("The ferry leaves at nine.")
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "notes").symlink_to(tmp_path / "elsewhere")
    (folder / "hive.yaml").write_text(one_agent("name: ada, sources: [notes/*.txt]"))

    with pytest.raises(ManifestError, match="a link out of the manifest's folder"):
        read_manifest(folder / "hive.yaml")


def test_all_agents_in_one_process_may_share_its_memory(read):
    several = AGENTS + "    - name: ben\n"
    assert read(within("  bus: memory\n  platform: {agentsPerProcess: 2}\n", several))
    assert read(within("  bus: memory\n  platform: inprocess\n", several))
    with pytest.raises(ManifestError, match="agentsPerProcess"):
        read(within("  bus: memory\n  platform: {agentsPerProcess: 2}\n", AGENTS + "    - {name: ben, env: {A: b}}\n"))


def test_a_template_is_told_once_however_often_it_clashes(read):
    with pytest.raises(ManifestError) as refused:
        read(HEAD + "  agents:\n" + "    - {name: 'r-{n}', count: 500}\n" * 2)
    assert len(refused.value.problems) == 1


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def found(folder: Path, *patterns: str) -> list[str]:
    read = SourceReader().read({"ada": patterns}, folder)["ada"]
    return [str(Path(one.path).relative_to(folder)) for one in read]


def test_a_file_a_folder_and_a_glob_are_found_from_the_manifests_folder(tmp_path: Path) -> None:
    write(tmp_path, "one.md", "docs/two.md", "docs/deep/three.md", "logs/a.log", "logs/a.txt")

    assert found(tmp_path, "one.md") == ["one.md"]
    assert found(tmp_path, "docs") == ["docs/deep/three.md", "docs/two.md"]
    assert found(tmp_path, "logs/*.log") == ["logs/a.log"]
    assert found(tmp_path, "**/*.md") == ["docs/deep/three.md", "docs/two.md", "one.md"]
    assert found(tmp_path, "../" + tmp_path.name + "/one.md") == ["one.md"]


def test_a_file_that_two_patterns_name_is_learned_once(tmp_path: Path) -> None:
    write(tmp_path, "docs/two.md")
    assert found(tmp_path, "docs", "docs/two.md", "**/two.md") == ["docs/two.md"]


def test_hidden_files_are_skipped_unless_they_are_named(tmp_path: Path) -> None:
    write(tmp_path, ".env", "docs/.secret", "docs/.git/config", "docs/a.md")
    assert found(tmp_path, "docs", "*", "**") == ["docs/a.md"]
    assert found(tmp_path, ".env") == [".env"]


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    write(outside, "secret.md")
    write(inside, "a.md")
    (inside / "link.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "again.md").symlink_to(inside / "a.md")
    (inside / "round").symlink_to(inside)

    assert found(inside, ".", "**/*.md") == ["a.md", "again.md"]
    assert found(inside, "link.md", "folder/*.md", "folder/secret.md") == []
    assert [one.path for one in SourceReader().read({"ada": [f"{outside}/*.md"]}, inside)["ada"]] == [f"{outside}/secret.md"]
    assert roots_of(["*.md", f"{outside}/*.md"], str(inside)) == (str(inside), str(outside))


def test_a_pattern_that_names_nothing_any_more_adds_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    read = SourceReader().read({"ada": ["gone.md", "gone/*.md", "a.md"], "bob": ["gone.md"]}, tmp_path)
    assert ([Path(one.path).name for one in read["ada"]], read["bob"]) == (["a.md"], ())


def test_a_digest_changes_with_the_bytes_of_the_file(tmp_path: Path) -> None:
    reader = SourceReader()
    write(tmp_path, "a.md")
    before = reader.read({"ada": ["a.md"]}, tmp_path)["ada"]

    (tmp_path / "a.md").write_text("something else")

    assert reader.read({"ada": ["a.md"]}, tmp_path)["ada"][0].digest != before[0].digest
    write(tmp_path, "a.md")
    assert reader.read({"ada": ["a.md"]}, tmp_path)["ada"] == before


@pytest.mark.parametrize(
    ("limit", "pattern", "told"),
    [("FILES_MAX", ".", "3 files are more than 2"), ("_ENTRIES_MAX", "**/*.txt", "name a smaller one")],
)
def test_too_many_files_and_a_whole_disk_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, pattern: str, told: str
) -> None:
    write(tmp_path, "a.md", "b.md", "c.md")
    monkeypatch.setattr(sources, limit, 2)
    with pytest.raises(InvalidInput, match=told):
        found(tmp_path, pattern)


def test_a_file_whose_name_can_not_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"k\xfcche.txt")).write_text("The kettle is on the left.")
    with pytest.raises(InvalidInput, match=r"che\.txt: this name is no UTF-8: rename"):
        found(tmp_path, "*.txt")
