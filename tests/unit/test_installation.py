"""The command in a hint fits the installation: it can be typed as it stands, wherever the project came from."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from hive_mind import installation
from hive_mind.errors import BackendNotInstalled

ROOT = Path(__file__).parents[2]
NEEDED = ("numpy>=2", "numkong>=7; extra == 'ann'", "usearch; extra == 'ann'")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation of this origin; its packages are found, its checkout is not."""

    def install(origin: dict[str, object] | None) -> None:
        site = tmp_path / "site"
        info = site / "hive_mind-9.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: hive-mind\nVersion: 9\n" + "".join(f"Requires-Dist: {line}\n" for line in NEEDED)
        )
        if origin is not None:
            (info / "direct_url.json").write_text(json.dumps(origin))
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setattr(installation, "__file__", str(site / "hive_mind" / "installation.py"))
        monkeypatch.setattr(installation, "_installer", lambda: ("pip", "install"))
        assert distribution("hive-mind").version == "9"

    return install


def test_a_checkout_is_installed_again_from_its_folder():
    assert installation.command_for_extra("ann").endswith(f"install -e '{ROOT}[ann]'")


def test_a_folder_and_a_wheel_are_named_where_they_are_still_there(installed, tmp_path):
    folder = tmp_path / "with a blank"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    installed({"url": folder.as_uri(), "dir_info": {}})
    assert installation.command_for_extra("ann") == f"pip install '{folder}[ann]'"


def test_of_a_wheel_that_is_gone_the_packages_are_named(installed, tmp_path):
    wheel = tmp_path / "hive_mind-9-py3-none-any.whl"
    installed({"url": wheel.as_uri(), "archive_info": {}})
    assert installation.command_for_extra("ann") == "pip install 'numkong>=7' usearch"
    wheel.touch()
    assert installation.command_for_extra("ann") == f"pip install '{wheel}[ann]'"


def test_what_came_from_a_repository_is_installed_from_there(installed):
    installed({"url": "https://example.com/h.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert installation.command_for_extra("ann") == "pip install 'hive-mind[ann] @ git+https://example.com/h.git@abc'"


def test_where_no_origin_is_known_the_packages_are_named_because_no_index_may_have_the_project(installed):
    installed(None)
    assert installation.command_for_extra("ann") == "pip install 'numkong>=7' usearch"
    assert "from where you have it" in installation.command_for_extra("unheard")


def test_the_installer_is_the_one_of_this_environment(monkeypatch, tmp_path):
    command = installation._installer.__wrapped__
    monkeypatch.setattr(installation.shutil, "which", lambda _: str(tmp_path / "pip"))
    assert command() == (sys.executable, "-m", "pip", "install")
    monkeypatch.setattr(installation.shutil, "which", lambda _: str(Path(sys.executable).parent / "pip"))
    assert command() == ("pip", "install")
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    assert command() == ("uv", "pip", "install", "--python", sys.executable)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "pipx_metadata.json").touch()
    assert command() == ("pipx", "runpip", tmp_path.name, "install")


def test_an_error_and_the_doctor_give_the_same_command():
    assert installation.command_for_extra("ann") in str(BackendNotInstalled("ann", "usearch", "ann"))


def test_every_hint_of_what_to_install_is_made_at_one_place():
    package = ROOT / "hive_mind"
    texts = {path: path.read_text("utf-8") for path in package.rglob("*.py") if path != package / "installation.py"}
    assert [str(path) for path, text in texts.items() if re.search(r"\bpip3? install|\bhive-mind\[", text)] == []


def test_no_text_names_an_index_that_may_not_have_the_project():
    named = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    texts = {name: (ROOT / name).read_text("utf-8") for name in named if name != "CHANGELOG.md"}
    assert [name for name, text in texts.items() if re.search(r"pip install [\"']?hive-mind\[", text)] == []
