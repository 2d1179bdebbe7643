"""The size of mini-batches."""

from __future__ import annotations

from tux.apps.linear.updates import UPDATES
from tux.base.errors import UsageError
from tux.base.text import plural


def check_batch(batch):
    """Refuse a size that is neither a share below 1 nor a number of samples above it.
    UsageError.
    """
    if batch == 1:
        raise UsageError(
            "batch_size 1 may be read as one sample and as all of them",
            do="give a share of all that is less than 1, such as .01, or 2 samples or more; a "
            "number that is larger than theirs means all",
        )
    if batch > 1 and batch != round(batch):
        raise UsageError(
            f"batch_size {batch:g} is no number of samples",
            do="give a whole number, or a share of all that is less than 1, such as .01",
        )


def describe_batches(program, samples):
    """Return a sentence about the size of the mini-batches of so many samples."""
    size = round(samples_in(sizes_of(program), samples))
    return f"mini-batches of {size:,} of {plural(samples, 'sample')}"


def sizes_of(program):
    """Return the size of a program's mini-batches, as `sizes` does."""
    return sizes(program.batch_size, UPDATES[program.solver].batch)


def sizes(batch_size, usual):
    """Return the size of mini-batches as MiniBatch takes it: a share of the samples if it is below
    1, else a number of them. `usual`: the size where none is given.
    """
    batch = batch_size or usual
    return {"blocks": max(1, round(1 / batch))} if batch < 1 else {"vertices": round(batch)}


def samples_in(size, samples):
    """Return how many of the samples a mini-batch of such a size has, on average."""
    return samples / size["blocks"] if "blocks" in size else min(size["vertices"], samples)
