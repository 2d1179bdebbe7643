"""Words and features that occur rarely are left out of what one process reads."""

import numpy as np
import pytest
from support.messages import message

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.inputs.load import load
from tux.inputs.memory import MemoryData
from tux.options.options import Reading

ENDS = ("document", "word")


def words_of(edges):
    return edges.ids["word"].values.tolist()


def test_words_are_counted_by_occurrences_in_all_documents(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("ape ape zoo\ncat\nzoo cat dog\n")
    said = []
    reading = Reading(form="text", min_count=2)
    found = load(LDA(), path, path, reading, warn=said.append)
    assert words_of(found.train) == ["ape", "cat", "zoo"]
    assert found.train.fields["count"].tolist() == [2, 1, 1, 1, 1]
    assert found.train.dst.tolist() == [0, 2, 1, 2, 1]
    assert "1 word that occurs fewer than 2 times is left out, 1 occurrence in all" in said[0]
    assert found.sizes["test"]["unseen"] == {"document": 0, "word": 1}


def test_a_document_of_which_nothing_is_left_stays():
    texts = ["ape ape", "zoo", "ape cat"]
    found = load(LDA(), MemoryData([texts]), None, Reading(min_count=3)).train
    assert words_of(found) == ["ape"]
    assert found.ids["document"].values.tolist() == [0, 1, 2]
    assert found.src.tolist() == [0, 2]


def test_data_of_vertices_stay_with_their_words():
    data = {"word": {"weight": np.arange(3.0)}}
    edges = EdgeData.of(
        ENDS, [0, 0, 1], ["a", "b", "c"], {"count": np.array([1, 5, 6])}, vertex_fields=data
    )
    found = load(LDA(), edges, None, Reading(min_count=5)).train
    assert words_of(found) == ["b", "c"]
    assert found.vertex_fields["word"]["weight"].tolist() == [1, 2]


def test_features_are_counted_by_samples(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 3:9 4:1 18446744073709551615:1\n0 3:1\n1 3:0 4:2\n0 7:100\n")
    found = load(BlockPG(), path, None, Reading(min_count=2)).train
    ids = found.ids["feature"].values
    assert ids.tolist() == [3, 4] and ids.dtype == np.int64
    assert found.rows == 4


@pytest.mark.parametrize(
    ("program", "text", "code", "value"),
    [
        (LDA(), "1,1,2\n1,2,3\n", "no-is-in-or-more", "a.csv occurs 9 times"),
        (BlockPG(), "1 1:2 3:1\n0 1:1\n", "no-is-in-or-more", "is in 9 samples"),
        (MF(), "1,2,3\n", "reads-neither-documents-nor-samples", "MF"),
    ],
)
def test_what_cannot_be_left_out(tmp_path, program, text, code, value):
    path = tmp_path / ("a.svm" if ":" in text else "a.csv")
    path.write_text(text)
    with pytest.raises((DataError, UsageError), match=message(code, value)):
        load(program, path, None, Reading(min_count=9))
