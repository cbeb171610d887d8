"""What README tells a newcomer to type works after a plain `pip install .`: the packages are there without an extra."""

import ast
import re
import sys
import tomllib
from pathlib import Path

from hive_mind.bus.address import SCHEMES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Of packages whose modules have another name.
_MODULES = {"charset-normalizer": "charset_normalizer", "pyyaml": "yaml", "pystemmer": "Stemmer"}
# A fleet, a hive in processes, a memory, the commands.
FOLDERS = ("agents", "bus/redis", "cli", "console", "control", "hive", "journal", "memory", "runtime", "sqlite", "store")
# Comes with pydantic, as what it is built on.
_BROUGHT = {"pydantic_core"}


def installed() -> set[str]:
    names = (re.split(r"[<>=\[; ]", line)[0] for line in PROJECT["dependencies"])
    return {_MODULES.get(name.lower(), name.lower()) for name in names}


def test_no_package_is_missing_after_a_plain_install() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / "hive_mind" / folder).rglob("*.py")]
    wanted = {name: path for path in files for name in imported_at_once(path)}
    standard = {"hive_mind", "__future__"} | set(sys.stdlib_module_names)
    assert {name: str(path) for name, path in wanted.items() if name not in standard | installed() | _BROUGHT} == {}


def test_the_page_for_developers_names_every_extra_that_brings_something() -> None:
    text = (ROOT / "docs" / "howto" / "laptop.md").read_text("utf-8")
    named = {name for row in re.findall(r"^\| (.*?`\w.*?) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert "| the scheme of a bus, such as `" in text
    buses = {name for name, scheme in SCHEMES.items() if scheme.has_broker}
    assert {name for name, packages in EXTRAS.items() if packages} - {"dev"} <= named | buses


def test_tests_have_every_extra() -> None:
    brought = {
        name for line in EXTRAS["dev"] if (found := re.fullmatch(r"hive-mind\[(.*)\]", line)) for name in found[1].split(",")
    }
    assert brought == set(EXTRAS) - {"dev"}


def imported_at_once(path: Path) -> set[str]:
    """Packages that importing the file imports."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found
