"""The section of a manifest that says which senders are believed in the hive, and which members read it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hive_mind.control.manifests.part import OFF, ManifestSection

IdentityMode = Literal["off", "warn", "require"]


class Identity(ManifestSection):
    """Authentication of members and encryption of messages. May be written as its mode alone, `identity: require`."""

    mode: Annotated[IdentityMode | None, OFF] = Field(
        None,
        description="Whether members prove by certificates who they are; warn: unproven members are trusted, with a warning. "
        "Left out: require for a new fleet whose bus is not on this machine, else as it was, or off.",
    )
    encryption: bool = Field(
        False,
        description="Whether messages are encrypted for members, so that the bus's operator can't read them; needs require.",
    )


def _with_mode(given: Any) -> Any:
    return {"mode": given} if given is None or isinstance(given, str | bool) else given


WrittenIdentity = Annotated[Identity, BeforeValidator(_with_mode, json_schema_input_type=Identity | IdentityMode)]
