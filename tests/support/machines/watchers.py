"""A watcher of runs that remembers what it was told."""

from __future__ import annotations

from tux.options.watcher import NullWatcher


class RecordingSilent(NullWatcher):
    """A watcher that remembers."""

    def __init__(self):
        self.phases, self.lines, self.warnings, self.records = [], [], [], []

    def phase(self, name):
        self.phases.append(name)

    def say(self, text):
        self.lines.append(text)

    def warn(self, text):
        self.warnings.append(text)

    def epoch(self, record, most):
        self.records.append((record["epoch"], most))
