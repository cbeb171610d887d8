"""A bus is registered in one place, and everything that speaks of buses has it from there."""

import re
import tomllib
from pathlib import Path

import pytest

from hive_mind import backends
from hive_mind.bus.address import SCHEMES, BusScheme, address_of, in_words, refuse_plaintext
from hive_mind.control.manifests import HiveManifest
from hive_mind.control.manifests.bus_checking import bus_findings
from hive_mind.errors import InvalidInput

ROOT = Path(__file__).parents[3]
WITH_BROKER = {name for name, scheme in SCHEMES.items() if scheme.has_broker}


@pytest.fixture
def pigeon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bus nobody has heard of."""
    monkeypatch.setitem(SCHEMES, "pigeon", BusScheme("pigeon://loft", (7000,), encrypted="pigeons"))


def test_what_is_registered_is_what_there_is_and_has_a_harness_for_the_contract() -> None:
    assert set(SCHEMES) == set(backends.known("bus"))
    assert {path.stem for path in (ROOT / "tests" / "contract" / "buses").glob("*.py")} == {"base", *SCHEMES}


def test_packages_of_each_are_an_extra_of_its_name_and_in_the_image() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    image = re.search(r"^ARG EXTRAS=(\S+)$", (ROOT / "deploy" / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert image is not None
    assert WITH_BROKER - set(extras) == WITH_BROKER - set(image[1].split(",")) == set()
    assert {backends.extra_of("bus", name) for name in WITH_BROKER} == WITH_BROKER


@pytest.mark.parametrize(("name", "scheme"), SCHEMES.items())
def test_its_example_is_an_address_of_it(name: str, scheme: BusScheme) -> None:
    address = address_of(scheme.example)
    assert (address.backend, bool(address.host)) == (name, scheme.has_broker)


@pytest.mark.usefixtures("pigeon")
def test_a_new_one_is_known_to_addresses_and_named_in_helps() -> None:
    address = address_of("pigeons://loft.example.org")
    assert (address.backend, address.is_encrypted, str(address)) == ("pigeon", True, "pigeons://loft.example.org")
    with pytest.raises(InvalidInput, match="use pigeons://"):
        refuse_plaintext(address_of("pigeon://loft.example.org"))
    assert in_words().endswith(" or pigeon://…")
    assert all(f"{name}:" in in_words() for name in SCHEMES)


@pytest.mark.usefixtures("pigeon")
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("pigeons://loft.example.org", ""),
        ("pigeon://loft.example.org", "use pigeons://"),
        ("pigeon:", "write it like pigeon://loft"),
        ("pigeonss://loft", "did you mean pigeons?"),
    ],
)
def test_a_new_one_is_known_to_manifests(url: str, told: str) -> None:
    spec = {"agents": [{"name": "ada"}], "bus": {"url": url}}
    manifest = HiveManifest.model_validate(
        {"apiVersion": "hive-mind/v1", "kind": "Hive", "metadata": {"name": "town"}, "spec": spec}
    )
    findings = [finding.message for finding in bus_findings(manifest)]

    assert findings == [] if not told else told in findings[0]
