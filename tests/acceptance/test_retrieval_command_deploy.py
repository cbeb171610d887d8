"""`hive-mind retrieval deploy` refuses what is worse, unless it is forced for a reason, and a dry run only judges."""

import re

from tests.acceptance.retrieval_example import in_a_process
from tests.unit.retrieval.workspaces import everything_in


def test_what_is_worse_is_refused_with_the_evidence(retrieval):
    folder = retrieval.home / "retrieval"
    active = (folder / "configs" / "active.json").read_bytes()

    ended = in_a_process(retrieval, "deploy", "bad")

    assert ended.code == 1
    assert "refused: bad is not deployed, v1-naive stays active" in ended.err
    assert re.search(r"nUDCG is lower: -?[\d.]+ after [\d.]+ \([+-][\d.]+, 95 % interval", ended.err)
    assert "nUDCG" in ended.out
    assert (folder / "configs" / "active.json").read_bytes() == active
    assert list((folder / "results").glob("bad-*.json"))


def test_force_needs_a_reason_and_both_are_recorded(retrieval):
    refused = retrieval("retrieval", "deploy", "bad", "--force")
    assert refused.code == 2
    assert "--reason" in refused.err

    assert retrieval("retrieval", "deploy", "bad", "--force", "--reason", "an experiment").code == 0
    told = retrieval("retrieval", "history").out
    assert "deployed bad in place of v1-naive against the gate" in told
    assert "reason: an experiment" in told
    assert "overruled: nUDCG is lower" in told


def test_a_dry_run_judges_and_writes_nothing(retrieval):
    folder = retrieval.home / "retrieval"
    before = everything_in(folder)

    good, bad = (retrieval("retrieval", "deploy", name, "--dry-run") for name in ("good", "bad"))

    assert (good.code, bad.code) == (0, 1)
    assert "good may be deployed" in good.out
    after = everything_in(folder)
    assert {name: after[name] for name in after if not name.startswith("index/")} == {
        name: before[name] for name in before if not name.startswith("index/")
    }


def test_deploying_what_is_in_use_changes_nothing_and_is_no_failure(retrieval):
    assert retrieval("retrieval", "deploy", "good").code == 0
    again = retrieval("retrieval", "deploy", "good")
    assert again.code == 0
    assert "identical to the configuration in use" in again.out
    assert len(retrieval("retrieval", "history", "-o", "json").json) == 2
