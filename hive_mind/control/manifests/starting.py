"""A first manifest to go on from: it can be applied as it is, and its comments say what else there is."""

from hive_mind.hive.topology.spec import SPECS, TopologyName, reads

_HEAD = """\
# A fleet for hive-mind. Look at what would happen, then let it happen:
#     hive-mind plan -f {file}
#     hive-mind apply -f {file}
# Other fields: hive-mind file explain manifest
apiVersion: hive-mind/v1
kind: Hive
metadata:
  name: {name}
spec:
"""

_ALONE = "Every agent has its own memory and nobody shares."

_AGENTS = """\
  agents:
    - name: ada{group_of_ada}
      # sources: [notes/*.md]       # files, folders and globs to learn, relative to this file
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
    has_groups = reads(topology, "groups")
    agents = _AGENTS.format(
        group_of_ada="\n      group: north" if has_groups else "",
        group_of_readers="\n      group: south" if has_groups else "",
    )
    return _HEAD.format(name=name, file=file) + _topology(topology) + agents + _TAIL


def _topology(name: TopologyName) -> str:
    about, example = (SPECS[name].about, SPECS[name].example) if name in SPECS else (_ALONE, "")
    return f"  # {name}: {about}\n" + (f"  topology:\n    kind: {name}\n{example}" if example else f"  topology: {name}\n")
