"""Who is let in, through `$cbs` and as the service does it."""

import base64
import hashlib
import hmac
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.devbroker.amqp import AmqpError
from hive_mind.devbroker.amqp import performatives as amqp
from hive_mind.devbroker.amqp.entity import split
from hive_mind.devbroker.broker import Keys, audience_path
from tests.unit.devbroker.peers import with_peer

KEYS = Keys({"name": "secret"}, jwt="header.body.signature")
NOW = 1_000_000.0


def sas(resource="sb://host/hub", expiry="2000000", key="secret", name="name"):
    there = quote_plus(resource)
    signature = base64.b64encode(hmac.new(key.encode(), f"{there}\n{expiry}".encode(), hashlib.sha256).digest())
    return f"SharedAccessSignature sr={there}&sig={quote_plus(signature)}&se={expiry}&skn={name}"


def test_a_right_signature_opens_its_resource_until_it_expires():
    assert KEYS.check(sas(), "amqps://host/Hub", NOW) == ("hub", 2_000_000)


@pytest.mark.parametrize(
    ("token", "audience"),
    [
        (sas(key="wrong"), "sb://host/hub"),
        (sas(name="other"), "sb://host/hub"),
        (sas(expiry="999999"), "sb://host/hub"),
        (sas(expiry="nan"), "sb://host/hub"),
        (sas(expiry="-5"), "sb://host/hub"),
        (sas(expiry="٣٣٣٣٣٣٣"), "sb://host/hub"),
        (sas(), "sb://host/other"),
        (sas(), "sb://host/hubs"),
        (sas(), "sb://host/"),
        (sas().replace("2000000", "3000000"), "sb://host/hub"),
        ("SharedAccessSignature ", "sb://host/hub"),
        ("SharedAccessSignature sr&sig&se&skn", "sb://host/hub"),
        ("", "sb://host/hub"),
        ("header.body.other", "sb://host/hub"),
        (sas(), "sb://[host/hub"),
    ],
)
def test_any_other_token_opens_nothing(token, audience):
    with pytest.raises(AmqpError):
        KEYS.check(token, audience, NOW)


def test_a_signature_for_everything_opens_anything():
    assert (
        KEYS.check(sas("sb://host/"), "sb://host/hub/ConsumerGroups/x/Partitions/1", NOW)[0]
        == "hub/consumergroups/x/partitions/1"
    )


def test_the_one_web_token_is_let_in_and_without_one_none_is():
    assert KEYS.check("header.body.signature", "sb://host/hub", NOW) == ("hub", NOW + 3600)
    with pytest.raises(AmqpError):
        Keys({"name": "secret"}).check("", "sb://host/hub", NOW)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_no_token_and_no_surprise(text):
    for token in (text, f"SharedAccessSignature {text}", f"SharedAccessSignature skn=name&{text}"):
        with pytest.raises(AmqpError):
            KEYS.check(token, "sb://host/hub", NOW)


def test_a_management_address_means_its_entity():
    assert audience_path("amqps://host:5671/topic/Subscriptions/a/$management") == "topic/subscriptions/a"
    assert audience_path("$management") == ""


def test_keys_are_not_shown():
    assert "secret" not in repr(KEYS)


def default_sas(resource="sb://host/hub", expiry="99999999999"):
    return sas(resource, expiry, key="SAS_KEY_VALUE", name="RootManageSharedAccessKey")


def put_token(peer, token, audience="sb://host/hub"):
    peer.request(0, {"operation": "put-token", "type": "servicebus.windows.net:sastoken", "name": audience}, token)
    return split(peer.heard(amqp.TRANSFER)[0].payload).application_map


def attach_cbs(peer):
    peer.attach_sender(0, "$cbs")
    peer.attach_receiver(1, "$cbs", reply_to="me")
    peer.heard()


@with_peer(needs_token=True)
async def test_there_are_links_only_to_what_a_token_was_brought_for(peer):
    attach_cbs(peer)
    for audience, is_open in (("", False), ("sb://host/other", False), ("sb://host/hub", True)):
        if audience:
            assert put_token(peer, default_sas(audience), audience)["status-code"] == 202
        peer.attach_sender(2, "hub/Partitions/1" if is_open else "hub")
        attached, refused = peer.heard(), "amqp:unauthorized-access"
        assert [one.error(2) for one in attached if one.code == amqp.DETACH] == ([] if is_open else [refused])
    assert next(one for one in attached if one.code == amqp.ATTACH).fields[6] is not None


@with_peer(needs_token=True, clock=lambda: NOW)
async def test_a_token_that_has_expired_since_opens_nothing_more(peer):
    attach_cbs(peer)
    put_token(peer, default_sas(expiry="1000005"))
    peer.broker._router._host = type("Later", (), {"now": lambda _: NOW + 10})()
    peer.attach_sender(2, "hub")
    assert peer.heard(amqp.DETACH)[0].error(2) == "amqp:unauthorized-access"


@with_peer(needs_token=True)
async def test_a_wrong_token_is_answered_with_401(peer):
    attach_cbs(peer)
    said = put_token(peer, default_sas().replace("sig=", "sig=x"))
    assert (said["status-code"], said["errorCondition"]) == (401, "com.microsoft:auth-failed")
    assert peer.broker.stats["failed requests com.microsoft:auth-failed"] == 1


@with_peer(needs_token=True)
async def test_the_management_of_an_entity_needs_a_token_too(peer):
    attach_cbs(peer)
    peer.attach_sender(2, "$management")
    peer.attach_receiver(3, "$management", reply_to="me")
    peer.heard()
    peer.request(2, {"operation": "READ", "type": "com.microsoft:eventhub", "name": "hub"})

    assert split(peer.heard(amqp.TRANSFER)[0].payload).application_map["status-code"] == 401


@with_peer(needs_token=True)
async def test_other_operations_than_put_token_are_not_known(peer):
    attach_cbs(peer)
    peer.request(0, {"operation": "delete-token"})
    assert split(peer.heard(amqp.TRANSFER)[0].payload).application_map["status-code"] == 400


@with_peer()
async def test_a_request_without_a_way_back_is_rejected(peer):
    peer.attach_sender(0, "$cbs")
    peer.request(0, {"operation": "put-token"})
    assert peer.heard(amqp.DISPOSITION)[0].fields[4].value[0].value[0] == "amqp:not-allowed"


@with_peer()
async def test_answers_nobody_fetches_are_bounded(peer):
    peer.attach_sender(0, "$cbs")
    peer.attach_receiver(1, "$cbs", reply_to="me", credit=0)
    for _ in range(257):
        peer.request(0, {"operation": "?"})

    states = [each.fields[4].descriptor for each in peer.heard(amqp.DISPOSITION)]
    assert states == [amqp.ACCEPTED] * 256 + [amqp.REJECTED]
    peer.flow(1, 300)
    assert len(peer.heard(amqp.TRANSFER)) == 256


@with_peer(needs_token=True)
async def test_audiences_of_one_connection_are_bounded(peer):
    attach_cbs(peer)
    token = default_sas("sb://host/")
    said = [put_token(peer, token, f"sb://host/hub{number}")["status-code"] for number in range(90)]
    peer.connection.authorised.update({str(number): 0.0 for number in range(1024)})

    assert said == [202] * 90
    assert put_token(peer, token, "sb://host/one-more")["errorCondition"] == "amqp:resource-limit-exceeded"
