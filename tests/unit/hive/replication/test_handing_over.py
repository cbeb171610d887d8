"""Who leaves a partition keeps it until each new holder proves that it has all of it; nobody's word is enough."""

from hashlib import blake2b
from typing import NamedTuple

import msgspec

from hive_mind.hive.effects import Received
from hive_mind.hive.replication.anti_entropy import HandingOver
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.hive.topology.sharded import Sharded, first_placement
from hive_mind.model.messages import ClockSample, SyncOffer, SyncState, TakenOver
from tests.hives import PUMP_ID, Hive, keyring


class Leave(NamedTuple):
    """The only holder of a fact is no member any more. Who is to take it over has heard nothing but an offer."""

    hive: Hive
    leaver: str
    to: str
    partition: str
    offer: SyncOffer

    @property
    def share(self) -> PartitionReplica:
        return self.hive.nodes[self.leaver].partitions.shares[self.partition]

    def is_over(self) -> bool:
        return self.partition not in self.hive.nodes[self.leaver].partitions.leaving

    def answer(self, *claims: TakenOver, session: bytes = b"") -> None:
        everything = tuple(one.partition for one in self.offer.summaries)
        said = session or self.offer.session, b"a boot", self.offer.incarnation, ClockSample(1, 1)
        self.hive.tell(self.leaver, Received(self.to, SyncState(*said, everything, (), everything, (), claims)))

    def proof(self, share: PartitionReplica, holder: str = "", leaver: str = "", session: bytes = b"") -> TakenOver:
        """What a holder answers that has this share."""
        share.is_holder = True
        exchanges = self.hive.nodes[self.to].repair.exchanges
        # The summary of its own share in that session: it says the same as the leaver, by whatever it has.
        offer = exchanges.offer(session or self.offer.session, [share], b"", self.hive.clock())
        asked = msgspec.structs.replace(
            offer, summaries=tuple(msgspec.structs.replace(one, is_leaving=True) for one in offer.summaries)
        )
        (claim,) = HandingOver(holder or self.to, exchanges).proofs(leaver or self.leaver, asked, {share.partition: share})
        return claim

    def copy(self) -> PartitionReplica:
        """What is there, whole."""
        copy, at = self.empty(), self.hive.nodes[self.to].policy.at(self.hive.clock())
        copy.take(self.share.all_sealed(), self.share.proofs().values(), self.share.heads.values(), at)
        copy.join(self.share.members.context.up_to, self.share.members.context.beyond, (), at)
        return copy

    def empty(self) -> PartitionReplica:
        return PartitionReplica(self.partition, b"an actor", self.to, b"a boot", is_wary=True)


def leaving() -> Leave:
    hive = Hive(Sharded(first_placement(["n0", "n1", "n2"], 1, 8)), seal_of=lambda name: keyring(name, "ines"))
    partition = hive.topology.home(PUMP_ID, "")
    (leaver,) = hive.topology.holders(partition)
    hive.say(next(name for name in hive.nodes if name != leaver))
    hive.wait(5_000)
    hive.down = {name for name in hive.nodes if name != leaver}
    hive.rearrange(hive.topology.with_nodes([name for name in hive.topology.nodes if name != leaver]))
    hive.wait(30_000)
    (to,) = hive.nodes[leaver].partitions.leaving[partition]
    offers = [message for _, receiver, message in hive.sent if receiver == to and isinstance(message, SyncOffer)]
    asking = [offer for offer in offers if any(one.is_leaving and one.partition == partition for one in offer.summaries)]
    return Leave(hive, leaver, to, partition, asking[-1])


def test_a_claim_without_proof_makes_nobody_let_go_of_its_only_copy():
    """Of who heard the offer, and has nothing of what it is about."""
    leave = leaving()
    summary = next(one for one in leave.offer.summaries if one.partition == leave.partition)
    nothing = blake2b(digest_size=32).digest()

    for guess in (b"", bytes(32), summary.live, summary.seen, summary.live + summary.seen, nothing):
        leave.answer(TakenOver(leave.partition, guess))
    leave.answer(leave.proof(leave.empty()))

    assert not leave.is_over()
    assert len(leave.share) == 1


def test_who_knows_only_the_numbers_of_what_there_is_proves_nothing():
    """They are told to everybody who exchanges; what was said under them is not."""
    leave, hollow = leaving(), leaving().empty()
    hollow.members = leave.share.members.copy()
    leave.answer(leave.proof(hollow))
    assert not leave.is_over()


def test_a_proof_is_good_for_one_member_one_leaver_and_one_exchange_and_then_the_copy_goes():
    leave = leaving()
    copy = leave.copy()

    leave.answer(leave.proof(copy, holder="n9"))
    leave.answer(leave.proof(copy, leaver="n9"))
    leave.answer(leave.proof(copy, session=b"s" * 16))
    leave.answer(leave.proof(copy, session=b"s" * 16), session=b"s" * 16)
    assert not leave.is_over()

    leave.answer(leave.proof(copy))
    assert leave.is_over()
    assert len(leave.share) == 0


def test_a_proof_of_what_was_there_before_is_none():
    leave = leaving()
    claim = leave.proof(leave.copy())
    leave.share.members.join_context({b"somebody": 3}, ())
    leave.answer(claim)
    assert not leave.is_over()


def test_an_offer_asks_for_proof_only_where_something_is_left():
    hive = Hive(Sharded(first_placement(["n0", "n1", "n2"], 2, 8)))
    hive.say("n0")
    hive.wait(30_000)

    offers = [message for _, _, message in hive.sent if isinstance(message, SyncOffer)]
    states = [message for _, _, message in hive.sent if isinstance(message, SyncState)]

    assert offers
    assert not any(one.is_leaving for offer in offers for one in offer.summaries)
    assert not any(state.taken_over for state in states)


def test_of_two_new_holders_each_has_to_prove_it():
    hive = Hive(Sharded(first_placement(["n0", "n1"], 2, 8)))
    hive.say("n0")
    hive.wait(15_000)
    hive.rearrange(hive.topology.with_nodes(["n2", "n3"]), knows_former=True)
    hive.down.add("n3")
    hive.wait(60_000)

    partition = hive.topology.home(PUMP_ID, "")
    for leaver in ("n0", "n1"):
        assert hive.nodes[leaver].partitions.leaving[partition] == {"n3"}
    assert hive.who_has() == {"n0", "n1", "n2"}

    hive.boot("n3").partitions.expect(["n0", "n1"])
    hive.wait(60_000)
    assert not any(hive.nodes[leaver].partitions.leaving for leaver in ("n0", "n1"))
    assert hive.who_has() >= {"n2", "n3"}
