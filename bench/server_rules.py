"""Figure 14 of TUX2: what travels by the rules of tux, and by those of Parameter Server and Petuum.

Counted, not timed: the engine has no run in which rows travel by the rules of others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from bench.tux2_data import clicks_of, corpus_of, records_of, write
from tux.arrays.edges import EdgeData
from tux.partition import PARTITIONERS
from tux.program.sources import find

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
KEY = 8  # bytes
UP, DOWN = 16, 8  # of a feature: gradient and second derivative; the weight
COUNT = 4  # bytes of a topic's count
CUT = "source"  # documents and samples are whole, as in those systems


def replicas_of(edges: EdgeData, workers: int) -> np.ndarray:
    """Return on how many workers each target has edges, by the cut of the runs: `CUT`."""
    parts = PARTITIONERS[CUT](edges.src, edges.dst, workers, 0, bipartite=True)
    pairs = np.unique(edges.dst.astype(np.int64) * workers + parts)
    return np.bincount(pairs // workers, minlength=len(edges.ids[edges.ends[1]]))


def sent_by_keys(replicas: np.ndarray, workers: int) -> float:
    """Return the bytes of a pass in which each worker pushes and pulls a pair of key and values for
    each feature that its samples touch; features lie on the workers by a hash of their keys, so
    one in `workers` lies where it is asked for.
    """
    return float(replicas.sum()) * (workers - 1) / workers * (KEY + UP + KEY + DOWN)


def write_lines(sent: dict[str, float]) -> None:
    """Print a line for each rule, with its bytes, and these by those of the first."""
    first = max(next(iter(sent.values())), 1.0)
    write(f"{'rule':<58} {'bytes':>12} {'times':>7}\n")
    for rule, each in sent.items():
        write(f"{rule:<58} {each:>12,.0f} {each / first:>7.2f}\n")


def blocks(given: argparse.Namespace) -> None:
    """Print what a pass of BlockPG sends."""
    edges = clicks_of(given)
    program = find(f"{EXAMPLES / 'tux2_blockpg.py'}:ProximalBlocks").program(
        l1=2.0, block=given.blocks[0]
    )
    last = records_of(program, edges, given.epochs, workers=given.workers, partitioner=CUT)[-1]
    write(f"BlockPG: {len(edges):,} entries, {len(edges.ids['feature']):,} features, ")
    write(f"{given.workers} workers; pass {given.epochs}\n")
    replicas = replicas_of(edges, given.workers)
    write_lines(
        {
            "tux: what has changed, in an order that both ends know": last["bytes_sent"],
            "all values of the features that samples touch, no keys": last["bytes_dense"],
            "Parameter Server: keys, gradients up and weights down": sent_by_keys(
                replicas, given.workers
            ),
        }
    )


def topics(given: argparse.Namespace) -> None:
    """Print what an epoch of LDA sends, which is one clock."""
    edges = corpus_of(given)
    program = find(f"{EXAMPLES / 'tux2_lda.py'}:TopicsInStages").program(topics=given.topics)
    records = records_of(program, edges, given.epochs, workers=given.workers, partitioner=CUT)
    words, workers = len(edges.ids["word"]), given.workers
    pushed = float(replicas_of(edges, workers).sum()) * (workers - 1) / workers
    row = given.topics * COUNT
    write(f"LDA: {len(edges):,} pairs of document and word, {words:,} words, {given.topics} ")
    write(f"topics, {workers} workers; epoch {given.epochs}\n")
    write_lines(
        {
            "tux: counts that have changed": records[-1]["bytes_sent"],
            "the same in epoch 1": records[0]["bytes_sent"],
            "all counts of the words that a worker has, both ways": records[-1]["bytes_dense"],
            "Petuum: all rows to each worker, and its own from it": (
                (workers - 1) * words * row + pushed * row
            ),
        }
    )


def server_rules(given: argparse.Namespace) -> list[Any]:
    """Print the tables of both programs."""
    blocks(given)
    topics(given)
    return []
