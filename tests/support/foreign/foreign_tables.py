"""Tables and arrays of a model, read by pandas, polars, pyarrow, DuckDB, numpy and others: the same
values come back.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from support.foreign.foreign_apps import AppWithData, columns_of_csv, import_or_skip

from tux import Lists, Table
from tux.cli.main import main


class TrainedApp(NamedTuple):
    """A run of an app, whose folder is `folder`; `at` is an empty folder for files."""

    app: AppWithData
    run: Any
    folder: Path
    at: Path

    def run_command(self, *command: Any) -> None:
        """Run a command of tux; it must not fail."""
        assert main([*map(str, command)]) == 0

    def export_file(self, form: str, ending: str) -> Path:
        """Run `tux export` and return the path of the file."""
        path = self.at / f"{form}{ending}"
        self.run_command("export", self.folder, "--format", form, "--out", path)
        return path


def check_same_column(found: Any, column: Any) -> None:
    """Assert that a column of another library has the values of one of tux."""
    rows = [[*row] if np.ndim(row) else row for row in found]
    lists = isinstance(column, Lists) or column.ndim > 1
    own = [column[k].tolist() for k in range(len(column))] if lists else column.tolist()
    for one, other in zip(rows, own, strict=True):
        assert one == other or one != one and other != other  # NaN is not itself


# ---- tables


def _columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a table of any library, as lists."""
    if hasattr(table, "to_pydict"):
        return table.to_pydict()
    if hasattr(table, "to_dict") and hasattr(table, "iloc"):
        return {name: table[name].tolist() for name in table.columns}
    return {name: table[name].to_list() for name in table.columns}


def _is(found: Any, table: Any) -> None:
    columns = _columns(found)
    own = table.to_dict()
    assert list(columns) == list(own)
    for name, column in own.items():
        check_same_column(columns[name], column)


def model_files(trained: TrainedApp) -> None:
    """Check that other libraries read the model's Parquet files."""
    pandas, polars, duckdb = map(import_or_skip, ("pandas", "polars", "duckdb"))
    for name, table in trained.run.vertices.items():
        path = trained.folder / "model" / f"{name}.parquet"
        _is(pandas.read_parquet(path), table)
        _is(polars.read_parquet(path), table)
        _is(pyarrow.parquet.read_table(path), table)
        _is(duckdb.read_parquet(str(path)).to_arrow_table(), table)


def tables(trained: TrainedApp) -> None:
    """Check that other libraries take the model and the history from memory."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    for table in (*trained.run.vertices.values(), trained.run.history):
        _is(pandas.DataFrame(table), table)
        _is(polars.DataFrame(table), table)
        _is(pa.table(table), table)


def records(trained: TrainedApp) -> None:
    """Check that other libraries read the records of epochs."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    path, history = trained.folder / "metrics.jsonl", trained.run.history
    for found in (pandas.read_json(path, lines=True, precise_float=True), polars.read_ndjson(path)):
        for name, column in history.to_dict().items():
            np.testing.assert_allclose(found[name].to_numpy().astype("f8"), column, rtol=1e-12)


def gantt(trained: TrainedApp) -> None:
    """Check that other libraries read the table of what the workers did at which time."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    path = trained.export_file("gantt", ".tsv")
    found = pandas.read_csv(path, sep="\t")
    _is(polars.read_csv(path, separator="\t"), Table(_columns(found)))
    assert [*map(str, found.dtypes[["from", "to", "exact"]])] == ["float64", "float64", "bool"]
    assert found["from"].min() == 0 and (found["to"] > found["from"] - 1e-9).all()


def told_tables(trained: TrainedApp) -> None:
    """Check that other libraries read the tables of a report."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    for name, table in trained.run.tables.items():
        path = trained.folder / "model" / f"{name}.tsv"
        for found in (pandas.read_csv(path, sep="\t"), polars.read_csv(path, separator="\t")):
            columns = _columns(found)
            assert list(columns) == list(table.to_dict())
            for key, column in table.to_dict().items():
                assert [*map(_text, columns[key])] == [*map(_text, column.tolist())]


def _text(value: Any) -> str:
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return str(value)


# ---- predictions


def _predict(trained: TrainedApp, ending: str) -> tuple[Path, Any]:
    """Run `tux predict`. Return the path of the file of predictions, and a table of the same
    predictions.
    """
    app, path = trained.app, trained.at / f"scores{ending}"
    given = columns_of_csv(app, trained.at / "new.csv")
    if app.name == "MF":
        trained.run_command("predict", trained.folder, "--pairs", given, "--out", path)
    else:
        trained.run_command("predict", trained.folder, given, "--out", path)
    return path, trained.run.predict(given, ids=True)


def predicted_text(trained: TrainedApp) -> None:
    """Check that other libraries read predictions as CSV."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    path, table = _predict(trained, ".csv")
    for found in (pandas.read_csv(path), polars.read_csv(path)):
        _close(found, table)


def predicted_parquet(trained: TrainedApp) -> None:
    """Check that other libraries read predictions as Parquet."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    path, table = _predict(trained, ".parquet")
    for found in (pandas.read_parquet(path), polars.read_parquet(path)):
        _close(found, table)


def _close(found: Any, table: Any) -> None:
    """Assert that columns are close. Columns of several numbers may have a column for each; of CSV,
    a last one names the most.
    """
    columns = _columns(found)
    for name, column in table.to_dict().items():
        if name in columns:
            own = np.array([np.asarray(each) for each in columns[name]])
        else:
            own = np.stack([columns[f"{name}_{k}"] for k in range(column.shape[1])], axis=1)
        np.testing.assert_allclose(own, column, rtol=1e-6)


def best(trained: TrainedApp) -> None:
    """Check that other libraries read the best items of each user."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    table = trained.run.recommend(None, 3)
    for ending in (".csv", ".parquet"):
        path = trained.at / f"top{ending}"
        trained.run_command("predict", trained.folder, "--top", 3, "--out", path)
        read = ("read_csv", "read_parquet")[ending == ".parquet"]
        for library in (pandas, polars):
            columns = _columns(getattr(library, read)(path))
            assert list(columns) == list(table.to_dict())
            for name in ("user", "rank", "item"):
                check_same_column(columns[name], table[name])
            np.testing.assert_allclose(columns["score"], table["score"], rtol=1e-6)


# ---- arrays


def arrays(trained: TrainedApp) -> None:
    """Check that numpy and JSON read all fields."""
    own = {name: np.asarray(array) for name, array in trained.run.export("arrays").items()}
    with np.load(trained.export_file("arrays", ".npz")) as found:
        assert set(found.files) == set(own)
        for name, array in own.items():
            check_same_column(found[name].ravel().tolist(), array.ravel())
    with open(trained.export_file("arrays", ".json"), encoding="utf-8") as file:
        read = json.load(file)
    for name, array in own.items():  # there is no NaN in JSON
        rows = np.array(read[name], object)
        assert rows.shape == array.shape
        check_same_column(
            [math.nan if each is None else each for each in rows.ravel()], array.ravel()
        )


def vectors(trained: TrainedApp) -> None:
    """Check that numpy reads ids and vectors."""
    with np.load(trained.export_file("npz", ".npz")) as found:
        node = trained.run.vertices["node"]
        assert found["id"].tolist() == node.ids.tolist()
        assert np.array_equal(found["vector"], node["u"])


def picture(trained: TrainedApp) -> None:
    """Check that matplotlib reads the picture."""
    image = import_or_skip("matplotlib.image")
    pixels = image.imread(trained.export_file("picture", ".png"))
    assert pixels.ndim == 3 and pixels.shape[2] == 4 and len(np.unique(pixels)) > 2


def weights(trained: TrainedApp) -> None:
    """Check that pandas reads the weights that are not 0 from JSON."""
    pandas = import_or_skip("pandas")
    found = pandas.read_json(trained.export_file("weights", ".json"), precise_float=True)
    feature = trained.run.vertices["feature"]
    own = dict(zip(feature.ids.tolist(), feature["w"].tolist(), strict=True))
    there = {name: weight for name, weight in own.items() if weight}
    assert there and dict(zip(found["feature"], found["weight"], strict=True)) == there


def lists(trained: TrainedApp) -> None:
    """Check that other libraries read walks as Parquet, by a run of its own."""
    pandas, polars = map(import_or_skip, ("pandas", "polars"))
    out = trained.at / "lists"
    edges = columns_of_csv(trained.app, trained.at / "links.csv")
    flags = "--num-walks 2 --walk-length 5 --format parquet --seed 1 --no-jit --threads 1 --out"
    trained.run_command("run", "walks", edges, *flags.split(), out)
    text = [line.split() for line in (trained.folder / "walks.txt").read_text().splitlines()]
    for found in (pandas.read_parquet, polars.read_parquet):
        walks = found(out / "walks.parquet")["walk"].to_list()
        assert [[*map(str, walk)] for walk in walks] == text
