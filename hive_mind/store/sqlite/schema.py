"""What a record is on disk: its tables, and the steps from each version of them to the next.

One counter, the tick, numbers whatever is written: a node's `seq` and an edge's are the tick of their first writing, `changed` is
that of a node's last. So a derivation of the record (the graph) asks for everything after the tick it has reached. Rows
of `total` count the nodes of a kind (and edges) and add up their checksums: a row that is missing is noticed, too.
"""

from hive_mind.sqlite.file import FileFormat

EDGE_TOTAL = 0
"""The row of `total` for edges; the others have a node's kind."""

IDENTITY_KEY = "record.identity"
"""Named value: random, made with the record, never shown as the memory's own."""
PROBE_KEY = "record.probe"
"""Named value that is written to find out whether writing works again; neither is it shown."""

FORMAT = FileFormat(
    owner="agent",
    application_id=int.from_bytes(b"hvmr", "big"),
    # Only ever append: a record on somebody's disk may need any of these.
    migrations=(
        (
            "CREATE TABLE node (seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL, changed INTEGER NOT NULL,"
            " body BLOB NOT NULL, sum INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX node_id ON node (id)",
            "CREATE INDEX node_changed ON node (changed)",
            "CREATE TABLE edge (seq INTEGER PRIMARY KEY, relation INTEGER NOT NULL, from_seq INTEGER NOT NULL,"
            " to_seq INTEGER NOT NULL, sum INTEGER NOT NULL)",
            "CREATE UNIQUE INDEX edge_ahead ON edge (from_seq, relation, to_seq)",
            "CREATE INDEX edge_back ON edge (to_seq, relation)",
            "CREATE TABLE vector (seq INTEGER PRIMARY KEY, model TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
            " sum INTEGER NOT NULL, UNIQUE (model, key))",
            "CREATE TABLE named (key TEXT PRIMARY KEY, value TEXT NOT NULL, changed INTEGER NOT NULL, sum INTEGER NOT NULL)",
            "CREATE TABLE total (kind INTEGER PRIMARY KEY, rows INTEGER NOT NULL, sums INTEGER NOT NULL)",
            "INSERT INTO total VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)",
        ),
    ),
    # A commit writes each page it touches whole: with 16 kB pages one fact would write 80 kB instead of 20.
    page_bytes=4096,
    log_bytes=4 << 20,
    when_damaged="save what can be saved with: hive-mind doctor --repair",
    cache_bytes=512 << 10,
)
