"""The body of ``tux split``: pairs cut in two, to train on and to judge by."""

from __future__ import annotations

from tux.base.text import plural
from tux.cli import show
from tux.cli.flags import INPUT, OUTPUT, REAL, Flags, number

ABOUT = (
    "Write the rows of a table of pairs, such as ratings or clicks, to two files of the same "
    "format: DIR/train and DIR/test, with the ending of DATA."
)
WAYS = """how rows are held out, of these: random, each with the probability --test-share; user, \
all rows of a random share of users; leave-one-out, one row of each user; time, the latest rows \
[default random]"""


def command(argv: list[str]) -> int:
    """Do what ``tux split`` with these arguments says. Raises what `tux.inputs.split.split_files`
    does.
    """
    args = _flags().parse(argv)
    from tux.inputs.held_out_rows import HeldOutRule
    from tux.inputs.split import split_files

    rule = HeldOutRule(args.by, args.test_share, args.time, args.seed)
    made = split_files(args.data, args.out, rule, args.columns, show.phase, show.warn)
    for path, rows in zip((made.train, made.test), made.rows, strict=True):
        show.say(f"{path}: {plural(rows, 'row')}")
    return 0


def _flags() -> Flags:
    flags = Flags("tux split", ABOUT, "DATA --out DIR [flags]")
    data = "table of pairs, text or Parquet; or a folder, or a quoted pattern, of many"
    flags.add("data", data, INPUT, metavar="DATA")
    flags.add("--out", "new folder for the two files", OUTPUT, metavar="DIR", required=True)
    flags.add("--by", WAYS, default="random", metavar="RULE")
    flags.add(
        "--test-share", "share of rows, or of users, to hold out [default 0.1]", REAL, default=None
    )
    flags.add(
        "--time",
        "name, or number from 1, of the column of times: of numbers, or dates as 2026-01-31; "
        "with leave-one-out, the latest row of a user is held out, else a random one",
        metavar="COLUMN",
    )
    flags.add(
        "--columns",
        "names, or numbers from 1, of the columns of users and items [default: found by name]",
        metavar="A,B",
    )
    flags.add("--seed", "another seed makes other draws [default 0]", number(), default=0)
    return flags
