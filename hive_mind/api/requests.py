"""All that an agent can be asked: a class a request, with its fields, its reply and the doors that are open to it.

An agent of a hive and one that is alone take the same requests; the one that is alone refuses those that need others. They are
carried out by `runtime.calls`. The command line is open to each; other doors are where a request names them.
"""

from typing import Annotated, Any, Literal

from msgspec import field

from hive_mind.api import replies
from hive_mind.api.request import Door, OfFact, Register, Request
from hive_mind.model.aggregation import Kind
from hive_mind.model.bounds import BOUNDS, OF_A_LIST
from hive_mind.model.content import SOURCE, Content
from hive_mind.model.fact import CONFIDENCE
from hive_mind.model.query import LIMIT, METHOD, Method

Limit = Annotated[int, BOUNDS["limit"]]
ListLimit = Annotated[int, OF_A_LIST]
"""0: all."""
Offset = Annotated[int, BOUNDS["offset"]]
Confidence = Annotated[float, BOUNDS["confidence"]]
TrustValue = Annotated[float, BOUNDS["trust"]]

PROGRAMS: tuple[Door, ...] = ("command", "http")
PAGES: tuple[Door, ...] = (*PROGRAMS, "console")
MODELS: tuple[Door, ...] = (*PROGRAMS, "mcp")
EVERYBODY: tuple[Door, ...] = (*PROGRAMS, "console", "mcp")

REQUESTS = Register()
request = REQUESTS.request


@request(gives=replies.LearnedJson, doors=MODELS, reports=True, again=True)
class Learn(Request, frozen=True, kw_only=True):
    """Learn a text: keep what it says. `whole`: it is all that its source says now. `with_lines`: also tell what was kept."""

    text: str
    source: str = SOURCE
    said_at: str = ""
    title: str = ""
    whole: bool = False
    with_lines: bool = False


@request(gives=replies.EmbedsAhead, doors=PROGRAMS, reports=True)
class EmbedAhead(Request, frozen=True, kw_only=True):
    """Embed together what is learned next, as one batch of a model. Without contents: tell whether it would."""

    contents: tuple[Content, ...] = ()


@request(gives=replies.LearnedFiles, doors=PROGRAMS)
class LearnFiles(Request, frozen=True, kw_only=True):
    """Learn files of the machine it runs on, of folders that it may read."""

    paths: tuple[str, ...]


@request(gives=replies.Held, doors=MODELS, again=True)
class Store(Request, frozen=True, kw_only=True):
    """Keep one statement. `local`: for this agent alone."""

    content: str
    concept: str = ""
    confidence: Confidence = CONFIDENCE
    source: str = SOURCE
    said_at: str = ""
    labels: tuple[str, ...] = ()
    local: bool = False


@request(gives=replies.Sources, doors=PROGRAMS, reads=True)
class Sources(Request, frozen=True, kw_only=True):
    """Name what it learned from where: sources whose name begins with `query`."""

    query: str = ""


@request(gives=replies.Former, doors=PROGRAMS)
class Replace(Request, frozen=True, kw_only=True):
    """Take these learned texts for all that a source says: what only earlier ones said is former."""

    source: str
    episodes: tuple[str, ...]


@request(gives=replies.Nothing, doors=PROGRAMS)
class Note(Request, frozen=True, kw_only=True):
    """Keep what a reader says of a source: a digest of its bytes, and what was left out."""

    source: str
    digest: str = ""
    left_out: dict[str, int] = field(default_factory=dict)


@request(gives=replies.Former, doors=PROGRAMS)
class Withdraw(Request, frozen=True, kw_only=True):
    """Take back all that a source said, for it says nothing any more."""

    source: str


@request(gives=replies.FoundReply, doors=PAGES, reads=True)
class Search(Request, frozen=True, kw_only=True):
    """Find facts, the best first. `as_of`: a day or a time, for what was held true then."""

    query: str
    limit: Limit = LIMIT
    method: Method = METHOD
    with_superseded: bool = False
    as_of: str = ""


@request(gives=replies.AskReply, doors=EVERYBODY, reports=True, reads=True)
class Ask(Request, frozen=True, kw_only=True):
    """Answer a question from facts alone, or say that it is not known. `as_of`: see `search`.

    `with_found`: also tell what was found for it, as `search` does.
    """

    question: str
    limit: Limit = LIMIT
    method: Method = METHOD
    as_of: str = ""
    with_found: bool = False


@request(gives=replies.WhyNotJson, doors=PAGES)
class WhyNot(Request, frozen=True, kw_only=True):
    """Why a fact is not in the answer to a question. `text`: its id, or what it says."""

    question: str
    text: str
    limit: Limit = LIMIT
    method: Method = METHOD


@request(gives=replies.Listed, doors=PAGES, reads=True)
class Facts(Request, frozen=True, kw_only=True):
    """List current facts, the newest first, behind the first `offset` of them. `limit` 0: all."""

    limit: ListLimit = LIMIT
    offset: Offset = 0
    local: bool = False
    concept: str = ""


@request(gives=replies.Listed, doors=PAGES, reads=True)
class Named(Request, frozen=True, kw_only=True):
    """Facts whose id begins like `fact_id`, its own former ones and those it took back too."""

    fact_id: str


@request(gives=replies.Collected, doors=PROGRAMS, reads=True)
class Aggregate(Request, frozen=True, kw_only=True):
    """Count facts of the whole hive about `concept`, each once; for a `kind` but count, give the first `limit` of them."""

    kind: Kind
    concept: str = ""
    limit: Limit = LIMIT


@request(gives=replies.WhyJson, doors=EVERYBODY, reads=True)
class Why(OfFact, frozen=True, kw_only=True):
    """Where a fact comes from, how far it went and why not further, what it replaced and what replaced it."""


@request(gives=replies.EvidenceJson, doors=PAGES)
class Evidence(OfFact, frozen=True, kw_only=True):
    """The agents that vouch for a fact, how far they are trusted, which nodes keep it, and what contradicts it."""


@request(gives=replies.ConflictsJson, doors=EVERYBODY, reads=True)
class Conflicts(Request, frozen=True, kw_only=True):
    """Facts that can't both be true, the newest first; at most `limit` pairs (0: all), and how many there are."""

    limit: ListLimit = LIMIT


@request(gives=replies.Stats, doors=EVERYBODY, reads=True)
class Stats(Request, frozen=True, kw_only=True):
    """Tell what it holds and what is under way."""


@request(gives=replies.Shared, doors=EVERYBODY, again=True)
class Correct(OfFact, frozen=True, kw_only=True):
    """Put a newer statement in the place of a fact."""

    content: str
    source: str = SOURCE
    confidence: Confidence = CONFIDENCE
    said_at: str = ""


@request(gives=replies.Shared, doors=EVERYBODY, again=True)
class Retract(OfFact, frozen=True, kw_only=True):
    """Take a fact back; `text` says why, for the log."""

    text: str = ""


@request(gives=replies.HeldBack, doors=PAGES)
class HeldBack(Request, frozen=True, kw_only=True):
    """Current facts of this agent that are not shared, with the reasons, the newest first."""

    limit: Limit = LIMIT


@request(gives=replies.Shared, doors=PAGES)
class Reconsider(OfFact, frozen=True, kw_only=True):
    """Ask the gate again whether a fact of this agent may be shared."""


@request(gives=replies.Quarantined, doors=PAGES)
class Quarantined(Request, frozen=True, kw_only=True):
    """Facts that moderators of the hive keep from searches, and why."""

    limit: Limit = LIMIT


@request(gives=replies.Shared, doors=PAGES)
class Quarantine(OfFact, frozen=True, kw_only=True):
    """Keep a fact from all searches of the hive (`good` false), or let it in again (true); moderators do so."""

    good: bool
    because: str = ""


@request(gives=replies.Exported, doors=PROGRAMS, reads=True)
class Export(Request, frozen=True, kw_only=True):
    """Give everything that this agent holds, as lines of JSON."""


@request(gives=replies.WouldErase, doors=PROGRAMS)
class WouldErase(Request, frozen=True, kw_only=True):
    """Everything an erasure would take from this agent."""

    erasures: tuple[str, ...]


@request(gives=replies.Nothing, doors=PROGRAMS)
class Erase(Request, frozen=True, kw_only=True):
    """Say in the hive what is to be forgotten for good; all nodes carry it out and confirm it."""

    erasures: tuple[str, ...]


@request(gives=replies.Erased, doors=PROGRAMS)
class Erased(Request, frozen=True, kw_only=True):
    """The confirmations that this node knows of: by node the last one, None where one is missing."""

    erasures: tuple[str, ...]


@request(gives=replies.Nothing, doors=PROGRAMS)
class Sleep(Request, frozen=True, kw_only=True):
    """Close database and index until the next request."""


@request(gives=replies.MessageJson, doors=PAGES)
class Tell(Request, frozen=True, kw_only=True):
    """Send a message to an agent, or with `*` to all."""

    to: str
    kind: str = "note"
    text: str = ""


@request(gives=list[dict[str, Any]], doors=PAGES)
class Told(Request, frozen=True, kw_only=True):
    """List the messages to this agent."""


@request(gives=list[dict[str, Any]], doors=PAGES)
class Members(Request, frozen=True, kw_only=True):
    """List the members of the hive that are present."""


@request(gives=replies.Trust, doors=PAGES)
class Trust(Request, frozen=True, kw_only=True):
    """Tell how far the hive trusts an agent; a moderator sets it."""

    to: str
    trust: TrustValue | None = None


@request(gives=replies.Trust, doors=PAGES)
class Rate(Request, frozen=True, kw_only=True):
    """Tell the hive of one more experience with the facts of an agent."""

    to: str
    good: bool


@request(gives=replies.RuleId, doors=PAGES)
class Rule(Request, frozen=True, kw_only=True):
    """Let a rule into the hive, or change it there."""

    rule: dict[str, Any]


@request(gives=replies.Rules, doors=PAGES)
class Rules(Request, frozen=True, kw_only=True):
    """List the rules of the hive."""


@request(gives=replies.DeadLetters, doors=PAGES)
class DeadLetters(Request, frozen=True, kw_only=True):
    """Messages of the hive that could not be handled, oldest first; and those on its bus for each node."""

    limit: Limit = LIMIT


@request(gives=replies.LettersMoved, doors=PAGES)
class Replay(Request, frozen=True, kw_only=True):
    """Deliver dead letters again, each to the node it was put aside for. Those that can't be read stay."""

    letters: tuple[str, ...]


@request(gives=replies.LettersMoved, doors=PAGES)
class Drop(Request, frozen=True, kw_only=True):
    """Forget dead letters for good."""

    letters: tuple[str, ...]


@request(gives=replies.RunName, doors=PROGRAMS)
class Run(Request, frozen=True, kw_only=True):
    """Begin a run."""

    worker: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    run: str = ""
    stream: str = ""


@request(gives=replies.RunsJson, doors=PAGES)
class Runs(Request, frozen=True, kw_only=True):
    """List the last runs. `limit` 0: all."""

    limit: ListLimit = LIMIT


class _OfRun(Request, frozen=True, kw_only=True):
    run: str


@request(gives=dict[str, Any], doors=PAGES)
class RunShown(_OfRun, frozen=True, kw_only=True):
    """Tell how a run is."""


@request(gives=replies.RunName, doors=PAGES)
class RunResumed(_OfRun, frozen=True, kw_only=True):
    """Look whether a run can go on."""


@request(gives=replies.RunName, doors=PAGES)
class RunCancelled(_OfRun, frozen=True, kw_only=True):
    """Give a run up."""

    source: str = SOURCE


@request(gives=replies.RunTold, doors=PAGES)
class RunTold(_OfRun, frozen=True, kw_only=True):
    """Say something to a run, which hears it where one of its nodes talks with people."""

    text: str = ""


@request(gives=replies.QueenSaid, doors=PAGES)
class QueenTold(Request, frozen=True, kw_only=True):
    """Talk with the queen about the runs of the fleet. `inputs`: the `order` of the last reply, which `yes` confirms."""

    text: str
    source: str = SOURCE
    inputs: dict[str, Any] = field(default_factory=dict)


@request(gives=replies.RunName, doors=PROGRAMS)
class Hook(Request, frozen=True, kw_only=True):
    """Somebody outside calls the hook `title`; calls with the same `source` begin one run."""

    title: str
    inputs: dict[str, Any] = field(default_factory=dict)
    source: str = SOURCE


@request(gives=replies.Tools, doors=PROGRAMS)
class Tools(Request, frozen=True, kw_only=True):
    """List the tools that its workers can use."""


@request(gives=replies.Inbox, doors=PAGES)
class Inbox(Request, frozen=True, kw_only=True):
    """The items that wait for a person's decision at the desk of this agent, the oldest first."""

    limit: Limit = LIMIT


@request(gives=replies.ItemDecided, doors=PAGES)
class Decide(Request, frozen=True, kw_only=True):
    """Decide an item of the inbox: `title` is its id, `kind` approve, reject or answer (by `text`), `source` who decides."""

    title: str
    kind: Literal["approve", "answer", "reject"]
    source: str
    text: str = ""
    because: str = ""
