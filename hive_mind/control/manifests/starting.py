"""A first manifest to go on from: it can be applied as it is, and its comments say what else there is."""

from hive_mind.hive.topology.spec import TopologyName

_HEAD = """\
# A fleet for hive-mind. Look at what would happen, then let it happen:
#     hive-mind plan -f {file}
#     hive-mind apply -f {file}
# What else can stand here: hive-mind manifest explain
apiVersion: hive-mind/v1
kind: Hive
metadata:
  name: {name}
spec:
"""

_TOPOLOGIES: dict[TopologyName, str] = {
    "single": """\
  # single: every agent has its own memory and nobody shares.
  topology: single
""",
    "flat": """\
  # flat: everybody keeps everything that is shared. The simplest, up to some dozen agents.
  topology: flat
""",
    "federated": """\
  # federated: groups keep their own facts; what is very sure is copied to every group.
  topology:
    kind: federated
    broadcastThreshold: 0.9
    groups:
      - name: north
        domain: [harbour, ferry]    # such questions go there first
      - name: south
        domain: [pumps]
""",
    "sharded": """\
  # sharded: every fact is kept by a few nodes only. For many agents and many facts.
  topology:
    kind: sharded
    replicas: 2                     # copies of each fact; so many nodes but one may fail
""",
}

_AGENTS = """\
  agents:
    - name: ada{group_of_ada}
      # sources: [notes/*.md]       # files, folders and globs to learn, seen from this file
    - name: reader-{{n}}              # reader-1, reader-2
      count: 2{group_of_readers}
"""

_TAIL = """\
  # Several processes need a bus. Left out, they get a private Redis server, if redis-server is installed.
  # bus: redis://127.0.0.1:6379
  embedding:
    kind: none                      # keywords only; sentence_transformers finds by meaning
  # llm:
  #   model: openai:gpt-5-mini      # without one, agents read and answer by quoting
  #   key: ${env:OPENAI_API_KEY}    # a secret is named here and never written out
"""


def first_manifest(topology: TopologyName, name: str, file: str) -> str:
    """The text of it."""
    is_federated = topology == "federated"
    agents = _AGENTS.format(
        group_of_ada="\n      group: north" if is_federated else "",
        group_of_readers="\n      group: south" if is_federated else "",
    )
    return _HEAD.format(name=name, file=file) + _TOPOLOGIES[topology] + agents + _TAIL
