"""The types of a program's rows, as a module."""

import importlib.util
import keyword
from typing import NamedTuple

import numpy as np
import pytest
from support.programs.annotated import AnnotatedRatings
from support.programs.typed_programs import SocialShop

from tux.apps.deepwalk import DeepWalk
from tux.program.fields import argmax, data, mirror, shared, total, value
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Edge, Vertex
from tux.program.vertex_params import vertex_param
from tux.stages import Apply
from tux.stages.analysis.row_types import declare_rows


@pytest.fixture
def classes(tmp_path):
    """Return the members of each class that is declared for a program: type and docstring; only the
    type of what may be assigned.
    """

    def declare(program):
        path = tmp_path / "it_rows.py"
        path.write_text(declare_rows(program, "it", "it_rows"))
        spec = importlib.util.spec_from_file_location("it_rows", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found = {name: kind for name, kind in vars(module).items() if isinstance(kind, type)}
        return {name: members(kind) for name, kind in found.items()}

    return declare


def members(kind):
    properties = {n: p.fget for n, p in vars(kind).items() if isinstance(p, property)}
    read_only = {n: (f.__annotations__["return"], f.__doc__) for n, f in properties.items()}
    return read_only | vars(kind).get("__annotations__", {})


def test_rows_of_two_types(classes):
    found = classes(AnnotatedRatings())
    number = "int", "int32: the number of the vertex in the model"
    assert found["User"] == {
        "id": number,
        "f": ("npt.NDArray[np.float32]", "shared: float32 (rank)"),
        "bias": "float",
    }
    assert found["Item"] == {
        "id": number,
        "f": ("npt.NDArray[np.float32]", "value: float32 (rank)"),
        **{"mean": "float", "sum": "float", "seen": "int"},
    }
    assert found["Rating"] == {"value": ("float", "data: float32")}
    assert found["UserEdge"] == {"item": ("Item", "The row at the other end.")}
    assert found["ItemEdge"] == {"user": ("User", "The row at the other end.")}
    assert found["Tau"] == {
        "best": ("Extreme", "argmax: float64 with an integer key"),
        **{"most": "float", "lost": "float", "loss": "float"},
    }
    assert found["Parameters"] == {
        "rank": ("int", "latent dimensions"),
        "step": ("float", 'the "step"'),
        "measure": ("_support_programs_annotated.Measure", "the loss"),
        "workers": ("int", "the number of workers"),
        "slack": ("int", "the number of clocks that workers may be apart"),
        "known": (
            "int",
            "the vertices at the first end that the model has with which the run begins",
        ),
    }


def test_what_parameters_of_functions_are_called():
    text = declare_rows(AnnotatedRatings(), "it", "it_rows")
    for line in ("user: User", "v: User or Item", "edges: UserEdges or ItemEdges", "rng: Rng"):
        assert f"    {line}\n" in text
    assert "    from it_rows import User, Item\n" in text


def by_size(p):
    return (p.size,) if p.size else ()


class TwoRoots(NamedTuple):
    large: object


class OddShapes(Program):
    size: int = param(0, "entries, or 0", low=0)
    kinds: int = param(3)
    name: str = param("a")
    rule: str = param("log", choices={"log": np.log, "both": TwoRoots(np.sqrt)})
    start: str = vertex_param("protocol_x")
    protocol_x = Vertex(
        one=value("f8", by_size),
        w=value("f8", "kinds", 2),
        on=value("b1", "kinds"),
        list=mirror("u4", "edges"),
        age=data("i4"),
    )
    tau = Context(far=argmax("kinds"), count=total("i8"), open=shared("b1"))
    rng_x = Edge("protocol_x", "protocol_x")

    def stages(self):
        return [Apply("protocol_x", print, each="w")]


def test_rows_of_one_type_and_unusual_fields(classes):
    found = classes(OddShapes(start="a"))
    assert found["ProtocolX"] | {"id": None} == {
        "id": None,
        "one": "typing.Any",  # a number or a vector
        "w": ("npt.NDArray[np.float64]", "value: float64 (kinds, 2)"),
        "on": ("npt.NDArray[np.bool_]", "value: bool (kinds)"),
        "list": ("npt.NDArray[np.uint32]", "mirror: uint32 (edges)"),
        "age": ("int", "data: int32"),
    }
    entry = found["ProtocolXWEntry"]
    assert entry["w"] == ("npt.NDArray[np.float64]", "value: float64 (2)")
    assert entry["on"] == "bool" and entry.keys() == {"id", "w", "on"}
    assert found["SrcEdge"]["dst"][0] == found["DstEdge"]["src"][0] == "ProtocolX"
    assert found["Tau"]["far"] == ("Extremes", "argmax: float64 with an integer key, kinds")
    assert found["Tau"]["open"] == "bool" and found["Tau"]["count"] == "int"
    assert found["Parameters"]["start"] == ("int", "parameter: the number of a protocol_x")
    assert "name" not in found["Parameters"]
    assert found["Parameters"]["rule"][0] == (
        f"_{__name__.replace('.', '_')}.TwoRoots | typing.Callable[..., typing.Any]"
    )


def test_lists_of_generate_and_the_whole_graph(classes):
    found = classes(DeepWalk())
    assert found["ListedNodeEdge"] == {"node": ("Node", "The row at the other end.")}
    assert {"bounds", "ends"} <= found["Topology"].keys()


class SameNames(Program):
    tau_x = Vertex()
    tauX = Vertex()  # noqa: N815
    rng_ = Edge("tau_x", "tauX")


def test_each_class_has_a_name_of_its_own(classes):
    class Empty(SameNames):
        def stages(self):
            return []

    found = classes(Empty())
    assert {"TauX", "TauX_", "Rng_", "Rng"} <= found.keys()
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in found)


def test_rows_of_several_edge_types(classes):
    found = classes(SocialShop())
    assert found["Tagged"] == {"seen": "int"} and found["Friend"] == {}
    far = "The row at the other end."
    assert found["UserEdge"] == {"item": ("Item", far)}
    assert found["TaggedItemEdge"] == {"tag": ("Tag", far)}
    assert found["FriendSrcEdge"] == {"dst": ("User", far)}
    assert "user: User" in declare_rows(SocialShop(), "it", "it_rows")
