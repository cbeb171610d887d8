"""A rollback puts back what was in use before."""

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.retrieval.deploying.deploying import rollback
from tests.unit.retrieval.deployments import GOOD, NAIVE, NOON, names, place_in, put


@pytest.fixture
def place(tmp_path):
    return place_in(tmp_path)


class TestRollback:
    def test_it_puts_back_what_was_in_use_before_as_it_was_then(self, place):
        put(place, "good", why="a start")
        put(place, "best")
        place.workspace.config_file("good").unlink()

        entry = rollback(place.workspace, "bao", "slower than thought", NOON)

        assert place.workspace.active() == GOOD
        assert (entry.what, entry.config, entry.former, entry.by) == ("rollback", "good", "best", "bao")
        assert entry.why == "slower than thought"

    def test_once_more_goes_back_further(self, place):
        place.workspace.active_file.write_text(NAIVE.model_dump_json(by_alias=True))
        put(place, "good")
        put(place, "best")

        rollback(place.workspace, "ines")
        rollback(place.workspace, "ines")

        assert place.workspace.active() == NAIVE
        assert names(place) == [
            ("found", "naive"), ("deploy", "good"), ("deploy", "best"), ("rollback", "good"), ("rollback", "naive"),
        ]  # fmt: skip

    def test_after_a_rollback_a_deployment_can_be_rolled_back_too(self, place):
        put(place, "good")
        put(place, "worse", why="try", force=True)
        rollback(place.workspace, "ines")
        put(place, "best")

        rollback(place.workspace, "ines")

        assert place.workspace.active() == GOOD

    @pytest.mark.parametrize("deployed", [[], ["good"]])
    def test_there_has_to_be_something_to_go_back_to(self, place, deployed):
        for name in deployed:
            put(place, name)

        with pytest.raises(InvalidInput, match="nothing to roll back to"):
            rollback(place.workspace, "ines")
