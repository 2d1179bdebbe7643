"""Random bad requests: each is refused in one line, and none is a fault of the server."""

import json
import random
from urllib.parse import quote_from_bytes

import msgspec
import pytest
from support.examples import examples
from support.serving import ITEMS

from tux.serve import questions
from tux.serve.questions import RefusedRequest, SimilarQuestion, TopQuestion, edges_of, read_query

GOOD_BODIES = [
    b'{"pairs": [["film 1", 2], ["film 7", 4.5]], "n": 3, "vector": true}',
    b'{"id": 3, "n": 4, "exclude": ["film 1"], "known": false}',
    b'{"id": "film 3", "of": "item"}',
    b'{"pairs": [[3, "film 1"]]}',
]
GOOD_QUERIES = [b"id=3&n=4&exclude=film+1", b"id=film+3&of=item&n=2", b"id=3&known=true"]
PATHS = ["/top", "/similar", "/fold-in", "/scores", "/health", "/", "/top/", "//", "/\x00", "*"]
METHODS = ["GET", "POST", "HEAD", "PUT", "get", "", "\x00"]
TOKENS = [
    *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"true", b"NaN", b"-Infinity", b"1e999"),
    *(
        b"-0",
        b"1" * 400,
        b"0.1",
        b"\\u0000",
        b"\\ud800",
        b"\xff",
        b"\xc0\x80",
        b"\x00",
        b"[" * 5000,
    ),
    *(b'{"a":' * 2000, b'"id"', b'"pairs"', b'"n"', b"1.5", b"18446744073709551616", b"%ff", b"&"),
    *(b"=", b"+", b";", b"id=3", b"n=-1", b"exclude=", b"%", b"%zz", b"\r\n"),
]


def damage(rng, text):
    """Change some bytes of a text, or put tokens into it."""
    found = bytearray(text)
    for _ in range(rng.randint(0, 4)):
        at = rng.randint(0, len(found))
        match rng.randint(0, 3):
            case 0:
                found[at:at] = rng.choice(TOKENS)
            case 1:
                del found[at : at + rng.randint(1, 9)]
            case 2:
                found[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                found[at:at] = found[: rng.randint(0, len(found))]
    return bytes(found)


@pytest.mark.parametrize("seed", range(8))
def test_random_requests_end_in_one_line(als, seed):
    rng, statuses = random.Random(seed), {}
    for _ in range(examples(1500)):
        how = {
            "method": rng.choice(METHODS[:2]) if rng.random() < 0.9 else rng.choice(METHODS),
            "query": damage(rng, rng.choice([b"", *GOOD_QUERIES])),
        }
        if how["method"] == "POST":
            how["body"] = damage(rng, rng.choice(GOOD_BODIES))
            how["query"] = b"" if rng.random() < 0.9 else how["query"]
        found = als(rng.choice(PATHS[:4]) if rng.random() < 0.9 else rng.choice(PATHS), **how)
        assert found.status == 200 or 400 <= found.status < 500, (how, found)
        if found.status != 200:
            assert 0 < len(found.json["error"]) <= questions.TOLD
        assert all(len(each) <= ITEMS for each in found.json.values() if isinstance(each, list))
        statuses[found.status] = statuses.get(found.status, 0) + 1
    assert {200, 400, 404, 405} <= statuses.keys()


def test_a_list_is_given_by_its_name_again():
    asked = read_query(b"id=7&exclude=a%26b&exclude=c&n=3", TopQuestion)
    assert asked == TopQuestion("7", 3, ["a&b", "c"])
    assert read_query(b"id=+x&of=", SimilarQuestion) == SimilarQuestion(" x")


def test_an_id_may_be_any_text():
    name = 'Łódź 50% = "x" & \\ ,;'
    asked = read_query(f"id={quote_from_bytes(name.encode())}".encode(), TopQuestion)
    assert asked.id == name
    assert questions.read_body(json.dumps({"id": name}).encode(), TopQuestion).id == name


def test_too_many_words_are_refused():
    with pytest.raises(RefusedRequest):
        read_query(b"&".join([b"exclude=1"] * 10_001), TopQuestion)
    with pytest.raises(RefusedRequest):
        read_query(b"id=3&" + b"&".join([b"exclude=1"] * 10_000), TopQuestion)


def test_what_is_wrong_is_told_in_one_short_line():
    refusal = RefusedRequest(400, "a\nb\ud800" + "x" * 500)
    assert refusal.text.startswith("a\\nb\\ud800") and len(refusal.text) == questions.TOLD
    msgspec.json.encode(refusal.text)


def test_numbers_of_pairs():
    assert edges_of([[1], ["a"]]) == ([1, "a"], None)
    assert edges_of([[1, 2], ["a", 0.5]]) == ([1, "a"], [2.0, 0.5])
    for pair in ([1, 10**400], [1, float("nan")], [1, "2"], [0.5, 1]):
        with pytest.raises(RefusedRequest):
            edges_of([pair])
