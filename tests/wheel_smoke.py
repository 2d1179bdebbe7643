"""The tasks that a fresh installation must be able to do. `tests/wheels.py` runs them in an empty
folder, by the Python of the installation, with nothing but tux and its dependencies.
"""

import json
import subprocess
import sys
from pathlib import Path

COMMANDS = """
--version
doctor
generate ratings --users 60 --items 40 --ratings 1500 --out ratings.csv --test held-out.csv
generate corpus --documents 30 --vocabulary 80 --topics 3 --tokens 1500 --out documents.txt
generate clicks --samples 80 --features 30 --entries 6 --out clicks.svm
generate graph --vertices 60 --edges 150 --out links.parquet
run mf ratings.csv --test held-out.csv --rank 4 --epochs 3 --out mf --checkpoint-every 1
run --resume mf --epochs 4
run lda documents.txt --topics 3 --epochs 3 --out lda
run blockpg clicks.svm --l1 1 --epochs 5 --workers 2 --out blockpg
run deepwalk links.parquet --dimensions 4 --num-walks 2 --walk-length 6 --out deepwalk
partition ratings.csv --parts 2 --method bicut,aweto,hdrf --out parts
run mf parts --rank 2 --epochs 1 --out mf2
info mf
info ratings.csv
predict mf --pairs ratings.csv --out scores.parquet
predict lda documents.txt --out topics.csv
predict blockpg clicks.svm --out chances.csv
predict deepwalk --nearest 3
export mf --format arrays --out mf.npz
export lda --format pyldavis --out lda.json
export deepwalk --format word2vec --out vectors.txt
"""
"""Each must end well."""

FACE = """
import tux
missing = [name for name in tux.__all__ if not hasattr(tux, name)]
assert not missing, missing
"""


def main() -> int:
    """Run all; returns the exit code."""
    for words in filter(None, COMMANDS.splitlines()):
        command = [
            sys.executable,
            "-W",
            "error::DeprecationWarning:tux",
            "-m",
            "tux",
            *words.split(),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(f"tux {words}\n{done.stdout}{done.stderr}")
            return 1
    results = json.loads(Path("mf/run.json").read_text(encoding="utf-8"))["results"]
    assert results["epochs"] == 4 and 0 < results["last"]["test_rmse"] < 2, results
    command = [sys.executable, "-c", FACE]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
