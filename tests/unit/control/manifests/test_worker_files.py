"""A manifest takes workers from files, and says what is wrong with them at the agent that has them."""

from pathlib import Path

import pytest

from hive_mind.agents.runs import text_of, worker_called
from hive_mind.control.manifests.reading import read_manifest
from hive_mind.errors import ManifestError
from hive_mind.runs.spec import WorkerSpec
from tests.unit.control.bad_manifests import one_agent


def manifest(folder: Path, worker: str) -> Path:
    file = folder / "hive.yaml"
    file.write_text(one_agent(f"name: ada, worker: {worker}"))
    return file


def test_what_a_file_says_becomes_the_worker_of_the_agent(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(text_of("learn"))
    own, bundled = (read_manifest(manifest(tmp_path, name)).manifest.spec.agents[0].worker for name in ("own.yaml", "learn"))
    assert own == bundled
    assert WorkerSpec.model_validate_json(own) == worker_called("learn")


@pytest.mark.parametrize(
    ("worker", "message"), [("gone.yaml", "there is no file 'gone.yaml'"), ("broken.yaml", "broken.yaml:2: kind: has to be")]
)
def test_a_mistake_is_told_at_the_agent(tmp_path: Path, worker: str, message: str) -> None:
    (tmp_path / "broken.yaml").write_text("apiVersion: hive-mind/v1\nkind: Warker\n")
    with pytest.raises(ManifestError) as refused:
        read_manifest(manifest(tmp_path, worker))
    assert {one.path for one in refused.value.problems} == {"spec.agents[0].worker"}
    assert any(message in one.message for one in refused.value.problems)
