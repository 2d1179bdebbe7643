"""The body of ``tux check-trace``: what the clocks of a run did, beside the rules of the slack.

Heavy imports stand inside the functions: see `tux.cli.main`.
"""

from __future__ import annotations

from tux.cli import show
from tux.cli.flags import INPUT, Flags

ABOUT = (
    "Compare what the clocks of a run did with the rules of Stale Synchronous Parallel: with which "
    "answers clocks started, and which contributions were folded and answered. It is for runs with "
    "--trace-clocks. The exit code is 3 if a rule was broken. Files that were cut or are missing "
    "are named: what they lack is not compared."
)
NAMED = 10
"""Files that were cut or are missing, named at most."""


def command(argv: list[str]) -> int:
    """Do what ``tux check-trace`` with these arguments says. Raises what
    `tux.run_folder.traces.check_traces` does.
    """
    flags = Flags("tux check-trace", ABOUT, "RUN")
    flags.add("run", "folder of a run", INPUT, metavar="RUN")
    args = flags.parse(argv)
    from tux.run_folder.traces import check_traces

    show.phase(f"compare the clocks of {args.run}")
    counts = check_traces(args.run)
    show.pairs(
        {
            "starts of workers": f"{counts.starts:,}",
            "workers": f"{counts.workers:,}",
            "clocks": f"{counts.clocks:,}",
            "events": f"{counts.events:,}",
            "largest staleness": f"{counts.stalest:,}",
        }
    )
    if counts.lacking:
        names = ", ".join(counts.lacking[:NAMED])
        more = f" and {len(counts.lacking) - NAMED:,} more" * (len(counts.lacking) > NAMED)
        show.say(f"cut or missing: {names}{more}")
        show.say("clocks kept to the rules, as far as there are records of them")
    else:
        show.say("all clocks kept to the rules")
    return 0
