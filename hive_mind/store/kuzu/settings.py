"""What can be tuned about a Kuzu database, with the reason for each default.

The values are for many small databases in one process. They do not change what is kept, only when and at what cost.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KuzuSettings:
    """Settings of one database; the defaults suit an agent's memory of up to a few hundred thousand facts."""

    # A cap, not a reservation: Kuzu takes it as needed. A checkpoint needs about three times the log it writes back.
    buffer_pool_bytes: int = 64 << 20
    # Address space kept free for the file. Kuzu's own default of 8 TB allows only 15 databases in one process.
    database_max_bytes: int = 1 << 32
    # More threads per database cost memory per database, and a small database's queries gain nothing from them.
    threads_max: int = 1
    # Raising it saves pauses of 50 to 200 ms while writing; it costs 20 µs per row when a crashed database is opened.
    checkpoint_log_bytes: int = 4 << 20
    # Below it, closing leaves the log to be replayed: cheaper than a checkpoint's 2 MB per table in file and memory.
    checkpoint_at_close_log_bytes: int = 1 << 20
    # Writes that share one commit. A group waits for its slowest member, so more of them make a single write slower.
    group_max_writes: int = 256
    # A group takes no further write from here on: an open transaction is kept in the buffer pool.
    group_max_changes: int = 4096
    # Rows per page when everything is read. Kuzu scans the table for each page, so fewer pages are faster; a page is held in
    # the buffer pool, and writers wait for it, up to 0.2 s.
    page_rows: int = 16_384
    # Ids of episodes and entities remembered so that adding them again asks nothing; some 100 bytes each.
    known_ids_max: int = 10_000
    # How long the trial reading of a suspicious file may take before opening is given up.
    trial_timeout_s: float = 60.0
