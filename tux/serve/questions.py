"""Questions to a model, as they come in a request: a query, or a body of JSON. Whatever comes is
checked here against types and limits, before anything is computed or memory is taken for it.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from tux.base.text import did_you_mean, one_line

MAX_FOUND, MAX_IDS, MAX_PAIRS = 1000, 10_000, 10_000
"""The most that may be asked for, excluded, and given as pairs."""

TOLD = 200  # characters of what is wrong

Id = int | str
Count = Annotated[int, Meta(ge=1, le=MAX_FOUND)]
IdList = Annotated[list[Id], Meta(max_length=MAX_IDS)]
Asked = TypeVar("Asked", bound="Question")


class RefusedRequest(Exception):
    """A request that is not answered as it was meant: a status of HTTP, and one line why."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, one_line(text)[:TOLD]
        super().__init__(self.text)


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """The base of all questions."""


class TopQuestion(Question):
    """The question for the best `n` items of a user whom the model knows, without those of
    `exclude`, and without those that the user is known to have, unless `known`.
    """

    id: Id
    n: Count = 10
    exclude: IdList = []
    known: bool = False


class SimilarQuestion(Question):
    """The question for the `n` vertices nearest to one by the cosine of their vectors. `of`: the
    type, or the vectors, as "item.f".
    """

    id: Id
    n: Count = 10
    of: str = ""


class FoldInQuestion(Question):
    """The question for the vector of a new vertex of the end `of`, by its edges to vertices that
    the model knows: `pairs` of their ids and the numbers of the edges. If there are best items
    for it, `n` of them are found, without those of the pairs unless `known`. The `vector` is told
    if it is asked for, or if there is nothing else.
    """

    pairs: Annotated[
        list[Annotated[list[int | str | float], Meta(min_length=1, max_length=2)]],
        Meta(min_length=1, max_length=MAX_PAIRS),
    ]
    of: str = ""
    n: Count = 10
    known: bool = False
    vector: bool = False


class ScoresQuestion(Question):
    """The question for the scores of `pairs` of a user and an item."""

    pairs: Annotated[list[tuple[Id, Id]], Meta(min_length=1, max_length=MAX_PAIRS)]


def read_query(query: bytes, kind: type[Asked]) -> Asked:
    """Read a question from the query of an address, such as ``id=7&n=3``. A list is given by
    repeating its name. Raises RefusedRequest.
    """
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            errors="strict",
            max_num_fields=MAX_IDS,
        )
    except ValueError as error:  # those of Unicode are such errors, too
        raise RefusedRequest(400, f"the query cannot be read: {error}") from None
    given: dict[str, Any] = {}
    for name, text in pairs:
        if name == "exclude":
            given.setdefault(name, []).append(text)
        elif name in given:
            raise RefusedRequest(400, f"{name} is given twice")
        else:
            given[name] = _value(name, text)
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise RefusedRequest(400, _explain(error, given, kind)) from None


def read_body(body: bytes, kind: type[Asked]) -> Asked:
    """Read a question from JSON. Raises RefusedRequest."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedRequest(400, f"this is not the JSON that is needed: {error}") from None


def edges_of(pairs: list[list[int | str | float]]) -> tuple[list[Id], list[float] | None]:
    """Return the ids and the numbers of pairs; no numbers if no pair has one. RefusedRequest for an
    id that is none, a number that is none or not finite, and where only some have numbers.
    """
    lengths = {len(pair) for pair in pairs}
    if len(lengths) > 1:
        raise RefusedRequest(400, "some pairs have a number, and some have none")
    ids: list[Id] = []
    for pair in pairs:
        if not isinstance(pair[0], int | str):
            raise RefusedRequest(400, f"an id is a string or a whole number, not {pair[0]}")
        ids.append(pair[0])
    if lengths == {1}:
        return ids, None
    numbers: list[float] = []
    for pair in pairs:
        number = math.nan if isinstance(pair[1], str) else _to_float(pair[1])
        if not math.isfinite(number):
            raise RefusedRequest(400, "the second of a pair is a finite number")
        numbers.append(number)
    return ids, numbers


def _to_float(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _value(name: str, text: str) -> Any:
    """Convert the text of a query to the type that a name has. RefusedRequest."""
    if name == "n":
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
            raise RefusedRequest(400, f"n is a whole number from 1 to {MAX_FOUND:,}")
        return int(text)
    if name == "known":
        if text not in ("true", "false"):
            raise RefusedRequest(400, f"{name} is true or false")
        return text == "true"
    return text


def _explain(error: Exception, given: dict[str, Any], kind: type[Question]) -> str:
    """Say what is wrong with a query, with the closest name if one is unknown."""
    names = kind.__struct_fields__
    if unknown := [name for name in given if name not in names]:
        near = did_you_mean(unknown[0], names)
        return f"unknown: {unknown[0]}; {near}there are: {', '.join(names)}"
    return str(error)
