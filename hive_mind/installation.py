"""A command that installs what is missing into this installation, whichever way it was made.

An extra is named only where its project can be had again: a checkout, a folder, a file or an address that is still there. Perhaps
no index has the project, so otherwise the packages that the extra stands for are named. The program that installs them is the
one that this environment has: pip, uv or pipx.
"""

import json
import re
import shlex
import shutil
import sys
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

PROJECT = "hive-mind"
_EXTRA = re.compile(r"""\bextra\s*+==\s*+["']([\w.-]++)["']""")


def command_for_extra(extra: str) -> str:
    """A line for a shell that installs an extra of this project."""
    try:
        project = distribution(PROJECT)
    except PackageNotFoundError:
        project = None
    return _command(*(_origin(project, extra) or _packages(project, extra)))


def command_for_package(requirement: str) -> str:
    """A line for a shell that installs one package, such as "msgspec" or "pydantic-ai-slim[openai]"."""
    return _command(requirement)


def _command(*arguments: str) -> str:
    return shlex.join([*_installer(), *arguments]) if arguments else f"install {PROJECT} anew from where you have it"


def _origin(project: Distribution | None, extra: str) -> list[str]:
    """Arguments that install the project with the extra from where it came; none where that is not known or gone."""
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():
        return ["-e", f"{checkout}[{extra}]"]
    origin = json.loads((project and project.read_text("direct_url.json")) or "{}")
    url = str(origin.get("url", ""))
    if control := origin.get("vcs_info"):
        return [f"{PROJECT}[{extra}] @ {control['vcs']}+{url}@{control['commit_id']}"]
    if not url.startswith("file:"):
        return [f"{PROJECT}[{extra}] @ {url}"] if url else []
    path = Path(url2pathname(urlsplit(url).path))
    return [f"{path}[{extra}]"] if path.is_file() or (path / "pyproject.toml").is_file() else []


def _packages(project: Distribution | None, extra: str) -> list[str]:
    lines = (line.partition(";") for line in (project and project.requires) or ())
    return [package.strip() for package, _, condition in lines if extra in _EXTRA.findall(condition)]


@cache
def _installer() -> tuple[str, ...]:
    """The words before what is to be installed."""
    environment = Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        return "pipx", "runpip", environment.name, "install"
    if find_spec("pip") is None:
        return "uv", "pip", "install", "--python", sys.executable
    on_path = shutil.which("pip")
    # The first pip that a shell finds may be that of another environment.
    is_ours = on_path is not None and Path(on_path).parent == Path(sys.executable).parent
    return ("pip", "install") if is_ours else (sys.executable, "-m", "pip", "install")
