"""What the program that measures and its processes of members say: one JSON object a line, a reply to each request."""

from collections.abc import Mapping

import msgspec

from hive_mind.model.content import Candidate
from hive_mind.model.query import Hit, Method
from hive_mind.ranking.pipeline import RankingSettings

LINE_BYTES_MAX = 256 << 20
"""A batch of documents with their vectors has a few MB; a larger one is a mistake."""


class Start(msgspec.Struct, frozen=True, tag=True):
    """Open these members of a hive, with an agent each; answered when they have heard all others. First, and once."""

    names: tuple[str, ...]
    members: tuple[str, ...]
    """All of the hive; in a federated one each is "group:name"."""
    topology: str
    replicas: int
    url: str
    credential: str
    folder: str
    store: str
    ann: str
    model: str
    dimension: int
    ranking: RankingSettings | None = None


class Keep(msgspec.Struct, frozen=True, tag=True):
    """Let an agent store statements and share them. `vectors` are those of every text it will want embedded, as float32."""

    agent: str
    source: str
    candidates: tuple[Candidate, ...]
    vectors: Mapping[str, bytes]


class Search(msgspec.Struct, frozen=True, tag=True):
    """Let an agent search. `vector` is the question's, b"" without a model. Answered by `SearchFound`."""

    agent: str
    text: str
    limit: int
    method: Method
    vector: bytes = b""


class SearchFound(msgspec.Struct, frozen=True):
    """What it found, at what price, in seconds of that process."""

    hits: tuple[Hit, ...]
    fan_out: int
    completeness: float
    cpu_s: float
    wall_s: float


class Look(msgspec.Struct, frozen=True, tag=True):
    """Say how it goes. Answered by `MembersState`."""


class MembersState(msgspec.Struct, frozen=True):
    """How the members of one process are."""

    unwritten: int
    """Parcels that some replica has not confirmed."""
    is_busy: bool
    dead: Mapping[str, tuple[str, ...]]
    """By member: whom it believes to be, and asks last."""
    learning: tuple[int, int]
    """Messages and bytes sent since the beginning that were no questions."""
    asking: tuple[int, int]
    """Messages and bytes of questions since the last `Look`."""


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Stop one member, as if its machine went away."""

    agent: str


Request = Start | Keep | Search | Look | Stop


class MemberReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer, or the error in words and its kind."""

    ok: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
    kind: str = ""
