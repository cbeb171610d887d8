"""Protections against members that lie and against strangers, taken away one by one for as long as a test runs."""

from collections.abc import Iterator
from hashlib import blake2b
from unittest.mock import patch

import msgspec

from hive_mind.hive import policy
from hive_mind.hive.effects import Now, Taken
from hive_mind.hive.heartbeats import HiveClock, LivingBoots
from hive_mind.hive.node import HiveNode
from hive_mind.hive.policy import registry_service
from hive_mind.hive.policy.registry import Registry
from hive_mind.hive.replication import partition_replica
from hive_mind.hive.replication.anti_entropy import HandingOver
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.replication.partitions import Partitions
from hive_mind.hive.trust import trust_book
from hive_mind.identity import EXPIRED, REVOKED, Certificate, Keyring, KeySeal, epochs
from hive_mind.identity.epochs import Signing
from tests.sim.mutants import Mutant, all_of, registered

PROTECTIONS: dict[str, Mutant] = {}
protection = registered(PROTECTIONS)


def overlooking(reason: str):
    refusal = Keyring.refusal

    def overlooked(self, *given, **how):
        why = refusal(self, *given, **how)
        return "" if why == reason else why

    return patch.object(Keyring, "refusal", overlooked)


def paid_out(field: str, value: object):
    """Envelopes are signed without one of their fields."""
    payload = epochs._payload
    return patch.object(
        epochs, "_payload", lambda envelope, data: payload(msgspec.structs.replace(envelope, **{field: value}), data)
    )


@protection
def envelope_not_checked() -> Iterator[None]:
    """Whoever is named as the sender is believed to be it, and nothing is learned of anybody's keys."""
    with patch.object(Signing, "refusal", lambda *_: ""), patch.object(Signing, "learn", lambda *_: None):
        yield


@protection
def hive_not_bound_to_envelopes() -> Iterator[None]:
    with paid_out("hive", ""):
        yield


@protection
def target_not_bound() -> Iterator[None]:
    with paid_out("target", ()):
        yield


@protection
def kept_beats_believed() -> Iterator[None]:
    """Who answered anybody, at any time, is believed to live: as often as somebody says that again."""
    with patch.object(LivingBoots, "note_answer", lambda _, __, beat, **___: bool(beat.answers)):
        yield


@protection
def answers_outlive_boots() -> Iterator[None]:
    """What was once answered is an answer for ever."""
    ask_if_due = LivingBoots.ask_if_due
    with patch.object(LivingBoots, "ask_if_due", lambda self, name, beat, _, *when: ask_if_due(self, name, beat, 0, *when)):
        yield


@protection
def seal_not_checked() -> Iterator[None]:
    with patch.object(KeySeal, "verify", lambda *_, **__: True):
        yield


@protection
def hive_not_bound_to_seals() -> Iterator[None]:
    init = KeySeal.__init__

    def unbound(self, keyring, _, **how):
        init(self, keyring, "any", **how)

    with patch.object(KeySeal, "__init__", unbound):
        yield


@protection
def dot_not_bound() -> Iterator[None]:
    of = policy._of_assertion
    with patch.object(policy, "_of_assertion", lambda partition, _, assertion: of(partition, b"", assertion)):
        yield


@protection
def partition_not_bound() -> Iterator[None]:
    of = policy._of_assertion
    with patch.object(policy, "_of_assertion", lambda _, dot, assertion: of("", dot, assertion)):
        yield


@protection
def validity_ignored() -> Iterator[None]:
    with overlooking(EXPIRED):
        yield


@protection
def revocation_ignored() -> Iterator[None]:
    with all_of(overlooking(REVOKED), patch.object(Keyring, "is_revoked", lambda *_: False)):
        yield


@protection
def names_ignored() -> Iterator[None]:
    """Whoever has a certificate speaks for everybody."""
    with patch.object(Certificate, "speaks_for", lambda *_: True):
        yield


@protection
def facts_of_revoked_keys_stay() -> Iterator[None]:
    with patch.object(PartitionReplica, "disown", lambda *_: Taken()):
        yield


@protection
def entries_of_revoked_keys_stay() -> Iterator[None]:
    with patch.object(Registry, "disown", lambda *_: []):
        yield


@protection
def revocations_forgotten() -> Iterator[None]:
    """A member that starts again believes a revoked key until somebody tells it."""
    start = HiveNode.start

    def forgetful(self, kept, now):
        return start(self, [one for one in kept if one.key != b"revoked"], now)

    with patch.object(HiveNode, "start", forgetful):
        yield


@protection
def dots_for_anybody() -> Iterator[None]:
    """A member says things under the dots of another, which then are taken for seen."""
    with patch.object(PartitionReplica, "_is_squatted", lambda *_: False):
        yield


@protection
def any_appointment_is_one() -> Iterator[None]:
    """Whoever says that a founder appointed it is believed."""
    with patch.object(registry_service, "is_appointment", lambda *_: True):
        yield


@protection
def appointments_not_looked_at() -> Iterator[None]:
    """What appointed moderators decide is forgotten beyond the limit, as what others write."""
    with patch.object(Registry, "_is_counted", lambda self, entry: entry.by not in self.founders):
        yield


@protection
def dismissals_change_nothing_that_is_kept() -> Iterator[None]:
    """What a moderator says after its dismissal is kept like what it decided in office."""
    with patch.object(Registry, "is_after_dismissal", lambda *_: False):
        yield


@protection
def entries_without_limit() -> Iterator[None]:
    with patch.object(Registry, "_make_room", lambda *_: True):
        yield


@protection
def removals_without_limit() -> Iterator[None]:
    with patch.object(PartitionReplica, "_limit_proofs", lambda *_: None):
        yield


@protection
def boots_without_limit() -> Iterator[None]:
    with patch.object(PartitionReplica, "_limit_boots", lambda *_: None):
        yield


@protection
def long_facts_count_as_one() -> Iterator[None]:
    with patch.object(partition_replica, "weight", lambda _: 1):
        yield


@protection
def clock_of_who_spoke_last() -> Iterator[None]:
    """Of a member's clock the last sample is believed, whoever it is from: one that hears liars alone takes their time."""

    def move(self: HiveClock, now: Now) -> bool:
        self._offset_ms, self._phase_ms = [*self._votes.values()][-1].offset_ms, now.wall_ms - now.mono_ms
        return True

    with patch.object(HiveClock, "_move", move):
        yield


@protection
def leavers_not_heard() -> Iterator[None]:
    """Who has left hands over nothing more to those who heard of it first."""
    with patch.object(Partitions, "expect", lambda *_: None):
        yield


@protection
def any_proof_is_proof() -> Iterator[None]:
    """A member takes back what another has still to say, and then that is taken for gone."""
    with patch.object(PartitionReplica, "_is_settled", lambda self, given, _: self._is_known(given.dot)):
        yield


@protection
def taken_over_on_a_bare_word() -> Iterator[None]:
    """Who leaves lets go of what somebody says it has."""
    with patch.object(HandingOver, "proven", lambda *given: [one.partition for one in given[2].taken_over]):
        yield


@protection
def taken_over_proved_by_dots() -> Iterator[None]:
    """Who knows what there is, and has none of it, is taken for one that has."""
    with patch.object(PartitionReplica, "content_digest", lambda self: blake2b(b"".join(sorted(self.members.live))).digest()):
        yield


@protection
def vouchers_not_counted() -> Iterator[None]:
    """Each of a hundred agents that one voucher brought confirms."""
    with patch.object(trust_book, "_vouchers_in", lambda _: {}):
        yield


@protection
def any_few_rate() -> Iterator[None]:
    """Whoever rates counts, however few they are."""
    with patch.object(trust_book, "_is_enough", lambda table, _: table.rater >= 0):
        yield


@protection
def moderators_rated_by_all() -> Iterator[None]:
    with patch.object(trust_book, "_is_heard", lambda row, _: row.rater != row.subject):
        yield


@protection
def moderators_silenced() -> Iterator[None]:
    """Enough bad ratings hide what a moderator says, too."""

    def silenced(self, agent, now_ms):
        return self.of(agent, now_ms) < self._settings.quarantine_trust

    with patch.object(trust_book.TrustBook, "is_quarantined", silenced):
        yield
