"""Files of word2vec: read back by gensim, and by a few lines of plain Python; ids that cannot be
written; nothing half-written.
"""

from pathlib import Path

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import DataError, DiskError
from tux.io.vertices.word2vec import export_arrays, write_binary, write_text

RNG = np.random.default_rng(0)
IDS = {
    "numbers": np.array([7, -3, 10**12]),
    "text": np.array(["ann", "é\u4e2d", "7", "a,b\"c'"], np.dtypes.StringDType()),
    "none": np.empty(0, np.int64),
    "many": np.arange(40_000),  # more than are written at a time
}


def vectors(ids, d=5):
    made = RNG.normal(size=(len(ids), d)).astype(np.float32)
    made[:1] = [[0.1, -1e-30, 3.4e38, 1e-45, 0.0][:d]]
    return made


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_text(path):
    """Read words, and vectors from decimal numbers."""
    first, *lines = Path(path).read_text(encoding="utf-8").split("\n")
    n, d = map(int, first.split(" "))
    assert lines.pop() == "" and len(lines) == n
    rows = [line.split(" ") for line in lines]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], np.float32).reshape(n, d)


def read_binary(path):
    """Read words, and vectors from the bytes of float32."""
    first, rest = Path(path).read_bytes().split(b"\n", 1)
    n, d = map(int, first.split())
    words, found = [], np.empty((n, d), np.float32)
    for row in range(n):
        word, rest = rest.split(b" ", 1)
        words.append(word.decode())
        found[row] = np.frombuffer(rest[: 4 * d], "<f4")
        assert rest[4 * d : 4 * d + 1] == b"\n"
        rest = rest[4 * d + 1 :]
        if row > 100:  # enough: each row copies the rest
            return words, found[: row + 1]
    assert rest == b""
    return words, found


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_by_plain_readers(ids):
    made, words = vectors(ids), [str(word) for word in ids.tolist()]
    write_text("v.txt", ids, made)
    write_binary("v.bin", ids, made)
    for found, matrix in (read_text("v.txt"), read_binary("v.bin")):
        assert (
            found == words[: len(found)]
            and (matrix == made[: len(found)]).all()
            and matrix.shape[1] == 5
        )


@pytest.mark.parametrize(
    "ids", [IDS["numbers"], IDS["text"], IDS["many"]], ids=["numbers", "text", "many"]
)
def test_by_gensim(ids, home):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    made = vectors(ids)
    write_text("v.txt", ids, made)
    write_binary("v.bin", ids, made)
    for path, binary in (("v.txt", False), ("v.bin", True)):
        found = models.KeyedVectors.load_word2vec_format(path, binary=binary)
        assert found.index_to_key == [str(word) for word in ids.tolist()]
        assert (found.vectors == made).all()


def test_wider_numbers_and_columns_in_any_order():
    made = np.asfortranarray(RNG.normal(size=(3, 4)))[:, ::2]
    write_text("v.txt", IDS["numbers"], made)
    write_binary("v.bin", IDS["numbers"], made)
    for _, matrix in (read_text("v.txt"), read_binary("v.bin")):
        assert (matrix == made.astype(np.float32)).all()


def test_arrays():
    for name in ("numbers", "text", "none"):
        ids = IDS[name]
        made = vectors(ids)
        named = export_arrays(ids, made)
        assert named["id"].dtype.kind in "iU" and named["id"].tolist() == ids.tolist()
        assert named["vector"].dtype == np.float32 and np.array_equal(named["vector"], made)


@pytest.mark.parametrize("bad", ["new york", "", "tab\there", "line\n", "\u00a0"])
@pytest.mark.parametrize("write", [write_text, write_binary])
def test_ids_with_blanks(here, write, bad):
    ids = np.array(["ann", bad], np.dtypes.StringDType())
    with pytest.raises(DataError, match="blank") as error:
        write("v", ids, vectors(ids))
    assert repr(bad) in str(error.value) and not list(here.iterdir())
    assert export_arrays(ids, vectors(ids))["id"].tolist() == ["ann", bad]


@pytest.mark.parametrize("write", [write_text, write_binary])
def test_nothing_half_written(here, write, monkeypatch):
    ids = IDS["numbers"]
    with pytest.raises(DiskError):
        write("none/v", ids, vectors(ids))
    (here / "v").write_text("before")

    def raise_disk_full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tux.io.vertices.word2vec._pieces", raise_disk_full)
    monkeypatch.setattr(np, "savez", raise_disk_full)
    with pytest.raises(DiskError, match=message("cannot-be-written", "No space left")):
        write("v", ids, vectors(ids))
    assert (here / "v").read_text() == "before" and list(here.iterdir()) == [here / "v"]


@pytest.mark.parametrize("write", [write_text, write_binary, lambda path, *of: export_arrays(*of)])
def test_ids_and_vectors_that_do_not_fit(here, write):
    for wrong in (vectors(IDS["numbers"])[:2], vectors(IDS["numbers"])[:, 0]):
        with pytest.raises(DataError, match=message("ids-but-vectors-of-shape", "3")):
            write("v", IDS["numbers"], wrong)
    assert not list(here.iterdir())
