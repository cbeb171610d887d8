"""Who meets somebody else's change of a fleet did nothing wrong, and did not get what they wanted: exit code 1, not 2."""

from itertools import cycle
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hive_mind.cli.app import app
from hive_mind.cli.running import FAILED, exit_codes
from hive_mind.control.state import FleetChanged, FleetLocked
from tests.unit.control.bad_manifests import EVERY, Bad


# Both read a manifest by the function of which `test_reading` shows what it says to each that is bad.
@pytest.mark.parametrize(
    ("bad", "command"), list(zip(EVERY[::12], cycle(("apply", "plan")), strict=False)), ids=lambda one: getattr(one, "name", one)
)
def test_a_bad_manifest_is_told_and_starts_nothing(bad: Bad, command: str, tmp_path: Path) -> None:
    file, home = tmp_path / "hive.yaml", tmp_path / "home"
    file.write_bytes(bad.bytes)

    ended = CliRunner().invoke(app, [command, "-f", str(file), "--home", str(home)])

    assert ended.exit_code == 2, ended.output
    assert "hive.yaml:" in ended.output
    assert not home.exists()


@pytest.mark.parametrize("met", [FleetLocked("team", 7), FleetChanged("team", "1 to delete")])
def test_a_change_under_way_or_made_meanwhile_is_a_failure_in_one_line(
    met: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, exit_codes():
        raise met
    assert ended.value.exit_code == FAILED
    assert capsys.readouterr().err.startswith("error: fleet 'team'")
