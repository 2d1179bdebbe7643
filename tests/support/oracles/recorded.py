"""Plain rows that record which of their fields a UDF reads and writes."""

from functools import wraps

import numpy as np

from tux.rows.plain import Neighbour, PlainEdges, PlainRow
from tux.rows.table import RowSpec


class FieldRecorder:
    """A record of the fields, (row, field), that have been read and written. A field is known by
    its memory, so views of it are told from copies however they were made. `held`: the array of
    each field.
    """

    def __init__(self, *, records=True):
        self.read, self.written, self.held = set(), set(), {}
        self._records = records
        self._memory = []  # the first byte, past the last, the field, and what keeps the memory
        self._copies = []  # the same of entries that were picked out of fields

    def watch(self, at, array):
        """Return a copy of an array, as memory of the field `at`."""
        self.held[at] = array = np.array(array)
        if not self._records:
            return array
        self._memory.append((*_span(array), at, array))
        watched = array.view(WatchedArray)
        watched.record = self
        return watched

    def note_copy(self, array, source):
        """Note that `array` is a copy of entries of `source`. Reading it is reading the field."""
        for at in self._fields(source, copies=True):
            self._copies.append((*_span(array), at, array))

    def _fields(self, thing, *, copies):
        """Return the fields in a value."""
        if isinstance(thing, tuple | list):
            return {at for each in thing for at in self._fields(each, copies=copies)}
        if not isinstance(thing, WatchedArray) or not thing.size:
            return set()
        start, memory = _start(thing), self._memory + self._copies if copies else self._memory
        return {at for low, high, at, _ in memory if low <= start < high}

    def reads(self, *things):
        """Note what is read."""
        self.read |= self._fields(things, copies=True)

    def writes(self, *things):
        """Note what is written."""
        self.written |= self._fields(things, copies=False)

    def run(self, call):
        """Run a call that may write to any field, and return its result."""
        before = {at: array.tobytes() for at, array in self.held.items()}
        try:
            return call()
        finally:
            self.written |= {at for at, held in before.items() if held != self.held[at].tobytes()}


def _start(array):
    return array.__array_interface__["data"][0]


def _span(array):
    return _start(array), _start(array) + array.nbytes


def _plain(thing):
    """Return a value, its arrays as plain ones."""
    if isinstance(thing, tuple | list):
        return type(thing)(map(_plain, thing))
    return thing.view(np.ndarray) if isinstance(thing, WatchedArray) else thing


class WatchedArray(np.ndarray):
    """A field that is an array, or a part of it; or a copy, whose use records nothing."""

    def __array_finalize__(self, source):
        self.record = getattr(source, "record", None)

    def __getitem__(self, index):
        found = super().__getitem__(_plain(index))
        self.record.reads(index)
        if not isinstance(found, WatchedArray):
            self.record.reads(self)
        elif not np.may_share_memory(_plain(found), _plain(self)):
            self.record.note_copy(found, self)
        return found

    def __setitem__(self, index, value):
        self.record.reads(index, value)
        self.record.writes(self)
        super().__setitem__(_plain(index), _plain(value))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        self.record.reads(self)
        return value in _plain(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **named):
        out = named.get("out", ()) + (inputs[:1] if method == "at" else ())
        self.record.reads(inputs, [v for k, v in named.items() if k != "out"])
        self.record.writes(*out)
        found = getattr(ufunc, method)(*_plain(inputs), **{k: _plain(v) for k, v in named.items()})
        return named["out"][0] if "out" in named else found

    def __array_function__(self, function, types, args, named):
        self.record.reads(args, [*named.values()])
        plain = {k: _plain(v) for k, v in named.items()}
        return self.record.run(lambda: function(*_plain(args), **plain))


def _reading(name):
    method = getattr(np.ndarray, name)

    @wraps(method)
    def call(self, *args, **named):
        self.record.reads(self, args, [*named.values()])
        return self.record.run(lambda: method(self, *args, **named))

    return call


def _filling(self, value):
    self.record.writes(self)
    np.ndarray.fill(self, value)


for _name in (
    *("__bool__", "__float__", "__index__", "__int__", "argmax", "argmin", "argsort", "astype"),
    *("copy", "cumsum", "dot", "flatten", "item", "max", "mean", "min", "nonzero", "partition"),
    *("prod", "put", "searchsorted", "sort", "std", "sum", "take", "tolist", "var"),
):
    setattr(WatchedArray, _name, _reading(_name))
WatchedArray.fill = _filling


def rows(record, name, fields, pairs=()):
    """Return the rows of a table whose `fields` (n, *shape) are watched as those of row `name`."""
    watched = {field: record.watch((name, field), array) for field, array in fields.items()}
    spec = RowSpec(name, tuple(fields), ", ".join(fields), pairs)
    count = len(next(iter(watched.values())))
    return [PlainRow(spec, watched, index) for index in range(count)]


def edges(own, role, others):
    """Return edges, each a row, and the rows of their other ends."""
    made = [Neighbour(edge, role, other) for edge, other in zip(own, others, strict=True)]
    return PlainEdges(len(made), made.__getitem__)
