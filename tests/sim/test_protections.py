"""Each protection against liars and strangers is noticed where it is missing: by a storm, or by the test of its own.

Storms are searched from a seed that has shown it, so a test ends with the first that catches it.
"""

from collections.abc import Callable

import pytest

from hive_mind.sim import CALM
from tests.sim import test_appointed_moderators as test_appointed
from tests.sim.protections import PROTECTIONS
from tests.sim.scenarios import a_revoked_key_stays_revoked_through_a_restart
from tests.sim.storms import storm
from tests.unit.hive import test_membership_seals as test_seals
from tests.unit.hive.replication import test_handing_over, test_partition_replica_keys, test_share_limits
from tests.unit.hive.replication.test_share_limits import strict_court as strict
from tests.unit.hive.trust import test_trust_book as test_trust
from tests.unit.identity import test_envelopes, test_keyring


def own_test(test: Callable[[], None]) -> Callable[[], str]:
    """Whether the test of a protection fails."""

    def found() -> str:
        try:
            test()
        except AssertionError:
            return test.__name__
        return ""

    return found


HUNTS: dict[str, Callable[[], str]] = {
    "envelope_not_checked": storm("sharded", "forger,churn,loss"),
    "hive_not_bound_to_envelopes": own_test(test_envelopes.test_what_was_sent_in_one_hive_is_worth_nothing_in_another),
    "target_not_bound": own_test(test_envelopes.test_what_was_sent_to_one_is_worth_nothing_to_another),
    "kept_beats_believed": own_test(test_seals.test_beats_that_a_stranger_kept_bring_back_nobody_who_was_put_out_or_died),
    "answers_outlive_boots": own_test(
        test_seals.test_an_answer_of_a_boot_that_ended_meanwhile_is_worth_nothing_when_it_is_said_again
    ),
    "seal_not_checked": storm("flat", "liar"),
    "hive_not_bound_to_seals": own_test(test_keyring.test_a_seal_in_one_hive_is_none_in_another),
    "dot_not_bound": storm("flat", "liar,loss,partition", first=1),
    "partition_not_bound": storm("federated", "theft"),
    "validity_ignored": storm("flat", "forger", first=7),
    "revocation_ignored": storm("flat", "theft", first=3),
    "names_ignored": storm("flat", "theft", first=3),
    "facts_of_revoked_keys_stay": storm("flat", "theft", first=3),
    "entries_of_revoked_keys_stay": storm("flat", "theft", first=3),
    "revocations_forgotten": a_revoked_key_stays_revoked_through_a_restart,
    "dots_for_anybody": storm("flat", "liar,loss,partition", first=1),
    "any_appointment_is_one": own_test(test_appointed.test_who_was_never_appointed_forgets_its_own_beyond_the_limit),
    "appointments_not_looked_at": own_test(
        lambda: test_appointed.test_what_it_decided_is_kept_on_all_whatever_they_hear_first(CALM, 0)
    ),
    "dismissals_change_nothing_that_is_kept": own_test(
        lambda: test_appointed.test_what_a_dismissed_moderator_says_is_kept_by_nobody_whatever_they_hear_first(CALM, 0)
    ),
    "entries_without_limit": own_test(test_appointed.test_who_was_never_appointed_forgets_its_own_beyond_the_limit),
    "removals_without_limit": own_test(
        lambda: test_share_limits.test_who_takes_back_without_end_forgets_its_own_and_nobody_elses(strict())
    ),
    "boots_without_limit": own_test(
        lambda: test_share_limits.test_boots_that_say_nothing_are_forgotten_and_those_with_facts_stay(strict())
    ),
    "long_facts_count_as_one": own_test(
        lambda: test_share_limits.test_facts_as_long_as_books_count_for_more_of_their_agents_quota_in_whatever_order_they_come(
            strict()
        )
    ),
    "clock_of_who_spoke_last": storm("flat", "liar,eclipse,crash", has_liar=True, eclipse_share=0.15, crash_share=0.1, first=1),
    "leavers_not_heard": storm("sharded", "churn,split,loss", churn_share=0.15, split_share=1.0, first=4),
    "any_proof_is_proof": own_test(test_partition_replica_keys.test_nobody_takes_back_what_another_has_still_to_say),
    "taken_over_on_a_bare_word": storm("sharded", "liar,churn", has_liar=True, churn_share=0.15, loss=0.5, first=3),
    "taken_over_proved_by_dots": own_test(test_handing_over.test_who_knows_only_the_numbers_of_what_there_is_proves_nothing),
    "vouchers_not_counted": own_test(test_trust.test_agents_of_one_voucher_do_not_rate_each_other_and_speak_as_one),
    "any_few_rate": own_test(
        test_trust.test_raters_that_no_moderator_found_good_count_once_more_than_a_third_of_the_hive_says_so
    ),
    "moderators_rated_by_all": own_test(test_trust.test_only_moderators_rate_moderators_and_nobody_silences_one),
    "moderators_silenced": own_test(test_trust.test_only_moderators_rate_moderators_and_nobody_silences_one),
}


def test_every_protection_is_hunted() -> None:
    assert set(HUNTS) == set(PROTECTIONS)


@pytest.mark.parametrize("name", HUNTS)
def test_where_it_is_missing_that_is_noticed(name: str) -> None:
    with PROTECTIONS[name]():
        caught = HUNTS[name]()
    assert caught
    assert "raises" not in caught
