"""Flags that users know from other programs, and which flag of tux they mean."""

from __future__ import annotations

from collections.abc import Collection

from tux.base.text import did_you_mean

FLAGS = {
    "--out": "o output output-dir outdir outfile save save-to model model-dir",
    "--label": "target target-column label-column y response",
    "--columns": "names cols fields usecols user-col item-col",
    "--epochs": "n-epochs iterations iters n-iter max-iter num-iterations niter",
    "--l2": "lambda alpha reg regularization weight-decay",
    "--learning-rate": "lr eta alpha step-size",
    "--rank": "k factors n-factors dim dimensions components n-components embedding-dim",
    "--topics": "k num-topics n-topics components n-components",
    "--n-clusters": "k num-clusters",
    "--dimensions": "k size d dim vector-size embedding-dim",
    "--reg": "lambda l2 regularization reg-all weight-decay",
    "--biases": "bias biased use-bias use-biases user-bias item-bias",
    "--max-iter": "n-estimators num-trees ntrees n-trees num-boost-round num-iterations",
    "--min-gain": "gamma min-split-loss min-gain-to-split",
    "--colsample-bytree": "max-features feature-fraction",
    "--max-bins": "max-bin",
    "--num-walks": "n-walks",
    "--threads": "n-jobs num-threads nthreads n-threads j cores",
    "--workers": "num-workers nproc np n-workers processes num-processes",
    "--seed": "random-state random-seed rng",
    "--test": "valid validation eval-set eval test-file test-data heldout held-out",
    "--on-bad-row": "on-bad-lines error-bad-lines ignore-errors skip-bad-rows",
}
"""Names of tux's flags in other programs. Of several that have a name, the first is meant that the
command knows."""
NOT_NEEDED = {
    "separators are found by the first lines": "sep separator delimiter delim field-separator",
    "row 1 is seen by itself, and --columns a,b says that it has names": "header no-header "
    "noheader skip-header has-header skiprows skip-rows index-col",
    "text is UTF-8; convert it, as with iconv -f LATIN1 -t UTF-8": "encoding charset",
    "all rows are read; write the first ones into a file, as head does": "nrows n-rows limit "
    "max-rows sample",
}
"""Flags of other programs that tux does not need, by the reason."""
READS = "--on-bad-row"  # a flag of commands that read tables
NEAR = 0.6  # how alike flags are of which one may be meant


def meant_flag(flag: str, known: Collection[str]) -> str:
    """Answer a flag that is none of the `known` ones, as a clause: by the flag that is meant, or by
    the reason why there is none; nothing if neither is known.
    """
    name = flag.lstrip("-").replace("_", "-").lower() if flag.startswith("-") else ""
    for own, others in FLAGS.items():
        if own in known and name in others.split():
            return f"did you mean {own}? "
    for why, others in NOT_NEEDED.items():
        if READS in known and name in others.split():
            return f"there is none, as {why}; "
    return did_you_mean(flag, known, NEAR)
