"""The cost of a turn of the clock hand, by the extension."""

import psycopg


def replay_ms(connection: psycopg.Connection) -> float:
    """Of the worst case, in which all usage counts are at their maximum; nothing is moved."""
    row = connection.execute("SELECT ms_per_pass FROM pgbufprobe_sweep_cost(1, 'worst')").fetchone()
    if not row or row[0] is None:
        raise RuntimeError("the replayed search inspected no buffer")
    return row[0]


def live_ms(connection: psycopg.Connection) -> float:
    """Of the server's own search. One victim more than there are buffers to be had at once, wherever those are: for
    that one the hand has to come round."""
    row = connection.execute(
        """SELECT ms_per_pass, passes FROM pgbufprobe_sweep_cost(
               (SELECT sum(buffers) + 1 FROM pgbufprobe_usagecount_histogram()
                WHERE usagecount = 0 OR usagecount IS NULL)::integer, 'live')"""
    ).fetchone()
    # Of a small part of a turn the cost of the search itself would be most.
    if not row or row[0] is None or row[1] < 0.5:
        raise RuntimeError("the server's own search did not turn the hand")
    return row[0]
