"""The cost of a pass of the clock sweep, measured by the extension."""

import psycopg


def replay_ms(connection: psycopg.Connection) -> float:
    """Returns the cost of a replayed pass with all usage counts at their maximum; the clock hand does not move."""
    row = connection.execute("SELECT ms_per_pass FROM pgbufprobe_sweep_cost(1, 'worst')").fetchone()
    if not row or row[0] is None:
        raise RuntimeError("replayed search inspected no buffer")
    return row[0]


def live_ms(connection: psycopg.Connection) -> float:
    """Returns the cost of a pass of the server's own search. It requests one victim more than there are buffers that
    are unused or have usage count 0, so the clock hand has to complete a pass."""
    row = connection.execute(
        """SELECT ms_per_pass, inspected::double precision / buffers
           FROM pgbufprobe_sweep_cost(
               (SELECT sum(buffers) + 1 FROM pgbufprobe_usagecount_histogram()
                WHERE usagecount = 0 OR usagecount IS NULL)::integer, 'live'), pgbufprobe_clock()"""
    ).fetchone()
    # In a small part of a pass, fixed costs would dominate.
    if not row or row[0] is None or row[1] < 0.5:
        raise RuntimeError("server's own search did not move the clock hand by half a pass")
    return row[0]
