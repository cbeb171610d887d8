"""Who meets somebody else's change of a fleet did nothing wrong, and did not get what they wanted: exit code 1, not 2."""

import pytest
import typer

from hive_mind.cli.running import FAILED, exit_codes
from hive_mind.control.state import FleetChanged, FleetLocked


@pytest.mark.parametrize("met", [FleetLocked("team", 7), FleetChanged("team", "1 to delete")])
def test_a_change_under_way_or_made_meanwhile_is_a_failure_in_one_line(met: Exception, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(typer.Exit) as ended, exit_codes():
        raise met
    assert ended.value.exit_code == FAILED
    assert capsys.readouterr().err.startswith("error: fleet 'team'")
