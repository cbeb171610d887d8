"""Proof that a partition was taken over: a node that leaves it drops its copy on nobody's word alone.

The leaving node's offer asks for it. The answer is a digest of every assertion, as its author sealed it, and of everything seen,
under a key of this exchange and these two members: a node that lacks a part can neither compute it nor use another's answer.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from hashlib import blake2b
from hmac import compare_digest

import msgspec

from hive_mind.hive.replication.exchange import Exchanges
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.model.messages import SyncOffer, SyncState, TakenOver

PROOF_BYTES = 32
# An answer that comes late is good all the same; one to an offer of long ago comes again.
_SESSIONS_MAX = 1_024

_encode = msgspec.msgpack.Encoder().encode


class HandingOver:
    """Of one node, `exchanges` being its own."""

    def __init__(self, node: str, exchanges: Exchanges) -> None:
        self._node, self._exchanges = node, exchanges
        self._asked: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def asking(self, peer: str, offer: SyncOffer, leaving: Mapping[str, Collection[str]]) -> SyncOffer:
        """An offer that asks for proof of what this node is to let go of once that peer has it. `leaving`: who is waited for."""
        named = {name for name, waiting in leaving.items() if peer in waiting}
        if not named:
            return offer
        self._asked[peer, offer.session] = None
        if len(self._asked) > _SESSIONS_MAX:
            self._asked.popitem(last=False)
        replace = msgspec.structs.replace
        summaries = tuple(replace(one, is_leaving=True) if one.partition in named else one for one in offer.summaries)
        return replace(offer, summaries=summaries)

    def proofs(self, leaver: str, offer: SyncOffer, shares: Mapping[str, PartitionReplica]) -> tuple[TakenOver, ...]:
        """For each partition that the offer asks about, and of which this node has the same and has seen the same."""
        asked = {one.partition: one for one in offer.summaries if one.is_leaving and one.partition in shares}
        return tuple(
            TakenOver(name, self._proof(offer.session, leaver, self._node, shares[name]))
            for name, summary in asked.items()
            if shares[name].is_holder and self._exchanges.is_same(shares[name], summary, offer.session)
        )

    def proven(self, holder: str, state: SyncState, shares: Mapping[str, PartitionReplica]) -> list[str]:
        """The partitions of which a holder has all that is here, and knows of everything that was here and is gone."""
        if (holder, state.session) not in self._asked:
            return []
        claimed = [(one, shares[one.partition]) for one in state.taken_over if one.partition in shares]
        return [one.partition for one, share in claimed if self._is_true(one, holder, state.session, share)]

    def _is_true(self, claim: TakenOver, holder: str, session: bytes, share: PartitionReplica) -> bool:
        return compare_digest(claim.proof, self._proof(session, self._node, holder, share))

    def _proof(self, session: bytes, leaver: str, holder: str, share: PartitionReplica) -> bytes:
        key = blake2b(_encode(("handed-over/1", session, leaver, holder, share.partition)), digest_size=PROOF_BYTES).digest()
        whole = share.content_digest() + self._exchanges.seen_root(share, key)
        return blake2b(whole, key=key, digest_size=PROOF_BYTES).digest()
