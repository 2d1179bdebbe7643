"""Text that is not UTF-8: each reader says how to convert it."""

import pytest
from support.messages import message

from tux.base.errors import DataError
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples

ENDS = ("user", "item")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_named(file, encoding):
    path = file("user,item,value\nann,b,1\n".encode(encoding), "a.csv")
    name = encoding[:6].upper()
    with pytest.raises(DataError, match=f"is text in {name}") as error:
        read_edges(path, ENDS, {"value": "f4"})
    assert f"iconv -f {encoding.upper()[:6]}{encoding[-2:].upper()} -t UTF-8" in error.value.do


@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_edges(path, ENDS, {}),
        lambda path: read_samples(path),
        lambda path: read_bags(path, form="text"),
        lambda path: read_bags(path, form="text", vocab=path),
        lambda path: read_samples(path, labels=path, form="svm"),
    ],
)
def test_what_to_do_about_lines_of_another_encoding(file, read):
    path = file("y,a\n1,x\n0,caf\xe9\n".encode("latin-1"), "s.csv")
    with pytest.raises(DataError, match=message("is-not-utf-8-text", "the line")) as error:
        read(path)
    assert error.value.where == f"{path}:3" and "iconv -f LATIN1" in error.value.do
