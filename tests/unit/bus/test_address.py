"""Where a bus is: every part of a URL in its place, and no secret where somebody could read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.bus import BusSettings
from hive_mind.bus.address import BusAddress, address_of, refuse_plaintext
from hive_mind.errors import InvalidInput


def test_each_part_of_a_url_has_its_place():
    address = address_of("rediss://bee:h%40ney@broker.example.org:6380/2?a=1&b=&a=3")

    assert address == BusAddress(
        "redis", "broker.example.org", 6380, "2", "bee", "h@ney", is_encrypted=True, options=(("a", "1"), ("b", ""), ("a", "3"))
    )
    assert (address.option("a"), address.option("b", "x"), address.option("c", "x")) == ("3", "", "x")
    assert str(address) == "rediss://broker.example.org:6380/2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("memory", "memory://"),
        ("redis://127.0.0.1", "redis://127.0.0.1"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
        ("servicebus://ns.servicebus.windows.net/topic/", "servicebus://ns.servicebus.windows.net/topic"),
        ("REDIS://Host:1", "redis://host:1"),
    ],
)
def test_an_address_is_shown_as_a_url(url, shown):
    assert str(address_of(url)) == shown


@pytest.mark.parametrize(
    "url", ["redis://bee:hunter2@host:99999", "redis://bee:hunter2@[::1", "redis://bee:hunter2@host:port", ""]
)
def test_what_is_no_url_is_refused_without_repeating_it(url):
    with pytest.raises(InvalidInput) as raised:
        address_of(url)
    assert "hunter2" not in f"{raised.value} {raised.value!r}"


@pytest.mark.parametrize("sign", "/?#")
@pytest.mark.parametrize("before", ["", "12", "bee"])
def test_a_password_that_ends_the_url_is_refused_without_repeating_it(sign, before):
    with pytest.raises(InvalidInput, match="%2F") as raised:
        address_of(f"rediss://:{before}{sign}hunter2@broker.example.org:6380/0")
    assert "hunter2" not in f"{raised.value} {raised.value!r}"


@given(st.text(st.characters(categories=["L", "N"]), min_size=6, max_size=20).map(lambda some: f"s3cret{some}"))
def test_a_secret_is_never_shown(secret):
    address = address_of(f"redis://bee:{secret}@broker.example.org:6379/0")
    settings = BusSettings(credential=secret)

    assert address.password == secret
    assert secret not in f"{address} {address!r} {settings} {settings!r}"
    with pytest.raises(InvalidInput) as raised:
        refuse_plaintext(address)
    assert secret not in f"{raised.value} {raised.value!r}"


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - nobody listens there
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("", False),
    ],
)
def test_only_this_machine_is_spoken_to_in_the_clear(host, is_here):
    address = BusAddress("redis", host)

    assert address.is_loopback is is_here
    refuse_plaintext(BusAddress("redis", host, is_encrypted=True))
    if is_here:
        refuse_plaintext(address)
    else:
        with pytest.raises(InvalidInput, match="not encrypted"):
            refuse_plaintext(address)


@pytest.mark.parametrize(
    "pasted",
    [
        "Endpoint=sb://town.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=c2VjcmV0",
        "endpoint=sb://town.servicebus.windows.net/;SharedAccessSignature=sr=x&sig=c2VjcmV0",
    ],
)
def test_a_connection_string_is_told_where_it_belongs_and_never_repeated(pasted: str) -> None:
    with pytest.raises(InvalidInput, match="HIVE_MIND_BUS_CREDENTIAL") as refused:
        address_of(pasted)
    assert "c2VjcmV0" not in str(refused.value)
