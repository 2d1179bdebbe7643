"""``tux generate``: ratings, a corpus, samples, points or a graph with known truth."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from tux.base.disk import check_folder
from tux.base.errors import UsageError
from tux.base.text import did_you_mean, plural
from tux.cli import show
from tux.cli.flags import OUTPUT, REAL, Flags, number


def generate(argv: list[str]) -> int:
    """Do what the arguments of ``tux generate`` say."""
    kinds = {
        "ratings": _generate_ratings,
        "corpus": _generate_corpus,
        "clicks": _generate_clicks,
        "clusters": _generate_clusters,
        "graph": _generate_graph,
    }
    if not argv or argv[0] not in kinds:
        if argv and argv[0] in ("-h", "--help"):
            show.say(
                f"usage: tux generate {'|'.join(kinds)} [flags] --out FILE    tux generate ratings "
                "--help"
            )
            return 0
        named = argv[0] if argv and not argv[0].startswith("-") else ""
        near = did_you_mean(named, kinds)
        raise UsageError(
            f"tux generate makes no data called {named}"
            if named
            else "tux generate: name the kind of data",
            do=f"{near}name one of: {', '.join(kinds)}",
        )
    return kinds[argv[0]](argv[1:])


HELD_OUT = 0.1  # of the rows, where there is a file for them and no share is named
TABLES = "file to write: .parquet, .csv or .tsv (corpus: or .txt), text also packed (.gz, .zst)"


def _parse_sizes(flags: Flags, argv: list[str], out: str = TABLES, **sizes: int) -> Namespace:
    """Parse flags of sizes, --seed and --out."""
    for name, default in sizes.items():
        flags.add(
            f"--{name}", f"number of {name} [default {default:,}]", number(1), default=default
        )
    flags.add(
        "--seed", "another seed makes other data of the same shape [default 0]", number(), default=0
    )
    flags.add("--out", out, OUTPUT, required=True)
    args = flags.parse(argv)
    for name in ("out", "test", "vocab"):
        if path := getattr(args, name, None):
            check_folder(path)
    return args


def _add_held_out(flags: Flags, name: str) -> None:
    """Declare the flags of what is held out; `name` says of what."""
    flags.add("--test", f"write {name} held out to this file", OUTPUT)
    flags.add("--test-share", f"share of {name} to hold out [default 0.1 with --test]", REAL)


def _held_out_share(args: Namespace) -> float:
    """Return the share to hold out. UsageError for a share without a file, or that is none."""
    if args.test_share is None:
        return HELD_OUT if args.test else 0.0
    if not args.test:
        raise UsageError("--test-share without --test FILE", do="name the file for it with --test")
    if not 0 < args.test_share < 1:
        raise UsageError(
            f"--test-share is {args.test_share:g}", do="give a share above 0 and below 1"
        )
    return float(args.test_share)


def _tell_files(args: Namespace, rows: Sequence[int], name: str) -> None:
    """Print the number of rows of the files that were written; `name` says of what."""
    for path, count in zip((args.out, args.test), rows, strict=True):
        if path:
            show.say(f"{path}: {count:,} {name}")


def _generate_ratings(argv: list[str]) -> int:
    flags = Flags(
        "tux generate ratings",
        "Ratings of items by users, with planted factors and power-law degrees.",
        "[flags] --out FILE",
    )
    flags.add("--rank", "rank of the truth [default 8]", number(1), default=8)
    flags.add(
        "--noise", "standard deviation of the noise, in stars [default 0.5]", REAL, default=0.5
    )
    _add_held_out(flags, "ratings")
    args = _parse_sizes(flags, argv, users=2_000, items=1_000, ratings=100_000)
    from tux.synthetic.ratings import ratings, write_ratings

    show.phase("make ratings")
    data = ratings(
        args.users,
        args.items,
        args.ratings,
        rank=args.rank,
        noise=args.noise,
        test_share=_held_out_share(args),
        seed=args.seed,
    )
    show.phase(f"write {args.out}")
    rows = write_ratings(data, args.out, args.test)
    _tell_files(args, rows, "ratings")
    show.say(f"the truth itself has an RMSE of {data.floor:.4f}")
    return 0


def _generate_corpus(argv: list[str]) -> int:
    flags = Flags(
        "tux generate corpus",
        "Documents drawn from known topics by the model of LDA.",
        "[flags] --out FILE",
    )
    flags.add("--vocabulary", "words that may occur [default 1,000]", number(1), default=1_000)
    flags.add("--alpha", "prior of a document's topics, per topic [default 0.1]", REAL, default=0.1)
    flags.add(
        "--beta", "prior of a topic's words, the mean per word [default 0.05]", REAL, default=0.05
    )
    flags.add("--vocab", "write the words' names to this file, one a line", OUTPUT)
    args = _parse_sizes(flags, argv, documents=500, topics=10, tokens=50_000)
    from tux.synthetic.corpus import corpus, form_ending, write_corpus

    form_ending(args.out, args.vocab)
    sizes = (args.documents, args.vocabulary, args.topics, args.tokens)
    show.phase("make a corpus")
    data = corpus(*sizes, alpha=args.alpha, beta=args.beta, seed=args.seed)
    show.phase(f"write {args.out}")
    write_corpus(data, args.out, args.vocab)
    show.say(
        f"{args.out}: {plural(args.documents, 'document')}, {plural(len(data), 'pair')} of "
        f"document and word, {plural(args.tokens, 'token')}"
    )
    return 0


def _generate_clicks(argv: list[str]) -> int:
    flags = Flags(
        "tux generate clicks",
        "Samples with labels drawn from a sparse model of logistic regression.",
        "[flags] --out FILE",
    )
    flags.add("--entries", "features of a sample, on average [default 30]", number(1), default=30)
    flags.add(
        "--weights", "true weights that are not 0 [default a tenth of the features]", number(1)
    )
    _add_held_out(flags, "samples")
    args = _parse_sizes(
        flags,
        argv,
        "file to write: .svm (libsvm's format), or .svm.gz",
        samples=5_000,
        features=2_000,
    )
    from tux.synthetic.clicks import check_names, clicks, write_clicks

    check_names(args.out, args.test)
    weights = args.weights or max(1, args.features // 10)
    show.phase("make clicks")
    data = clicks(
        args.samples, args.features, args.entries, weights, args.seed, _held_out_share(args)
    )
    show.phase(f"write {args.out}")
    rows = write_clicks(data, args.out, args.test)
    _tell_files(args, rows, "samples")
    show.say(
        "the truth itself has a logloss of "
        f"{data.logloss():.4f}{' on those held out' if rows[1] else ''}"
    )
    return 0


def _generate_graph(argv: list[str]) -> int:
    flags = Flags(
        "tux generate graph",
        "A random directed graph with power-law degrees.",
        "[flags] --out FILE",
    )
    args = _parse_sizes(flags, argv, vertices=2_000, edges=20_000)
    from tux.predict.column_files import writer
    from tux.synthetic.graph import graph

    write = writer(args.out)
    show.phase("make a graph")
    source, target = graph(args.vertices, args.edges, seed=args.seed)
    show.phase(f"write {args.out}")
    write({"source": source, "target": target})
    show.say(f"{args.out}: {plural(len(source), 'edge')}")
    return 0


def _generate_clusters(argv: list[str]) -> int:
    flags = Flags(
        "tux generate clusters",
        "Points around known centers; the column cluster is the truth.",
        "[flags] --out FILE",
    )
    flags.add(
        "--spread",
        "standard deviation of a point around its center, which lies in a cube of side 20 "
        "[default 1]",
        REAL,
        default=1.0,
    )
    args = _parse_sizes(flags, argv, points=5_000, features=8, clusters=10)
    from tux.predict.column_files import writer
    from tux.synthetic.clusters import clusters

    write = writer(args.out)
    show.phase("make points")
    data = clusters(args.points, args.features, args.clusters, args.spread, args.seed)
    show.phase(f"write {args.out}")
    write(data.columns())
    show.say(f"{args.out}: {plural(args.points, 'point')}")
    show.say(f"the truth itself has an inertia of {data.inertia():.6g}")
    return 0
