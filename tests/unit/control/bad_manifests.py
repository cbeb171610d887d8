"""Manifests that can't be applied, each with what has to be said of it: line, path, and words that say what to do."""

from dataclasses import dataclass

HEAD = "apiVersion: hive-mind/v1\nkind: Hive\nmetadata: {name: fleet}\nspec:\n"
AT_TRIGGER = "spec.agents[0].triggers[0]"
AGENTS = "  agents:\n    - name: ada\n"


@dataclass(frozen=True)
class Bad:
    """`says`: line, path and words of every problem, in order."""

    name: str
    text: str | bytes
    says: tuple[tuple[int, str, str], ...]

    @property
    def bytes(self) -> bytes:
        """As it lies on a disk."""
        return self.text if isinstance(self.text, bytes) else self.text.encode()


def bad(name: str, text: str | bytes, *says: tuple[int, str, str]) -> Bad:
    return Bad(name, text, says)


def within(spec: str, agents: str = AGENTS) -> str:
    """A manifest with one agent; what is in `spec` begins in line 7."""
    return HEAD + agents + spec


def one_agent(fields: str) -> str:
    """A manifest whose agent has these fields in line 6."""
    return HEAD + "  agents:\n    - {" + fields + "}\n"


_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
_MERGE_BOMB = "m0: &m0 {k: v}\n" + "".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 10)}]}}\n" for n in range(1, 12))

NO_YAML = (
    bad("an empty file", "", (1, "manifest", "file init manifest")),
    bad("nothing but a comment", "# later\n", (1, "manifest", "file init manifest")),
    bad("a list", "- apiVersion: hive-mind/v1\n", (1, "manifest", "has to be a mapping")),
    bad("a word", "\nhello\n", (2, "manifest", "has to be a mapping")),
    bad("a tab for indentation", HEAD + "\tagents: []\n", (5, "manifest", "use spaces")),
    bad("a tab behind a key", HEAD + "  agents:\n    - name:\tada\n", (6, "manifest", "use spaces")),
    bad("two documents", HEAD + AGENTS + "---\n" + HEAD, (7, "manifest", "one manifest in a file")),
    bad(
        "bytes that are no UTF-8", b"apiVersion: hive-mind/v1\nkind: Hive\nmetadata: {name: caf\xe9}\n", (3, "manifest", "UTF-8")
    ),
    bad("a control character", HEAD + "  \x07agents: []\n", (5, "manifest", "control character")),
    bad("a quote that is never closed", HEAD + "  agents:\n    - name: 'ada\n", (6, "manifest", "no end")),
    bad("a bracket that is never closed", HEAD + "  agents: [{name: ada}\n", (6, "manifest", "bracket")),
    bad("wrong indentation", HEAD + "  agents:\n    - name: ada\n   store: kuzu\n", (7, "manifest", "indentation")),
    bad("a colon too many", within("  bus: memory:\n"), (7, "manifest", "quotes")),
    bad("an alias without its anchor", within("  llm: *later\n"), (7, "manifest", "anchor")),
    bad("a billion laughs", _BOMB, (5, "manifest", "more than 50,000 values")),
    bad("a billion laughs by merging", _MERGE_BOMB, (6, "manifest", "more than 50,000 values")),
    bad("an alias of itself", HEAD + "  agents: &agents\n    - *agents\n", (5, "manifest", "never end")),
    bad("a mapping merged into itself", HEAD + "  agents:\n    - &me {name: ada, <<: *me}\n", (6, "manifest", "never end")),
    bad("ten thousand brackets", "[" * 10_000, (1, "manifest", "nested deeper")),
    bad("fifty levels", "".join(f"{' ' * n}a:\n" for n in range(50)), (30, "manifest", "nested deeper")),
    bad("a megabyte", "# " + "x" * 1_000_000, (0, "manifest", "larger than 1,000,000 bytes")),
)

WRONG_FORM = (
    bad("a call of Python", one_agent("name: !!python/object/apply:os.getcwd []"), (6, "spec.agents[0].name", "tags")),
    bad("a key twice", within("  store: kuzu\n  store: memory\n"), (8, "spec.store", "first in line 7")),
    bad("a list for a key", within("  ? [a]\n  : b\n"), (7, "spec", "a key is a list")),
    bad("a list merged", within("  <<: [1]\n"), (7, "spec", "<<")),
    bad("no version", "kind: Hive\nmetadata: {name: x}\nspec:\n" + AGENTS, (1, "apiVersion", "is missing")),
    bad("another version", HEAD.replace("v1", "v2") + AGENTS, (1, "apiVersion", "has to be hive-mind/v1")),
    bad("another kind", HEAD.replace("Hive\n", "Deployment\n") + AGENTS, (2, "kind", "has to be Hive")),
    bad("no name", HEAD.replace("{name: fleet}", "{}") + AGENTS, (3, "metadata.name", "is missing")),
    bad("a name with capitals", HEAD.replace("fleet", "Fleet") + AGENTS, (3, "metadata.name", "lower-case")),
    bad("a name that leaves the folder", HEAD.replace("fleet", "../fleet") + AGENTS, (3, "metadata.name", "lower-case")),
    bad("no agents", HEAD + "  store: kuzu\n", (4, "spec.agents", "is missing")),
    bad("an empty list of agents", HEAD + "  agents: []\n", (5, "spec.agents", "at least one")),
    bad("agents that are commented out", HEAD + "  agents:\n    # - name: ada\n", (5, "spec.agents", "no value")),
    bad("agents by name", HEAD + "  agents:\n    ada: {}\n", (5, "spec.agents", "a list")),
    bad("an agent that is a word", HEAD + "  agents:\n    - ada\n", (6, "spec.agents[0]", "a section")),
    bad("an agent without a name", one_agent("domain: ferries"), (6, "spec.agents[0].name", "is missing")),
    bad("an agent called on", one_agent("name: on"), (6, "spec.agents[0].name", 'quotes: "on"')),
    bad("a version for text", one_agent("name: ada, env: {VERSION: 1.20}"), (6, "spec.agents[0].env.VERSION", 'quotes: "1.20"')),
    bad("a number that is text", within('  gossip: {fanout: "2"}\n'), (7, "spec.gossip.fanout", "a whole number")),
    bad("an octal number", within("  gossip: {fanout: 010}\n"), (7, "spec.gossip.fanout", "a whole number")),
    bad(
        "half a replica", within("  topology: {kind: sharded, replicas: 1.5}\n"), (7, "spec.topology.replicas", "a whole number")
    ),
    bad("an infinite time", within("  gossip: {periodS: .inf}\n"), (7, "spec.gossip.periodS", "finite")),
    bad("not a number", within("  lifecycle: {decayPerHour: .nan}\n"), (7, "spec.lifecycle.decayPerHour", "finite")),
    bad("a number out of range", within("  promotion: {confidenceMin: 3}\n"), (7, "spec.promotion.confidenceMin", "at most 1")),
    bad("a negative time", within("  retrieval: {deadlineS: -1}\n"), (7, "spec.retrieval.deadlineS", "more than 0")),
    bad("yes as text", within('  promotion: {open: "yes"}\n'), (7, "spec.promotion.open", "true or false")),
    bad("text for a list", one_agent("name: ada, sources: notes.md"), (6, "spec.agents[0].sources", "a list")),
    bad("a misspelled section", within("  topolgy: flat\n"), (7, "spec.topolgy", "did you mean topology?")),
    bad("a misspelled kind", within("  topology: shraded\n"), (7, "spec.topology", "did you mean sharded?")),
    bad("a key in snake_case", within("  gossip: {period_s: 5}\n"), (7, "spec.gossip.period_s", "did you mean periodS?")),
    bad("a key one level too high", within("  replicas: 3\n"), (7, "spec.replicas", "spec.topology.replicas")),
    bad("a key of nobody", within("  zzz: 1\n"), (7, "spec.zzz", "file explain manifest spec")),
    bad(
        "several at once",
        within("  stor: x\n  gossip: {beatS: no}\n"),
        (7, "spec.stor", "store"),
        (8, "spec.gossip.beatS", "a number"),
    ),
)

CONTRADICTIONS = (
    bad("two of one name", within("    - name: ada\n"), (7, "spec.agents[1].name", "also the name of spec.agents[0]")),
    bad("two that differ by a capital", within("    - name: Ada\n"), (7, "spec.agents[1].name", "capital letters")),
    bad(
        "a template over an agent",
        within("    - {name: 'ad{n}', count: 3}\n    - name: ad2\n"),
        (8, "spec.agents[2].name", "also"),
    ),
    bad("a name with ..", one_agent("name: ../../etc"), (6, "spec.agents[0].name", "out of the folder")),
    bad("a name with a blank", one_agent("name: ada lovelace"), (6, "spec.agents[0].name", "letters, digits")),
    bad("count without {n}", one_agent("name: ada, count: 3"), (6, "spec.agents[0].name", "ada-{n}")),
    bad("{n} without count", one_agent("name: 'ada-{n}'"), (6, "spec.agents[0].name", "add count")),
    bad(
        "a hundred thousand agents",
        within("".join(f"    - {{name: 'a{n}-{{n}}', count: 1000}}\n" for n in range(100))),
        (5, "spec.agents", "more than 10,000"),
    ),
    bad(
        "groups in a flat hive",
        within("  topology: {kind: flat, groups: [{name: a}]}\n"),
        (7, "spec.topology.groups", "federated"),
    ),
    bad(
        "shards in a federated hive", within("  topology: {kind: federated, shards: 3}\n"), (7, "spec.topology.shards", "sharded")
    ),
    bad("a group in a flat hive", one_agent("name: ada, group: north"), (6, "spec.agents[0].group", "federated")),
    bad(
        "a group that does not exist",
        HEAD
        + "  topology: {kind: federated, groups: [{name: north}]}\n  agents:\n    - {name: a, group: nroth}\n    - name: b\n",
        (7, "spec.agents[0].group", "did you mean north?"),
    ),
    bad(
        "a group twice",
        within("  topology: {kind: federated, groups: [{name: n}, {name: n}]}\n", AGENTS + "    - name: b\n"),
        (8, "spec.topology.groups[1].name", "twice"),
    ),
    bad(
        "a group without agents",
        within("  topology: {kind: federated, groups: [{name: n}, {name: s}]}\n"),
        (7, "spec.topology.groups[1]", "no agent is left"),
    ),
    bad(
        "more replicas than nodes",
        within("  topology: {kind: sharded, replicas: 4}\n", AGENTS + "    - name: b\n"),
        (8, "spec.topology.replicas", "lower replicas"),
    ),
    bad(
        "more shards than agents", within("  topology: {kind: sharded, shards: 4}\n"), (7, "spec.topology.shards", "lower shards")
    ),
    bad(
        "several processes in one memory",
        within("  bus: memory\n", AGENTS + "    - name: b\n"),
        (8, "spec.bus", "agentsPerProcess"),
    ),
    bad("a bus nobody knows", within("  bus: reddis://127.0.0.1\n"), (7, "spec.bus", "did you mean redis?")),
    bad("a bus without a host", within("  bus: 'redis:'\n"), (7, "spec.bus", "no host")),
    bad("a port that is none", within("  bus: redis://127.0.0.1:port\n"), (7, "spec.bus", "no URL of a bus")),
    bad("facts in the clear", within("  bus: redis://10.0.0.7:6379\n"), (7, "spec.bus", "rediss://")),
    bad("a credential for no bus", within("  bus: {credential: '${env:HOME}'}\n"), (7, "spec.bus.credential", "url is missing")),
    bad(
        "a namespace of two kinds",
        within(
            "  bus:\n"
            "    url: servicebus://works.servicebus.windows.net/hive\n"
            "    searches: eventhubs://works.servicebus.windows.net/searches\n"
        ),
        (9, "spec.bus.searches", "both Service Bus and Event Hubs"),
    ),
    bad(
        "a cloud without an image",
        within("  platform: kubernetes\n  bus: rediss://r.example:6379\n"),
        (7, "spec.platform", "image"),
    ),
    bad("a cloud without a bus", within("  platform: {kind: kubernetes, image: a/b}\n"), (4, "spec.bus", "need a bus")),
    bad(
        "a cloud that asks itself",
        within("  platform: {kind: containerapps, image: a/b}\n  bus: redis://127.0.0.1:6379\n"),
        (8, "spec.bus", "each container itself"),
    ),
    bad(
        "silent before it may speak",
        within("  gossip: {beatS: 5, suspectAfterS: 5}\n"),
        (7, "spec.gossip.suspectAfterS", "beats"),
    ),
    bad("a moderator who does not exist", within("  trust: {moderators: [adda]}\n"), (7, "spec.trust.moderators[0]", "ada?")),
    bad("a judge without a model", within("  judge: {facts: model}\n"), (7, "spec.judge.facts", "none is named")),
    bad("a judging model of no provider", within("  judge: {facts: model, model: gpt}\n"), (7, "spec.judge.model", "provider")),
    bad("a model of no provider", within("  llm: {model: gpt}\n"), (7, "spec.llm.model", "provider")),
    bad("a model of embeddings for none", within("  embedding: {model: bge}\n"), (7, "spec.embedding.model", "name the kind")),
    bad("a variable with a dash", one_agent("name: ada, env: {MY-VAR: x}"), (6, "spec.agents[0].env.MY-VAR", "underscores")),
    bad("a variable of ours", one_agent("name: ada, env: {HIVE_MIND_HOME: /x}"), (6, "spec.agents[0].env.HIVE_MIND_HOME", "own")),
    bad(
        "an address for a source",
        one_agent("name: ada, sources: ['https://x.org/a']"),
        (6, "spec.agents[0].sources[0]", "address"),
    ),
    bad(
        "a source outside",
        one_agent("name: ada, sources: [../secret.txt]"),
        (6, "spec.agents[0].sources[0]", "out of the manifest"),
    ),
    bad(
        "a source outside, in disguise", one_agent("name: ada, sources: [a/../../b]"), (6, "spec.agents[0].sources[0]", "out of")
    ),
    bad(
        "a prompt from outside",
        one_agent("name: ada, prompt: '${file:../x.md}'"),
        (6, "spec.agents[0].prompt", "out of the manifest"),
    ),
    bad(
        "a ranking said twice",
        within("  retrieval: {config: one.json, deadlineS: 1, rrfK: 9}\n"),
        (7, "spec.retrieval.config", "no file is there"),
        (7, "spec.retrieval.rrfK", "said twice"),
    ),
    bad(
        "a configuration outside",
        within("  retrieval: {config: ../one.json}\n"),
        (7, "spec.retrieval.config", "out of the manifest"),
    ),
    bad(
        "open and shut",
        within("  promotion: {open: true, holdBackSecrets: true}\n"),
        (7, "spec.promotion.holdBackSecrets", "remove"),
    ),
)

# What must never be repeated in a message.
NEVER_SAID = "hunter2-Xk29vLq8"

SECRETS_AND_REFERENCES = (
    bad("a password in a URL", within(f"  bus: rediss://:{NEVER_SAID}@r.example:6379\n"), (7, "spec.bus", "${env:NAME}")),
    bad(
        "a connection string for a URL",
        within(f"  bus: 'Endpoint=sb://town.servicebus.windows.net/;SharedAccessKey={NEVER_SAID}'\n"),
        (7, "spec.bus", "holds a credential"),
        (7, "spec.bus", "HIVE_MIND_BUS_CREDENTIAL"),
    ),
    bad("a key written out", within(f"  llm: {{model: 'openai:m', key: {NEVER_SAID}}}\n"), (7, "spec.llm.key", "a reference")),
    bad(
        "a credential written out",
        within(f"  bus: {{url: 'redis://127.0.0.1', credential: {NEVER_SAID}}}\n"),
        (7, "spec.bus.credential", "a reference"),
    ),
    bad("a key that is a number", within("  llm: {model: 'openai:m', key: 123456}\n"), (7, "spec.llm.key", "a reference")),
    bad(
        "a password for a process",
        one_agent(f"name: ada, env: {{DB_PASSWORD: {NEVER_SAID}}}"),
        (6, "spec.agents[0].env.DB_PASSWORD", "${env"),
    ),
    bad("a reference to nothing", one_agent("name: ada, prompt: '${env:}'"), (6, "spec.agents[0].prompt", "not a reference")),
    bad("a reference of no kind", one_agent("name: ada, prompt: '${vault:x}'"), (6, "spec.agents[0].prompt", "not a reference")),
    bad(
        "a reference without an end",
        one_agent("name: ada, prompt: '${env:HOME'"),
        (6, "spec.agents[0].prompt", "not a reference"),
    ),
    bad(
        "a reference where none is read", one_agent("name: ada, domain: '${env:HOME}'"), (6, "spec.agents[0].domain", "no effect")
    ),
)

MISSING = (
    bad(
        "a variable that is not set",
        one_agent("name: ada, prompt: '${env:NOBODY_SETS_THIS}'"),
        (6, "spec.agents[0].prompt", "NOBODY_SETS_THIS"),
    ),
    bad(
        "a file that is not there",
        one_agent("name: ada, prompt: '${file:nowhere.md}'"),
        (6, "spec.agents[0].prompt", "nowhere.md"),
    ),
    bad(
        "a variable of the interpreter",
        one_agent("name: ada, env: {PYTHONPATH: x}"),
        (6, "spec.agents[0].env.PYTHONPATH", "ENV_ALLOWED="),
    ),
    bad("a variable of the loader", one_agent("name: ada, env: {LD_PRELOAD: x}"), (6, "spec.agents[0].env.LD_PRELOAD", "code")),
    bad(
        "a source that is not there",
        one_agent("name: ada, sources: [nowhere.txt]"),
        (6, "spec.agents[0].sources[0]", "nothing is there"),
    ),
    bad(
        "a glob that matches nothing",
        one_agent("name: ada, sources: ['*.pdf']"),
        (6, "spec.agents[0].sources[0]", "nothing is there"),
    ),
    bad(
        "a configuration that is not there",
        within("  retrieval: {config: nowhere.json}\n"),
        (7, "spec.retrieval.config", "no file is there"),
    ),
    bad(
        "a configuration that is a folder",
        within("  retrieval: {config: ./}\n"),
        (7, "spec.retrieval.config", "no file is there"),
    ),
)


def trigger(fields: str) -> str:
    """A manifest whose agent runs something, and has one trigger of these fields, in line 6."""
    return one_agent(f"name: ada, worker: incident-review, triggers: [{{{fields}}}]")


WORK = (
    bad(
        "encryption for members that nobody knows",
        within("  identity: {mode: warn, encryption: true}\n"),
        (7, "spec.identity.encryption", "is for members that prove who they are"),
    ),
    bad(
        "a trigger that is two", trigger("everyS: 60, hook: mail"), (6, AT_TRIGGER, "needs one of everyS, cron, hook and events")
    ),
    bad("events of no address", trigger("events: alarms.example.org"), (6, f"{AT_TRIGGER}.events", "is not an address")),
    bad(
        "a token that everybody on the way can read",
        trigger("events: 'http://x.example/a', token: '${file:/etc/hostname}'"),
        (6, f"{AT_TRIGGER}.events", "would show its token to everybody on the way; write https"),
    ),
    bad(
        "a token that is written out",
        trigger("events: 'https://x.example/a', token: abc"),
        (6, f"{AT_TRIGGER}.token", "has to be a reference"),
    ),
    bad(
        "a token for nobody",
        trigger("hook: mail, token: '${file:/etc/hostname}'"),
        (6, f"{AT_TRIGGER}.token", "is for events; a hook has the token of its process"),
    ),
)

EVERY = (*NO_YAML, *WRONG_FORM, *CONTRADICTIONS, *SECRETS_AND_REFERENCES, *MISSING, *WORK)
