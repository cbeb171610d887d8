"""A share among members with keys: nobody writes under another's dots, and what a revoked key said is let go of."""

from hive_mind.hive.policy import sealed, sealed_head, sealed_removal
from hive_mind.hive.replication.partition_replica import PartitionReplica
from hive_mind.identity import Keyring, KeySeal, PrivateKey
from hive_mind.model.evidence import Head, Removal, Sealed, Stamp, actor_id, dot
from tests.hives import PUMP_ID, Court, assertion
from tests.unit.identity.test_keyring import ADA, BOB, ROOT, certificate, revoked

BOOT = b"boot one"
ADAS, BOBS = actor_id("ada", BOOT), actor_id("bob", BOOT)


def court(key: PrivateKey, name: str) -> Court:
    """Of a member that knows the certificates of all."""
    keyring = Keyring(ROOT.public, key, certificate(key, name, days=10_000))
    for one, other in ((ADA, "ada"), (BOB, "bob")):
        keyring.learn(certificate(one, other, days=10_000))
    return Court(KeySeal(keyring, "hive", is_required=True))


ADA_SAYS, BOB_SAYS = court(ADA, "ada"), court(BOB, "bob")
NOW_MS = 1_800_000_000_000


def said(name: str, by: Court, content: str = "The door is open.", counter: int = 1) -> Sealed:
    """What somebody says under a dot of ada's."""
    return sealed(by.seal, "all", dot(ADAS, counter), assertion(content, agent=name, ms=NOW_MS))


def heads() -> tuple[Head, ...]:
    return (sealed_head(ADA_SAYS.seal, "all", Head("ada", BOOT, 1)),)


def here() -> PartitionReplica:
    return here_of("cleo")


def here_of(node: str) -> PartitionReplica:
    return PartitionReplica("all", actor_id(node, BOOT), node, BOOT, is_wary=True)


def agents(share: PartitionReplica) -> list[str]:
    return sorted(given.assertion.agent for given in share.all_sealed())


def test_nobody_writes_under_the_dots_of_another_node_and_those_of_nobody_known_wait_for_the_head_of_their_node() -> None:
    share, court_here, refused = here(), court(BOB, "bob"), "a dot of another node's"
    both = [said("bob", BOB_SAYS), said("ada", ADA_SAYS)]

    assert share.take(both, (), (), court_here).refused == {refused: 2}
    assert agents(share) == []
    assert share.take(both[:1], (), heads(), court_here).refused == {refused: 1}
    share.take(both, (), heads(), court_here)
    assert agents(share) == ["ada"]


def taken_back_before(by: str = "bob", court_of: Court = BOB_SAYS, fact: str = PUMP_ID) -> Removal:
    """A removal of what ada has still to say, whatever that will be."""
    return sealed_removal(court_of.seal, "all", Removal(fact, (dot(ADAS, 1),), by, "retracted", Stamp(NOW_MS)))


def test_nobody_takes_back_what_another_has_still_to_say() -> None:
    share, court_here = here(), court(BOB, "bob")
    share.take((), [taken_back_before()], heads(), court_here)
    share.join({ADAS: 1}, (), (), court_here)

    share.take([said("ada", ADA_SAYS)], (), (), court_here)

    assert agents(share) == ["ada"]
    assert share.proof(dot(ADAS, 1)) is None


def test_a_removal_that_proves_nothing_is_not_in_the_way_of_one_that_does() -> None:
    share, court_here = here(), court(BOB, "bob")
    given = said("ada", ADA_SAYS)
    share.take((), [taken_back_before()], heads(), court_here)

    true = taken_back_before("ada", ADA_SAYS, given.assertion.fact_id)
    share.take((), [true, taken_back_before()], (), court_here)
    share.take([given], (), (), court_here)

    assert share.proof(given.dot) == true
    assert agents(share) == []


def test_what_somebody_without_the_right_says_is_gone_is_named() -> None:
    share, court_here = here(), court(BOB, "bob")
    share.take([said("ada", ADA_SAYS)], (), heads(), court_here)
    assert share.take((), [taken_back_before()], (), court_here).contested == [dot(ADAS, 1)]


def test_what_the_registry_takes_back_is_proved_by_the_node_that_lets_go_of_it() -> None:
    """It has not the key of the moderator who wrote the entry; a proof without a seal would convince nobody."""
    share, court_here = here_of("bob"), court(BOB, "bob")
    given = said("ada", ADA_SAYS)
    share.take([given], (), heads(), court_here)

    taken = share.remove(given.assertion.fact_id, [given.dot], "a moderator", "redacted", Stamp(NOW_MS), court_here)
    other = here()
    other.take((), taken.removals, heads(), court_here)

    assert other.proof(given.dot) is not None
    assert share.proof(given.dot).by == "bob"


def test_what_a_revoked_key_said_and_took_back_counts_no_more_and_was_never_seen() -> None:
    share, court_here = here(), court(BOB, "bob")
    gone = said("ada", ADA_SAYS, counter=2)
    removal = Removal(PUMP_ID, (dot(ADAS, 9),), "ada", "retracted", Stamp(NOW_MS))
    share.take([said("ada", ADA_SAYS), gone], [sealed_removal(ADA_SAYS.seal, "all", removal)], heads(), court_here)
    court_here.seal.revoke(revoked(ADA))

    taken = share.disown(court_here)

    assert agents(share) == []
    assert {given.dot for given in taken.gone} == {dot(ADAS, 1), dot(ADAS, 2)}
    assert share.proof(dot(ADAS, 9)) is None
    assert not share.members.has_seen(dot(ADAS, 1))
    assert share.take([gone], (), heads(), court_here).adds == []


def test_what_it_stamped_before_stays() -> None:
    share, court_here = here(), court(BOB, "bob")
    share.take([said("ada", ADA_SAYS)], (), heads(), court_here)
    court_here.seal.revoke(revoked(ADA, NOW_MS + 1))
    share.disown(court_here)
    assert agents(share) == ["ada"]


def test_the_digest_is_of_what_is_there_also_after_a_revocation() -> None:
    """Otherwise a member waits for ever for a proof that others have what was there before."""
    compared, fresh, court_here = here(), here(), court(BOB, "bob")
    bobs = [sealed(BOB_SAYS.seal, "all", dot(BOBS, n), assertion(agent="bob", ms=NOW_MS + n)) for n in range(1, 9)]
    for share in (compared, fresh):
        share.take([said("ada", ADA_SAYS)], (), [*heads(), sealed_head(BOB_SAYS.seal, "all", Head("bob", BOOT, 9))], court_here)
    compared.content_digest()
    court_here.seal.revoke(revoked(ADA))

    for share in (compared, fresh):
        share.disown(court_here)
    for given in bobs:
        for share in (compared, fresh):
            share.take([given], (), (), court_here)
        assert compared.content_digest() == fresh.content_digest()
