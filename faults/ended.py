"""The files and records that a run has left in its folder, and how they differ from what an
uninterrupted one leaves.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from tux.run_folder.folder import read_metrics, read_run

OWN = ("run.json", "metrics.jsonl", "timeline.jsonl", "B2SUMS")
"""Files of a run that hold times."""
MEASURED = re.compile(r"(_s|seconds|per_second)$")
"""Names of what depends on time."""


class RunRemains(NamedTuple):
    """The model's files and those that the report has written, the epochs' records and the results,
    without times; and the names of what is in the folder, hidden files excepted.
    """

    model: dict[str, bytes]
    records: list[dict[str, Any]]
    results: dict[str, Any]
    names: list[str]

    @staticmethod
    def of(out: Path) -> RunRemains:
        """Read what the run of a folder has left. Raises DataError if it is no run's."""
        files = [
            *out.glob("model/*"),
            *(path for path in out.glob("[!.]*") if path.name not in OWN),
        ]
        return RunRemains(
            {str(path.relative_to(out)): path.read_bytes() for path in files if path.is_file()},
            [_without_times(record) for record in read_metrics(out)],
            _without_times(read_run(out).results or {}),
            sorted(path.name for path in out.iterdir() if not path.name.startswith(".")),
        )

    def differences(self, whole: RunRemains) -> list[str]:
        """List how this differs from an uninterrupted run."""
        wrong = [
            f"{name} differs"
            for name in sorted(self.model.keys() | whole.model.keys())
            if self.model.get(name) != whole.model.get(name)
        ]
        epochs, expected = ([each["epoch"] for each in run.records] for run in (self, whole))
        if epochs != expected:
            wrong.append(f"metrics.jsonl has the epochs {epochs} instead of {expected}")
        else:
            wrong += [
                f"epoch {one['epoch']}: {name} is {one.get(name)} instead of {other.get(name)}"
                for one, other in zip(self.records, whole.records, strict=True)
                for name in one.keys() | other.keys()
                if one.get(name) != other.get(name)
            ][:3]
        if self.results != whole.results:
            wrong.append(f"the results are {self.results} instead of {whole.results}")
        if self.names != whole.names:
            wrong.append(f"the folder has {self.names} instead of {whole.names}")
        return wrong


def hidden_files(out: Path) -> list[str]:
    """List files that only a run under way may have in its folder: locks, parts, and unfinished
    files.
    """
    return sorted(f"{out.name}: {path.relative_to(out)}" for path in out.rglob(".*"))


def _without_times(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if not MEASURED.search(name)}
