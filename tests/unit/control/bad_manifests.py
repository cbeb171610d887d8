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


def in_spec(name: str, line: str, path: str, words: str) -> Bad:
    """One with this line in its `spec`."""
    return bad(name, within(f"  {line}\n"), (7, f"spec.{path}", words))


def of_agent(name: str, fields: str, path: str, words: str) -> Bad:
    """One whose agent has these fields."""
    return bad(name, one_agent(fields), (6, f"spec.agents[0].{path}", words))


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
    of_agent("a call of Python", "name: !!python/object/apply:os.getcwd []", "name", "tags"),
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
    of_agent("an agent without a name", "domain: ferries", "name", "is missing"),
    of_agent("an agent called on", "name: on", "name", 'quotes: "on"'),
    of_agent("a version for text", "name: ada, env: {VERSION: 1.20}", "env.VERSION", 'quotes: "1.20"'),
    in_spec("a number that is text", 'gossip: {fanout: "2"}', "gossip.fanout", "a whole number"),
    in_spec("an octal number", "gossip: {fanout: 010}", "gossip.fanout", "a whole number"),
    in_spec("half a replica", "topology: {kind: sharded, replicas: 1.5}", "topology.replicas", "a whole number"),
    in_spec("an infinite time", "gossip: {periodS: .inf}", "gossip.periodS", "finite"),
    in_spec("not a number", "lifecycle: {decayPerHour: .nan}", "lifecycle.decayPerHour", "finite"),
    in_spec("a number out of range", "promotion: {confidenceMin: 3}", "promotion.confidenceMin", "at most 1"),
    in_spec("a negative time", "retrieval: {deadlineS: -1}", "retrieval.deadlineS", "more than 0"),
    in_spec("yes as text", 'promotion: {open: "yes"}', "promotion.open", "true or false"),
    of_agent("text for a list", "name: ada, sources: notes.md", "sources", "a list"),
    in_spec("a misspelled section", "topolgy: flat", "topolgy", "did you mean topology?"),
    in_spec("a misspelled kind", "topology: shraded", "topology", "did you mean sharded?"),
    in_spec("a key in snake_case", "gossip: {period_s: 5}", "gossip.period_s", "did you mean periodS?"),
    in_spec("a key one level too high", "replicas: 3", "replicas", "spec.topology.replicas"),
    in_spec("a key of nobody", "zzz: 1", "zzz", "file explain manifest spec"),
    bad(
        "several at once",
        within("  stor: x\n  gossip: {beatS: no}\n"),
        (7, "spec.stor", "store"),
        (8, "spec.gossip.beatS", "a number"),
    ),
)

CONTRADICTIONS = (
    in_spec("two of one name", "  - name: ada", "agents[1].name", "also the name of spec.agents[0]"),
    in_spec("two that differ by a capital", "  - name: Ada", "agents[1].name", "capital letters"),
    bad(
        "a template over an agent",
        within("    - {name: 'ad{n}', count: 3}\n    - name: ad2\n"),
        (8, "spec.agents[2].name", "also"),
    ),
    of_agent("a name with ..", "name: ../../etc", "name", "out of the folder"),
    of_agent("a name with a blank", "name: ada lovelace", "name", "letters, digits"),
    of_agent("count without {n}", "name: ada, count: 3", "name", "ada-{n}"),
    of_agent("{n} without count", "name: 'ada-{n}'", "name", "add count"),
    bad(
        "a hundred thousand agents",
        within("".join(f"    - {{name: 'a{n}-{{n}}', count: 1000}}\n" for n in range(100))),
        (5, "spec.agents", "more than 10,000"),
    ),
    in_spec("groups in a flat hive", "topology: {kind: flat, groups: [{name: a}]}", "topology.groups", "federated"),
    in_spec("shards in a federated hive", "topology: {kind: federated, shards: 3}", "topology.shards", "sharded"),
    of_agent("a group in a flat hive", "name: ada, group: north", "group", "federated"),
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
    in_spec("more shards than agents", "topology: {kind: sharded, shards: 4}", "topology.shards", "lower shards"),
    bad(
        "several processes in one memory",
        within("  bus: memory\n", AGENTS + "    - name: b\n"),
        (8, "spec.bus", "agentsPerProcess"),
    ),
    in_spec("a bus nobody knows", "bus: reddis://127.0.0.1", "bus", "did you mean redis?"),
    in_spec("a bus without a host", "bus: 'redis:'", "bus", "no host"),
    in_spec("a port that is none", "bus: redis://127.0.0.1:port", "bus", "no URL of a bus"),
    in_spec("facts in the clear", "bus: redis://10.0.0.7:6379", "bus", "rediss://"),
    in_spec("a credential for no bus", "bus: {credential: '${env:HOME}'}", "bus.credential", "url is missing"),
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
    in_spec("silent before it may speak", "gossip: {beatS: 5, suspectAfterS: 5}", "gossip.suspectAfterS", "beats"),
    in_spec("a moderator who does not exist", "trust: {moderators: [adda]}", "trust.moderators[0]", "ada?"),
    in_spec("a judge without a model", "judge: {facts: model}", "judge.facts", "none is named"),
    in_spec("a judging model of no provider", "judge: {facts: model, model: gpt}", "judge.model", "provider"),
    in_spec("a model of no provider", "llm: {model: gpt}", "llm.model", "provider"),
    in_spec("a model of embeddings for none", "embedding: {model: bge}", "embedding.model", "name the kind"),
    of_agent("a variable with a dash", "name: ada, env: {MY-VAR: x}", "env.MY-VAR", "underscores"),
    of_agent("a variable of ours", "name: ada, env: {HIVE_MIND_HOME: /x}", "env.HIVE_MIND_HOME", "own"),
    of_agent("an address for a source", "name: ada, sources: ['https://x.org/a']", "sources[0]", "address"),
    of_agent("a source outside", "name: ada, sources: [../secret.txt]", "sources[0]", "out of the manifest"),
    of_agent("a source outside, in disguise", "name: ada, sources: [a/../../b]", "sources[0]", "out of"),
    of_agent("a prompt from outside", "name: ada, prompt: '${file:../x.md}'", "prompt", "out of the manifest"),
    bad(
        "a ranking said twice",
        within("  retrieval: {config: one.json, deadlineS: 1, rrfK: 9}\n"),
        (7, "spec.retrieval.config", "no file is there"),
        (7, "spec.retrieval.rrfK", "said twice"),
    ),
    in_spec("a configuration outside", "retrieval: {config: ../one.json}", "retrieval.config", "out of the manifest"),
    in_spec("open and shut", "promotion: {open: true, holdBackSecrets: true}", "promotion.holdBackSecrets", "remove"),
)

# What must never be repeated in a message.
NEVER_SAID = "hunter2-Xk29vLq8"

SECRETS_AND_REFERENCES = (
    in_spec("a password in a URL", f"bus: rediss://:{NEVER_SAID}@r.example:6379", "bus", "${env:NAME}"),
    bad(
        "a connection string for a URL",
        within(f"  bus: 'Endpoint=sb://town.servicebus.windows.net/;SharedAccessKey={NEVER_SAID}'\n"),
        (7, "spec.bus", "holds a credential"),
        (7, "spec.bus", "HIVE_MIND_BUS_CREDENTIAL"),
    ),
    in_spec("a key written out", f"llm: {{model: 'openai:m', key: {NEVER_SAID}}}", "llm.key", "a reference"),
    bad(
        "a credential written out",
        within(f"  bus: {{url: 'redis://127.0.0.1', credential: {NEVER_SAID}}}\n"),
        (7, "spec.bus.credential", "a reference"),
    ),
    in_spec("a key that is a number", "llm: {model: 'openai:m', key: 123456}", "llm.key", "a reference"),
    of_agent("a password for a process", f"name: ada, env: {{DB_PASSWORD: {NEVER_SAID}}}", "env.DB_PASSWORD", "${env"),
    of_agent("a reference to nothing", "name: ada, prompt: '${env:}'", "prompt", "not a reference"),
    of_agent("a reference of no kind", "name: ada, prompt: '${vault:x}'", "prompt", "not a reference"),
    of_agent("a reference without an end", "name: ada, prompt: '${env:HOME'", "prompt", "not a reference"),
    of_agent("a reference where none is read", "name: ada, domain: '${env:HOME}'", "domain", "no effect"),
)

MISSING = (
    of_agent("a variable that is not set", "name: ada, prompt: '${env:NOBODY_SETS_THIS}'", "prompt", "NOBODY_SETS_THIS"),
    of_agent("a file that is not there", "name: ada, prompt: '${file:nowhere.md}'", "prompt", "nowhere.md"),
    of_agent("a variable of the interpreter", "name: ada, env: {PYTHONPATH: x}", "env.PYTHONPATH", "ENV_ALLOWED="),
    of_agent("a variable of the loader", "name: ada, env: {LD_PRELOAD: x}", "env.LD_PRELOAD", "code"),
    of_agent("a source that is not there", "name: ada, sources: [nowhere.txt]", "sources[0]", "nothing is there"),
    of_agent("a glob that matches nothing", "name: ada, sources: ['*.pdf']", "sources[0]", "nothing is there"),
    in_spec("a configuration that is not there", "retrieval: {config: nowhere.json}", "retrieval.config", "no file is there"),
    in_spec("a configuration that is a folder", "retrieval: {config: ./}", "retrieval.config", "no file is there"),
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
