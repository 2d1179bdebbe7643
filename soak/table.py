"""The table at the end of a soak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from soak.draws import KINDS, OF_LINKS, PHASES
from soak.rounds import RoundOutcome

BAD = ("wrong", "lost", "hung", "left")


def count_bad(outcomes: Sequence[RoundOutcome]) -> Counter[str]:
    """Count the rounds in which something was wrong, lost, hung or left."""
    return Counter(kind for outcome in outcomes for kind in outcome.faults)


def tabulate(outcomes: Sequence[RoundOutcome], seconds: float) -> str:
    """Return the table of rounds that took so many seconds."""
    total: Counter[str] = sum((outcome.counts for outcome in outcomes), Counter())
    skipped = Counter(outcome.skipped for outcome in outcomes if outcome.skipped)
    kinds = [kind for kind in (*KINDS, *OF_LINKS) if total[kind]]
    bad = count_bad(outcomes)
    rows: list[tuple[str, object]] = [
        ("runs", len(outcomes) - skipped.total()),
        ("hours", f"{seconds / 3600:.2f}"),
        *((f"runs skipped: {why}", count) for why, count in skipped.items()),
        ("faults", sum(total[kind] for kind in kinds)),
        *((f"  {kind}", total[kind]) for kind in kinds),
        *((f"  in phase {phase}", total[f"in {phase}"]) for phase in PHASES),
        *((name, total[name]) for name in ("resumed", "begun anew", "refused")),
        *((kind, bad[kind]) for kind in BAD),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value:>8}" for name, value in rows)
