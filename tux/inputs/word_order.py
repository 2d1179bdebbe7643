"""Documents whose words have an order: plain text, and lists of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tux.base.errors import UsageError
from tux.inputs.memory import MemoryData, check_document_reading, documents_of
from tux.inputs.new_rows import training_options
from tux.io.bags.bags import check_text, plan_bags
from tux.io.bags.documents import WordSequences, read_sequences
from tux.io.bags.entries import BagOptions, kinds_of
from tux.io.bags.memory import read_memory_sequences
from tux.io.formats.detect import detect_format
from tux.io.source.input_files import input_files
from tux.io.source.text import BadRows
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.program.program import Program


def read_word_order(
    data: Any,
    program: Program,
    options: Mapping[str, Any],
    reading: Reading,
    warn: Callable[[str], None],
) -> tuple[WordSequences, BadRows] | None:
    """Read documents with the order of their words, from plain text or from texts or lists of words
    in memory. Returns also which were bad and left out; None for data whose words have no order, of
    which nothing is read.

    `options` are those of the training run, as `tux.inputs.new_rows.read_rows` takes them; `warn`
    tells of an odd first line. Raises the errors of reading.
    """
    if isinstance(data, MemoryData):
        documents = documents_of(data)
        if not isinstance(documents, list):
            return None
        with in_python():
            what = check_document_reading(data, documents, reading)
            return read_memory_sequences(
                documents, what, program.edge.ends, reading.stop, reading.on_bad_row
            )
    path = input_files(data)
    format = detect_format(path)
    reading = training_options(options, path, format, reading, program)
    if (reading.form or format.bags) != "text":
        return None
    if reading.columns is not None:
        raise UsageError(
            f"{path} has no columns to name", do="leave --columns out: this is a text file"
        )
    kinds = kinds_of(program.edge.columns, "count", "i4")
    how = BagOptions(form="text", stop=reading.stop, on_bad_row=reading.on_bad_row)
    asked = plan_bags(path, program.edge.ends, kinds, how).asked
    for note in check_text(path, program.edge.ends[0]):
        warn(f"{path}: {note}")
    return read_sequences(asked, reading.stop), asked.bad
