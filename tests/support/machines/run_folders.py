"""The parts of a run's folder in which two runs that should end alike are compared."""

from pathlib import Path


def model(out):
    """Return the bytes of the model's files, by name."""
    return {path.name: path.read_bytes() for path in sorted(Path(out, "model").iterdir())}


def drop_times(records):
    """Return records of epochs without measured times."""
    return [
        {k: v for k, v in each.items() if not k.endswith(("_s", "seconds", "per_second"))}
        for each in records
    ]
