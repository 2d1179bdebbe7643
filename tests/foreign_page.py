"""Makes docs/formats.md, which says what each app reads and which programs read its models, from
the cases that the tests in `tests/foreign/` go through::

python tests/foreign_page.py
"""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from support.foreign.foreign_apps import APPS, AppWithData
from support.foreign.foreign_inputs import FORMS, GIVEN, MEMORY, Form
from support.foreign.foreign_outputs import OUTPUTS, Output

PAGE = Path(__file__).parents[1] / "docs" / "formats.md"
TOGETHER = {"LDA": "LDA, WarpLDA", "WarpLDA": ""}
"""Titles of columns; an app without one has the cells of the app before it."""

HEAD = """# Formats in and out

This page says which forms of data each app reads, and which programs read what comes out of it. The
tests in `tests/foreign/` train each app on the same tiny data in each form, and compare the models.
They give each output to the program that reads it, and compare the values. Where the table says no,
they check that tux refuses with a message. The page is made of the same list of cases, by
`tests/foreign_page.py`.

## Data in

Each form gives the same model where it holds the same data. A form that an app cannot read is
refused with a message, of which the table has the reason in a few words.
"""

IDS = """
The column "ids" says which ids come back for rows and columns: those that were given, or numbers
from 0 or 1. In a graph, rows and columns are the same vertices.

- MF, and ALS, which reads the same: rows are users, columns are items. Of docword, lda-c and
  libsvm, the numbers are ratings.
- LDA and WarpLDA: rows are documents, columns are words. Words come back if they were given: in a
  table, in texts, by `--vocab FILE`, or beside a matrix of scipy as `(matrix, words)`.
- BlockPG, and Linear and GBDT, which read the same: rows are samples, columns are features. Samples
  are numbered from 0 in memory, and from 1 in files. A matrix of scipy goes with its labels,
  `(X, y)`; a `.npz` file with `--labels FILE`.
- Features, words, and users or vertices of matrices and graphs that are numbers are the same in all
  forms, whether these count from 0 or from 1: [data-in.md](data-in.md#data-from-python) says how,
  and what is refused.
- DeepWalk and Walks: a matrix must be square, and each entry is a link. They also read DIMACS, GML,
  GraphML, Pajek and networkx's lists of edges: see [partition.md](partition.md#files).
- MATLAB's files are of level 5, and `--columns` names the matrix if there are several.

[data-in.md](data-in.md) explains data in memory; the pages of the apps explain files.
"""

OUT = """
## Models out

`--format` is that of `tux export`, and `run.export("NAME")` gives the same arrays in Python. A dash
means that the model has nothing of the kind.
"""

END = """
- implicit and gensim know places and words instead of ids: row i of the factors belongs to the id i
  of `user.id` or `item.id`.
- gensim and scikit-learn find the topics of a new document by other methods than `tux predict`. So
  shares differ where a document is not clear; the topics themselves are the same.
- `run.recommend` leaves out pairs that `exclude` names; `implicit` does that with
  `filter_already_liked_items`, and fills up rows that have too few items.
- `--format gantt` is of a run and not of its model ([watch.md](watch.md#a-gantt-chart)); Python has
  it not.
- `--format hnswlib`, `faiss` and `usearch` make indexes of vectors, which these libraries read, as
  `tests/predict/test_index.py` shows: [serving.md](serving.md#an-index-for-a-search-library).
- pandas reads numbers of JSON to the last digit with `precise_float=True`.
- Tests of implicit are among the slow ones, and need the extra `bench`.
"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    head = [*head]
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def cells(of: Callable[[AppWithData], str]) -> list[str]:
    """Return a cell for each column of apps. ValueError if apps that share one differ."""
    found: list[str] = []
    for name, app in APPS.items():
        if TOGETHER.get(name, name):
            found.append(of(app))
        elif of(app) != found[-1]:
            raise ValueError(f"{name} needs a column of its own: {of(app)}, not {found[-1]}")
    return found


def reading_cells(form: Form) -> Callable[[AppWithData], str]:
    """Return a function that writes the cell of an app: yes if the app reads `form`, else no and
    why.
    """

    def cell(app: AppWithData) -> str:
        refusal = form.refusal(app)
        return f"no: {refusal.why}" if refusal else "yes"

    return cell


def output_cells(output: Output) -> Callable[[AppWithData], str]:
    """Return a function that writes the cell of an app: yes if the app has `output`, else no and
    why.
    """

    def cell(app: AppWithData) -> str:
        if app.name in output.apps:
            return "yes"
        return f"no: {output.why}" if output.ask else "–"

    return cell


def ids(form: Form) -> str:
    """Return words for the ids of rows and of columns that a form gives back."""
    row, column = (each if each == GIVEN else f"from {each}" for each in form.ids)
    return row if row == column else f"rows {row}, columns {column}"


def page() -> str:
    """Return the text of the page."""
    titles = [title for name in APPS if (title := TOGETHER.get(name, name))]
    lines = [[name, *cells(reading_cells(form)), ids(form)] for name, form in FORMS.items()]
    memory = table(["in memory", *titles, "ids"], islice(lines, MEMORY))
    files = table(["in a file", *titles, "ids"], islice(lines, MEMORY, None))
    out = table(
        ["output", "read by", *titles],
        ([*key, *cells(output_cells(output))] for key, output in OUTPUTS.items()),
    )
    parts = [HEAD, memory, files, IDS, OUT, out, END]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
