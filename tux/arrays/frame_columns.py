"""Columns of tables in memory as ids and numbers, piece by piece, and their bad rows.

The type of a column, as Arrow names it, shows its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import Pieces
from tux.arrays.frames import Frame, data_errors_about
from tux.arrays.given import PLAIN, nanoseconds
from tux.arrays.integers import narrow
from tux.base.errors import DataError

IDS = "Ids are whole numbers, strings, dates or categories of these."
NUMBERS = "Convert it to numbers, or name another column."
INTEGER = re.compile(r"u?int(8|16|32|64)")
FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}
STRINGS = ("string", "large_string")
DATES = {"date32[day]": "datetime64[D]", "date64[ms]": "datetime64[ms]"}
TIMES = re.compile(r"timestamp\[(s|ms|us|ns)\b")


class CheckedPiece(NamedTuple):
    """A piece of a column. `values`: numbers, or strings as an Arrow dictionary array. `bad`: a
    mask of its bad rows, None if there are none. ``why(row)``: the fault of a bad row, in words.
    """

    values: Any
    bad: np.ndarray | None
    why: Callable[[int], str]


def gather_columns(
    frame: Frame,
    picks: Sequence[int],
    labels: Sequence[str],
    kinds: Sequence[np.dtype | None],
    note: Callable[[int, str], None],
) -> tuple[Pieces, list[str]]:
    """Read the columns at the places `picks` of a table in memory into a `tux.arrays.arrow.Pieces`
    of these `kinds`. Returns it and the type of each column (see `tux.arrays.given`; "" of
    numbers). Messages call the columns by their `labels`.

    A row is bad if a value is missing, an id is empty, or a number is not finite or does not fit
    its kind: ``note(row, why)`` is called, and the row is left out. Raises `DataError` for a column
    that can hold no ids, or no numbers.
    """
    pieces, types = Pieces(kinds), [""] * len(picks)
    done, begun = 0, None
    for batch in frame.batches(picks):
        parts = []
        for at, (column, kind) in enumerate(zip(batch, kinds, strict=True)):
            with data_errors_about(frame.what, frame.names[picks[at]]):
                if kind is None:
                    types[at] = _id_type(column.type)
                    parts.append(_ids(column, labels[at]))
                else:
                    parts.append(_numbers(column, kind, labels[at]))
        columns = _good(parts, done, note)
        done += len(batch[0])
        if begun is not None:
            pieces.append([_compact(each) for each in begun])
        begun = columns
    if begun is not None:  # in one piece: it is not copied
        pieces.append([_compact(each) for each in begun] if pieces.rows else begun)
    return pieces, types


def _good(parts: list[CheckedPiece], done: int, note: Callable[[int, str], None]) -> list[Any]:
    """Return the values of the good rows. The bad ones are reported to `note`; the first row of all
    has the number `done`.
    """
    masks = [part.bad for part in parts if part.bad is not None]
    if not masks:
        return [part.values for part in parts]
    bad = np.logical_or.reduce(masks)
    for row in np.flatnonzero(bad).tolist():
        part = next(part for part in parts if part.bad is not None and part.bad[row])
        note(done + row, part.why(row))
    keep = ~bad
    return [
        part.values[keep]
        if isinstance(part.values, np.ndarray)
        else _drop_unused_words(part.values, keep)
        for part in parts
    ]


def _compact(values: Any) -> Any:
    """Return a piece that shares no memory with another library and is in the narrowest type."""
    if not isinstance(values, np.ndarray):
        return values
    values = narrow(values) if values.dtype.kind in "iu" else values
    return values if values.flags.owndata else values.copy()


# ---- numbers


def cast_numbers(values: np.ndarray, kind: np.dtype) -> tuple[np.ndarray, np.ndarray | None]:
    """Cast numbers to `kind`. Returns them, and a mask (m,) of those that do not fit it, None if
    all do.
    """
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    least, most = _limits(kind)
    real = kind.kind == "f"
    if (real or values.dtype.kind in "iu") and low >= least and high <= most:
        return values.astype(kind, copy=False), None
    if real:
        bad = ~np.isfinite(values)
        if values.dtype.kind == "f" and values.itemsize > kind.itemsize:
            bad |= np.abs(values) > most
    elif values.dtype.kind == "f":  # of which the largest integers of 64 bits are none
        bad = ~((values >= least) & (values < most + 1.0) & (values == np.rint(values)))
    else:
        bad = ~((values >= least) & (values <= most))
    clean = np.where(bad, values.dtype.type(0), values) if bad.any() else values
    return clean.astype(kind), bad if bad.any() else None


def unfit_reason(value: Any, kind: np.dtype) -> str:
    """Return the words of a message about a number that does not fit `kind`."""
    least, most = _limits(kind)
    value = value.item() if isinstance(value, np.generic) else value  # compared exactly
    if not np.isfinite(value):
        return f"{value}, not a finite number"
    return f"{value}, beyond {kind}" if not least <= value <= most else f"{value}, not whole"


def _limits(kind: np.dtype) -> tuple[float | int, float | int]:
    if kind.kind == "f":
        return -float(np.finfo(kind).max), float(np.finfo(kind).max)
    return (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))


def _numbers(column: Any, kind: np.dtype, label: str) -> CheckedPiece:
    column = column.dictionary_decode() if _categories(column.type) else column
    type_ = str(column.type)
    if type_ in ("bool", "null"):
        column = column.cast("int8")
    elif type_.startswith("decimal"):
        column = column.cast("double")
    elif not INTEGER.fullmatch(type_) and type_ not in FLOATS:
        raise DataError(f"holds {type_}, not numbers", do=NUMBERS)
    missing = _missing(column)
    given = (column if missing is None else column.fill_null(0)).to_numpy(zero_copy_only=False)
    given = given.astype(np.float32) if given.dtype == np.float16 else given
    values, bad = cast_numbers(given, kind)

    def why(row: int) -> str:
        if missing is not None and missing[row]:
            return f"{label} is missing"
        return f"{label} is {unfit_reason(given[row], kind)}"

    return CheckedPiece(values, _either(missing, bad), why)


# ---- ids


def _ids(column: Any, label: str) -> CheckedPiece:
    kind, missing = str(column.type), _missing(column)

    def why(row: int) -> str:
        return f"{label} is missing"

    if _categories(column.type) and str(column.type.value_type) not in STRINGS:
        return _ids(column.dictionary_decode(), label)
    if _categories(column.type) or kind in STRINGS:
        coded = _encode_strings(column)
        return CheckedPiece(coded, _either(missing, _empty(coded)), why)
    if kind == "null":
        return CheckedPiece(np.zeros(len(column), np.int64), np.ones(len(column), np.bool_), why)
    if INTEGER.fullmatch(kind):
        filled = column if missing is None else column.fill_null(0)
        values = filled.to_numpy(zero_copy_only=False)
        return CheckedPiece(values if kind in ("int32", "int64") else narrow(values), missing, why)
    if kind in DATES or TIMES.match(kind):
        return CheckedPiece(nanoseconds(column.to_numpy(zero_copy_only=False)), missing, why)
    if kind not in FLOATS:
        raise DataError(f"holds {kind}, which is no type of ids", do=IDS)
    given = column.to_numpy(zero_copy_only=False)  # NaN where there is none
    none = ~np.isfinite(given)
    known = given[~none] if none.any() else given
    if len(decimal := known[known != np.floor(known)][:1]):
        do = f"{IDS} Cut other numbers into ranges."
        raise DataError(f"holds decimal numbers, such as {decimal[0]}, which are no ids", do=do)
    if len(known) and np.abs(known).max() > 2.0 ** (np.finfo(given.dtype).nmant + 1):
        raise DataError(f"holds numbers beyond what {kind} tells apart", do=IDS)
    values = np.where(none, given.dtype.type(0), given).astype(np.int64)
    return CheckedPiece(values, none if none.any() else None, why)


def _categories(kind: Any) -> bool:
    return str(kind).startswith("dictionary<")


def _id_type(kind: Any) -> str:
    """Return the type in which ids are given back, see `tux.arrays.given`; "str" for strings."""
    name = str(kind.value_type if _categories(kind) else kind)
    if name in STRINGS:
        return "str"
    if times := TIMES.match(name):
        return f"datetime64[{times[1]}]"
    name = DATES.get(name) or FLOATS.get(name) or name
    return "" if name in PLAIN or name == "null" else name


def _encode_strings(column: Any) -> Any:
    """Encode a column of strings as a dictionary array in the one type in which pieces are joined.
    Nulls get index 0.
    """
    if not _categories(column.type):
        column = column.dictionary_encode()
    indices = column.indices.cast("int32")
    words = column.dictionary.cast("large_string")
    if words.null_count:
        raise DataError("has a category that is missing", do="Drop it, or give it a name.")
    if indices.null_count:
        indices = indices.fill_null(0)
        if not len(words):
            return _encode_strings(column.dictionary_decode().fill_null(""))
    return _drop_unused_words(type(column).from_arrays(indices, words))


def _drop_unused_words(coded: Any, keep: np.ndarray | None = None) -> Any:
    """Return the rows `keep` (all, if None) of a dictionary array, and of its dictionary only the
    values that occur there.
    """
    codes = coded.indices.to_numpy(zero_copy_only=False)
    codes = codes if keep is None else codes[keep]
    there = np.zeros(len(coded.dictionary), np.bool_)
    there[codes] = True
    if there.all():
        return type(coded).from_arrays(codes, coded.dictionary)
    place = np.cumsum(there, dtype=np.int32) - np.int32(1)
    return type(coded).from_arrays(place[codes], coded.dictionary.filter(there))


def _empty(coded: Any) -> np.ndarray | None:
    """Return a mask of the rows of a dictionary array that are empty strings; None if there are
    none.
    """
    at = coded.dictionary.index("").as_py()
    return None if at < 0 else coded.indices.to_numpy() == at


def _missing(column: Any) -> np.ndarray | None:
    """Return a mask of the rows that are null; None if there are none."""
    return (
        np.asarray(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else None
    )


def _either(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    if first is None or second is None:
        return second if first is None else first
    return first | second
