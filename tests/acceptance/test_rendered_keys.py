"""A fleet that is rendered for containers proves who it is: each worker has its own key, and nobody has the root's."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.rendered_workers import PATIENCE_S, Container, prepared, running
from tests.sampled import usually
from tests.servers.redis_server import RedisOptions, RedisServer
from tests.unit.control.cloud import IMAGE

NAMES = ("ada", "ben", "cleo")
FLEET = """\
apiVersion: hive-mind/v1
kind: Hive
metadata: {{name: town}}
spec:
  topology: flat
  identity: {identity}
  agents: [{{name: ada}}, {{name: ben}}, {{name: cleo}}]
{platform}
"""
PLATFORMS = {
    "compose": "  platform: compose",
    "given": "  platform: {kind: compose, keys: given}",
    "kubernetes": f"  platform: {{kind: kubernetes, image: {IMAGE!r}}}\n  bus: rediss://redis.example.org",
    "containerapps": f"  platform: {{kind: containerapps, image: {IMAGE!r}}}\n  bus: rediss://redis.example.org",
}

ISSUED = ("compose", "kubernetes", "containerapps")


def render(hive_mind: HiveMind, folder: Path, platform: str = "compose", identity: str = "require") -> Path:
    (folder / "fleet.yaml").write_text(FLEET.format(identity=identity, platform=PLATFORMS[platform]))
    ended = hive_mind("apply", "-f", folder / "fleet.yaml", "--render", folder / "out")
    assert ended.code == 0, ended.err
    return folder / "out"


def issue(hive_mind: HiveMind) -> None:
    assert hive_mind("keys", "init", "--fleet", "town").code == 0
    for name in NAMES:
        assert hive_mind("keys", "issue", name, "--fleet", "town").code == 0


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def keys(hive_mind: HiveMind) -> Path:
    return hive_mind.home / "fleets" / "town" / "keys"


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer(RedisOptions(password="of-the-test")) as server:  # noqa: S106
        yield server


@pytest.mark.parametrize(("platform", "identity"), [("compose", "warn"), *((platform, "require") for platform in ISSUED)])
def test_each_process_gets_its_key_and_none_the_root(hive_mind: HiveMind, tmp_path: Path, platform: str, identity: str) -> None:
    folder = render(hive_mind, tmp_path, platform, identity)
    found = texts(folder)
    secret = {name for name in found if name.startswith("secrets/")}

    assert len(secret) == len(NAMES)
    for name in NAMES:
        own = (keys(hive_mind) / f"{name}.key").read_text().strip()
        assert [file for file, text in found.items() if own in text] == [next(one for one in secret if f"-{name}-" in one)]
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in secret} == {0o600}
    root = (keys(hive_mind) / "root.key").read_text().strip()
    assert not [file for file, text in found.items() if root in text]
    assert found["keys/root.pub"] == (keys(hive_mind) / "root.pub").read_text()
    assert len(found["keys/certificates"].splitlines()) == len(NAMES)
    assert {"/secrets/", "/.env"} <= set(found[".gitignore"].splitlines())


@pytest.mark.parametrize("platform", ISSUED)
def test_rendering_again_changes_nothing_and_another_key_is_rendered(hive_mind: HiveMind, tmp_path: Path, platform: str) -> None:
    folder = render(hive_mind, tmp_path, platform)
    first = texts(folder)
    (folder / ".gitignore").write_text("mine\n" + first[".gitignore"])
    render(hive_mind, tmp_path, platform)
    assert texts(folder) == first | {".gitignore": "mine\n" + first[".gitignore"]}

    assert hive_mind("keys", "rotate", "ben", "--fleet", "town").code == 0
    render(hive_mind, tmp_path, platform)
    again = texts(folder)
    assert {name for name in first if name.startswith("secrets/")} - set(again) == {
        name for name in first if name.startswith("secrets/") and "-ben-" in name
    }
    # What was said by the former key stays.
    assert set(again["keys/certificates"].splitlines()) > set(first["keys/certificates"].splitlines())
    changed = {name for name in first if name in again and again[name] != first[name]} - {".gitignore", "keys/certificates"}
    assert (
        changed
        == {
            "compose": {"compose.yaml"},
            "kubernetes": {"kustomization.yaml", "process-town-ben.yaml"},
            "containerapps": {"parameters.json"},
        }[platform]
    )


def test_without_the_keys_it_was_rendered_with_it_is_refused(hive_mind: HiveMind, tmp_path: Path) -> None:
    folder = render(hive_mind, tmp_path)
    (folder / "keys" / "root.pub").write_text("QUJD\n")
    ended = hive_mind("apply", "-f", tmp_path / "fleet.yaml", "--render", folder)
    assert ended.code == 2
    assert "rendered with the keys of another home" in ended.err


def test_keys_that_a_person_gives_are_referred_to_and_not_made(hive_mind: HiveMind, tmp_path: Path) -> None:
    issue(hive_mind)
    manifest = FLEET.format(identity="require", platform=PLATFORMS["kubernetes"].replace("image:", "keys: given, image:"))
    (tmp_path / "fleet.yaml").write_text(manifest)
    ended = hive_mind("apply", "-f", tmp_path / "fleet.yaml", "--render", tmp_path / "out")

    assert ended.code == 0, ended.err
    assert not (tmp_path / "out" / "secrets").exists()
    assert "secretGenerator" not in yaml.safe_load((tmp_path / "out" / "kustomization.yaml").read_text())
    assert "secretName: town-ada-key" in (tmp_path / "out" / "process-town-ada.yaml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("source", usually(["issued", "given"], "issued"))
def test_workers_with_what_was_rendered_share_and_one_with_anothers_key_is_refused(
    hive_mind: HiveMind, redis: RedisServer, tmp_path: Path, source: str
) -> None:
    if source == "given":
        issue(hive_mind)
    folder = render(hive_mind, tmp_path, "compose" if source == "issued" else "given", "{mode: require, encryption: true}")
    prepared(folder, redis.options.password, keys(hive_mind))
    workers = {name: Container(name, folder, tmp_path / "roots" / name, redis.port) for name in NAMES}
    with running(workers):
        workers["ada"].call("/v1/agents/ada", do="learn", text="The spare key of the boathouse hangs behind the blue door.")
        for name in ("ben", "cleo"):
            workers[name].answers("Where does the spare key of the boathouse hang?", "blue door")
            (node,) = workers[name].call("/v1/status")["nodes"]
            assert (node["identity"], node["unproven"], node["secret_epoch"]) == ("require", {}, 1)
            assert not [file for file in workers[name].root.rglob("*") if file.name == "root.key"]

    workers["ben"].inside("/etc/hive-mind-key/key").write_bytes(workers["cleo"].inside("/etc/hive-mind-key/key").read_bytes())
    process = workers["ben"].start()
    told = process.communicate(timeout=PATIENCE_S)[1].decode()
    assert process.returncode != 0
    assert "the key that ben was given is that of cleo: give each process its own" in told
