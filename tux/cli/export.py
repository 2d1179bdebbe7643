"""The body of ``tux export``."""

from __future__ import annotations

from tux.cli import show
from tux.cli.flags import Flags
from tux.runs.export import check_format, export, exporter


def command(argv: list[str]) -> int:
    """Do what ``tux export`` with these arguments says. Raises what `export` and `exporter` do."""
    about = (
        "Write what another program wants of a trained model, such as pyldavis of one of topics, "
        "or draw a picture of its vectors."
    )
    flags = Flags("tux export", about, "DIR --format NAME --out FILE [--labels FILE]")
    flags.add_argument("dir", metavar="DIR", help="folder of a run")
    flags.add_argument(
        "--format",
        metavar="NAME",
        required=True,
        help="arrays, or another format of the model's app; a wrong name lists them",
    )
    flags.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help=(
            "file to write: .npz or .json; .png, .svg or .pdf for a picture; any name for word2vec"
        ),
    )
    flags.add_argument(
        "--labels",
        metavar="FILE",
        help="colour a picture by labels of vertices: .cmty, lines of id and label, or .mat",
    )
    args = flags.parse(argv)
    show.phase(f"look at {args.dir}")
    check_format(args.dir, args.format)
    write = exporter(args.out, args.format, args.labels, warn=show.warn)
    show.phase(f"make {args.format} of the model")
    arrays = export(args.dir, args.format, warn=show.warn)
    show.phase(f"write {args.out}")
    write(arrays)
    shapes = ", ".join(
        f"{name} ({' x '.join(f'{n:,}' for n in array.shape)})" for name, array in arrays.items()
    )
    show.say(f"{args.out}: {shapes}")
    return 0
