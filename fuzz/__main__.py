"""Damaged inputs for all parsers: ``python -m fuzz``, or ``make fuzz``.

usage: python -m fuzz [--inputs N] [--parser NAME ...] [--seed S] [--keep DIR] [--bounds]
       python -m fuzz --replay FILE

Prints a line for each parser, and each kind of fault with the file that keeps its input; the exit
code is 1 if there is any. With --bounds, compiled loops check each index.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path

from fuzz.outcome import fault_of
from fuzz.parser import Parser
from fuzz.registry import parsers
from fuzz.watch import FaultyInput, environment, finds

INPUTS = 100_000
KEPT = 2  # inputs of each kind of fault


def flags() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.split("\n\n")[0])
    parser.add_argument("--inputs", type=int, default=INPUTS, help="for each parser [%(default)s]")
    parser.add_argument("--parser", action="append", help="these alone; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="[%(default)s]")
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir(), "tux-fuzz"), help="[%(default)s]"
    )
    parser.add_argument("--bounds", action="store_true", help="compiled loops check each index")
    parser.add_argument("--replay", type=Path, help="one kept input, with its traceback")
    return parser.parse_args()


def main() -> int:
    """Fuzz the parsers, or replay one input, and return the exit code."""
    asked = flags()
    with tempfile.TemporaryDirectory(prefix="tux-fuzz-") as folder:
        known = parsers(Path(folder))
        if asked.replay:
            return replay(asked.replay, known)
        if unknown := [name for name in asked.parser or () if name not in known]:
            sys.exit(f"no parser {unknown[0]!r}; there are: {', '.join(known)}")
        with tempfile.TemporaryDirectory(prefix="tux-fuzz-") as kernels:
            variables = environment(Path(kernels), bounds=asked.bounds)
            faults = sum(
                fuzz_parser(name, known[name], asked, variables) for name in asked.parser or known
            )
    print(f"{faults} kinds of faults" if faults else "no fault")
    return 1 if faults else 0


def fuzz_parser(
    name: str, parser: Parser, asked: argparse.Namespace, variables: dict[str, str]
) -> int:
    """Give a parser its inputs, and print what came of them; return the number of kinds of
    faults.
    """
    count, start = max(1, round(asked.inputs * parser.share)), time.perf_counter()
    kinds: dict[str, list[FaultyInput]] = defaultdict(list)
    for find in finds(name, asked.seed, count, variables):
        kinds[find.kind].append(find)
    seconds = time.perf_counter() - start
    print(f"{name:16} {count:>9,} inputs {seconds:7.1f} s  seed {asked.seed}", flush=True)
    for kind, found in kinds.items():
        print(f"  {kind}: {len(found):,} inputs")
        for find in found[:KEPT]:
            asked.keep.mkdir(parents=True, exist_ok=True)
            path = asked.keep / f"{name}.{asked.seed}.{find.number}"
            path.write_bytes(parser.input(name, asked.seed, find.number))
            print(f"    python -m fuzz --replay {path}")
        print("    " + found[0].detail.strip()[-1500:].replace("\n", "\n    "), flush=True)
    return len(kinds)


def replay(path: Path, known: dict[str, Parser]) -> int:
    """Read a kept input, whose file's name begins with that of its parser."""
    warnings.simplefilter("error")
    faulthandler.enable()  # the input may crash this process
    fault = fault_of(known[path.name.split(".")[0]].read, path.read_bytes())
    print(f"{fault.kind}\n{fault.detail}" if fault else "no fault")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
