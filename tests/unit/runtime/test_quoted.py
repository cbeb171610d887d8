"""What on a bus says something that is to be erased."""

from hive_mind.bus import Envelope, type_of
from hive_mind.model.messages import Encrypted, Message, Receipt
from hive_mind.runtime.copies import quotes


def test_what_nobody_can_look_into_is_meant_whatever_is_to_be_erased() -> None:
    def carried(message: Message) -> Envelope:
        return Envelope("1", "town", "ada", ("ben",), type_of(message), message)

    is_meant = quotes([])
    assert is_meant(carried(Encrypted(1, b"s" * 16, 1, b"anything")))
    assert not is_meant(carried(Receipt("p1")))
