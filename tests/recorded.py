"""Rows that record which of their fields are read and written."""

import numpy as np


class Recorder:
    """Which fields, (row, field), have been read and written."""

    def __init__(self):
        self.read, self.written = set(), set()


class Row:
    """A row called `name`, with numbers `a` and `b`, and arrays `f` (2,) and `g` (2, 2), by the
    seed of `start`; `start.other` is added to some.
    """

    def __init__(self, record, name, start):
        rng = np.random.default_rng([start.seed, *name.encode()])
        numbers = {"a": rng.integers(0, 6), "b": rng.integers(0, 6)}
        arrays = {"f": rng.integers(0, 6, 2), "g": rng.integers(0, 6, (2, 2))}
        held = {f: value + start.other.get((name, f), 0) for f, value in (numbers | arrays).items()}
        self.__dict__.update(record=record, name=name, held=held)

    def values(self):
        return self.held

    def __getattr__(self, field):
        value = self.__dict__["held"][field]
        if isinstance(value, np.ndarray):
            return Array(self.record, (self.name, field), value)
        self.record.read.add((self.name, field))
        return int(value)

    def __setattr__(self, field, value):
        if isinstance(value, Array) and isinstance(self.held[field], np.ndarray):
            return  # `row.f += 1` stores the array that it has changed
        self.record.written.add((self.name, field))
        self.held[field] = value


class Array:
    """A field that is an array, or a part of it, which is called `at`."""

    def __init__(self, record, at, array):
        self.record, self.at, self.array = record, at, array

    def __len__(self):
        return len(self.array)

    def __getitem__(self, index):
        found = self.array[index]
        if isinstance(found, np.ndarray):
            return Array(self.record, self.at, found)
        self.record.read.add(self.at)
        return int(found)

    def __setitem__(self, index, value):
        self.record.written.add(self.at)
        self.array[index] = value

    def __iadd__(self, value):
        self.record.written.add(self.at)
        self.array += value
        return self

    def sum(self):
        self.record.read.add(self.at)
        return self.array.sum()


class Edge:
    """An edge with a number `x` that leads to the row `item`."""

    def __init__(self, record, x, item):
        self.record, self._x, self.item = record, x, item

    @property
    def x(self):
        self.record.read.add(("edges", "x"))
        return self._x
