"""The loops of mirrors and masters over rows, in machine code: `rows` are row numbers (r,), fields
are arrays (n, width), and what is packed (r, width).
"""

from __future__ import annotations

from tux.base.compiled import cached_njit


@cached_njit
def take_changes(shown, base, pending, unacked, rows, out, dirty):  # type: ignore[no-untyped-def]
    """Copy the changes of `rows` since the last send to `out`, and flag them in `dirty`. They are
    pending from now on. Return their number.
    """
    changes = 0
    for j in range(len(rows)):
        r, some = rows[j], 0
        for k in range(shown.shape[1]):
            change = shown[r, k] - base[r, k]
            out[j, k] = change
            dirty[j, k] = change != 0
            some += change != 0
        if some:  # often most rows have none: then three arrays are neither read nor written
            changes += some
            for k in range(shown.shape[1]):
                unacked[r, k] += dirty[j, k]
                pending[r, k] += out[j, k]
                base[r, k] = shown[r, k]
    return changes


@cached_njit
def take_deltas(shown, identity, rows, out, dirty):  # type: ignore[no-untyped-def]
    """Copy the deltas of `rows` to `out`, flag in `dirty` those that are not the `identity`, and
    reset them to it. Return the number of those flagged.
    """
    changes = 0
    for j in range(len(rows)):
        r = rows[j]
        for k in range(shown.shape[1]):
            out[j, k] = shown[r, k]
            dirty[j, k] = shown[r, k] != identity
            changes += shown[r, k] != identity
            shown[r, k] = identity
    return changes


@cached_njit
def acknowledge(pending, unacked, rows, changes):  # type: ignore[no-untyped-def]
    """Remove `changes` from those pending, as the masters' values now contain them."""
    for j in range(len(rows)):
        r = rows[j]
        for k in range(pending.shape[1]):
            if changes[j, k] != 0:
                unacked[r, k] -= 1
                # To the bit, whatever the sum of several has been rounded to.
                pending[r, k] = pending[r, k] - changes[j, k] if unacked[r, k] else 0


@cached_njit
def put_master_values(shown, base, pending, rows, masters):  # type: ignore[no-untyped-def]
    """Replace the masters' values of `rows`. Pending and unsent changes stay added to them."""
    for j in range(len(rows)):
        r = rows[j]
        for k in range(shown.shape[1]):
            below = masters[j, k] + pending[r, k]
            unsent = shown[r, k] - base[r, k]
            # Where nothing is unsent the master's value must arrive to the bit.
            shown[r, k] = below + unsent if unsent != 0 else below
            base[r, k] = below


@cached_njit
def put_values(shown, rows, values):  # type: ignore[no-untyped-def]
    """Compute shown[rows] = values."""
    for j in range(len(rows)):
        for k in range(shown.shape[1]):
            shown[rows[j], k] = values[j, k]


@cached_njit
def add(own, versions, version, rows, changes):  # type: ignore[no-untyped-def]
    """Compute own[rows] += changes. Elements with a change become dirty."""
    for j in range(len(rows)):
        r = rows[j]
        for k in range(own.shape[1]):
            own[r, k] += changes[j, k]
            if changes[j, k] != 0:
                versions[r, k] = version


@cached_njit
def add_deltas(own, rows, changes):  # type: ignore[no-untyped-def]
    """Compute own[rows] += changes."""
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            own[rows[j], k] += changes[j, k]


@cached_njit
def copy_rows(own, rows, out):  # type: ignore[no-untyped-def]
    """Copy `rows` to `out`."""
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            out[j, k] = own[rows[j], k]


@cached_njit
def mark_changed(versions, version, rows, now, before):  # type: ignore[no-untyped-def]
    """Mark as dirty the elements of `rows` of `now` that differ from `before` (r, w). Return their
    number.
    """
    changes = 0
    for j in range(len(rows)):
        r = rows[j]
        for k in range(now.shape[1]):
            if now[r, k] != before[j, k]:
                versions[r, k] = version
                changes += 1
    return changes


@cached_njit
def compare_rows(own, rows, before, dirty):  # type: ignore[no-untyped-def]
    """Replace `before` by `rows` of `own`, and flag in `dirty` each element that differs. Return
    the number of these.
    """
    changes = 0
    for j in range(len(rows)):
        r = rows[j]
        for k in range(own.shape[1]):
            dirty[j, k] = own[r, k] != before[j, k]
            changes += own[r, k] != before[j, k]
            before[j, k] = own[r, k]
    return changes


@cached_njit
def read_rows(own, versions, version, rows, out, dirty):  # type: ignore[no-untyped-def]
    """Copy `rows` to `out`, and flag their dirty elements in `dirty`. Return how many are dirty."""
    changes = 0
    for j in range(len(rows)):
        r = rows[j]
        for k in range(own.shape[1]):
            out[j, k] = own[r, k]
            dirty[j, k] = versions[r, k] == version
            changes += versions[r, k] == version
    return changes
