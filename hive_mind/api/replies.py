"""The answers to the requests of `api.requests`, as plain values: what HTTP sends and what commands print as JSON."""

from typing import Any, Literal, NotRequired, TypedDict

from hive_mind.model.content import KnownSource
from hive_mind.model.fact import Sharing
from hive_mind.model.query import ComponentScores, Contributions

Nothing = dict[str, Any]
"""A reply without a field."""

Step = Literal["unknown", "retracted", "superseded", "not found", "ranked below", "not used", "used"]
"""The step at which a fact fell out on its way into an answer."""


class FactJson(TypedDict):
    """All of a `model.fact.Fact`."""

    fact_id: str
    content: str
    concept: str
    confidence: float
    sources: list[str]
    learned_at_us: int
    said_at: str
    speaker: str
    before: str
    entities: list[str]
    labels: list[str]
    sharing: Sharing
    superseded_by: str
    held_back: str
    offered: list[str]
    turned_at_us: list[int]
    copied: list[str]


# "from" is a keyword of Python, so no class can have it as a name.
SaidBy = TypedDict("SaidBy", {"from": list[str]})


class HitJson(FactJson, SaidBy):
    """A fact that was found. `from`: the agents that said it; `held_by`: the node that shows it, "" for its own agent.

    `components` are the raw figures behind the score, `contributions` what each added. `disputed` and `former` say in words what
    contradicts it, and that it is no longer true.
    """

    score: float
    components: ComponentScores
    contributions: Contributions
    trust: float
    held_by: str
    disputed: str
    former: str
    rivals: list[FactJson]


class Reached(TypedDict):
    """`completeness` is the share of the hive that was searched; `silent` are those of `asked` that did not answer in time.

    `note` says what the ranking had to do without, "" for nothing.
    """

    completeness: float
    asked: list[str]
    silent: list[str]
    note: str


class FoundReply(Reached):
    """Of a search, the best hit first."""

    hits: list[HitJson]


class Answered(Reached):
    """`method`, `confidence`, `closest`: see `model.gathered.Answer`."""

    answer: str
    is_known: bool
    method: str
    confidence: float
    sources: list[HitJson]
    closest: list[HitJson]


class AskReply(Answered):
    """`found`: the facts that it was chosen from, where that is wanted."""

    found: NotRequired[FoundReply]


class Held(TypedDict):
    """A fact that was stored, how far it is shared, and why it is held back."""

    fact_id: str
    content: str
    labels: list[str]
    sharing: str
    held_back: str


class Shared(TypedDict):
    """A fact that was changed, and how far it is shared now."""

    fact_id: str
    sharing: str


class LearnedLine(TypedDict):
    """A fact that was kept, or a stretch of the text that became none, and why: `left_out` is "" for a fact."""

    text: str
    left_out: str


class LearnedJson(TypedDict):
    """Ids of the facts; `held_back`: why, by id; how often text was `left_out`, by reason; `episode`: id of the stored text.

    `lines`: all of the text line by line, where that is wanted.
    """

    facts: list[str]
    added: int
    confirmed: int
    held_back: dict[str, str]
    skipped: int
    missing: str
    left_out: dict[str, int]
    former: int
    episode: str
    lines: NotRequired[list[LearnedLine]]


class EmbedsAhead(TypedDict):
    """Whether it embeds texts before they are learned: not without a model, nor where reading them costs."""

    embeds: bool


class Former(TypedDict):
    """How many facts a source says no longer."""

    former: int


class Sources(TypedDict):
    """The sources that an agent learned from."""

    sources: list[KnownSource]


class LearnedFile(TypedDict):
    """A file and what learning it did."""

    file: str
    facts: int
    added: int
    confirmed: int
    former: int


class SkippedFile(TypedDict):
    """A file that was not learned."""

    file: str
    reason: str


class LearnedFiles(TypedDict):
    """Of many files."""

    learned: list[LearnedFile]
    skipped: list[SkippedFile]
    added: int


class EpisodeJson(TypedDict):
    """A text that was learned; of a long one its beginning."""

    id: str
    title: str
    source: str
    said_at: str
    text: str


class WhyJson(FactJson):
    """A fact, the ids of what it replaced, and the texts it was taken from."""

    replaces: list[str]
    said_in: list[EpisodeJson]


class ConflictsJson(TypedDict):
    """Pairs of facts; `count` is how many there are, also where fewer are listed."""

    conflicts: list[list[FactJson]]
    count: int
    completeness: float


class Listed(TypedDict):
    """`completeness` is the share of the hive that was asked."""

    facts: list[FactJson]
    completeness: float


class Collected(Listed):
    """`count` is that of all, `facts` are the first of them; `silent` are members that did not answer."""

    count: int
    silent: list[str]


class WhyNotJson(TypedDict):
    """At which step a fact fell out on its way into an answer, the same in words; the answer itself.

    `fact` is what was taken for the one expected, `hit` the same with its score where it was found; `last` the last that got in.
    """

    step: Step
    told: str
    place: int
    fact: FactJson | None
    hit: HitJson | None
    last: HitJson | None
    answer: Answered


class Voucher(TypedDict):
    """An agent that vouches for a fact, and from which source it has it. `at_ms`: when it first said so."""

    agent: str
    source: str
    confidence: float
    at_ms: int


class EvidenceJson(TypedDict):
    """Evidence for a fact: `trust` is that of its most trusted voucher, `status` what the hive makes of it.

    `kept_by` are the nodes that are to keep it, `silent` those of them not heard now. `disputed` can't be true beside it.
    """

    vouchers: list[Voucher]
    confidence: float
    confirmations: int
    trust: float
    status: str
    kept_by: list[str]
    silent: list[str]
    disputed: list[FactJson]


class HeldBack(TypedDict):
    """Facts of one agent that are not shared, each with `held_back`; `count`: of all of them."""

    facts: list[FactJson]
    count: int


class QuarantinedFact(TypedDict):
    """`fact` is null where no member that answers has it."""

    fact_id: str
    why: str
    fact: FactJson | None


class Quarantined(TypedDict):
    """Facts that moderators keep from searches; `count`: of all of them."""

    facts: list[QuarantinedFact]
    count: int


class Inbox(TypedDict):
    """The items that wait for people at the desk of `agent`, as `hive_mind.judge.items` has them."""

    items: list[dict[str, Any]]
    count: int
    agent: str


class ItemDecided(TypedDict):
    """`counts`: whether this decision is the one that counts; one that came later is a comment."""

    item: str
    counts: bool


class DeadLetterJson(TypedDict):
    """A message that was put aside for the node `name`, and why. `message` is its text, cut where it is long."""

    id: str
    name: str
    at_ms: int
    attempts: int
    reason: str
    type: str
    sender: str
    message: str


class QueueJson(TypedDict):
    """Messages on the bus for a node; null where the broker does not tell."""

    name: str
    waiting: int | None
    unacknowledged: int | None
    dead: int | None


class DeadLetters(TypedDict):
    """The messages put aside in the hive, oldest first, and those on its bus for each node."""

    letters: list[DeadLetterJson]
    queues: list[QueueJson]


class LettersMoved(TypedDict):
    """Of how many dead letters this was done."""

    count: int


class Exported(TypedDict):
    """Lines of JSON."""

    lines: list[str]


class WouldErase(TypedDict):
    """Texts of the facts, and how many episodes."""

    facts: list[str]
    episodes: int


class Erased(TypedDict):
    """By node its last confirmation, null where one is missing."""

    confirmed: dict[str, str | None]
    members: list[str]


class MessageJson(TypedDict):
    """The agents that a message went to."""

    told: list[str]


class Trust(TypedDict):
    """How far the hive trusts an agent, from 0 to 2."""

    agent: str
    trust: float


class RuleId(TypedDict):
    """A rule of the hive."""

    id: str


class Rules(TypedDict):
    """Rules as JSON, by `rule/` and id."""

    rules: dict[str, str]


class RunName(TypedDict):
    """A run."""

    run: str


class QueenSaid(TypedDict):
    """The reply of a queen, and the order that she asks about; {} for none."""

    text: str
    order: dict[str, Any]


class RunTold(TypedDict):
    """Which message to a run it is: it is heard once `heard` of the run is not below `number`."""

    run: str
    number: int


class RunsJson(TypedDict):
    """The last runs, and how many there are."""

    runs: list[dict[str, Any]]
    count: int


class Tools(TypedDict):
    """Descriptions of tools, by name."""

    tools: dict[str, dict[str, Any]]


class Stats(TypedDict):
    """Counts of an agent's memory (`model.aggregation.MemoryStatistics`); in a hive, also the state of its node."""

    facts: int
    superseded: int
    retracted: int
    confirmed: int
    episodes: int
    entities: int
    sources: int
    vectors: int
    without_vector: int
    embedding: str
    dimension: int
    concepts: list[tuple[str, int]]
    epoch: NotRequired[int]
    outbox: NotRequired[int]
    unconfirmed: NotRequired[int]
    is_busy: NotRequired[bool]
    silent: NotRequired[list[str]]
    figures: NotRequired[dict[str, Any]]
    bus: NotRequired[dict[str, Any]]
