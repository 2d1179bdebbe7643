"""Questions and answers of the server without sockets: the answers are those of `tux.Run`."""

import asyncio
import json
from urllib.parse import urlencode

import numpy as np
import pytest
from support.messages import message
from support.serving import ITEMS, TOKEN, Asking, client_of, train

import tux
from tux.api.result import trained_model
from tux.serve import app as module
from tux.serve.answering import AnsweringModel, load_model
from tux.serve.app import ServerApp
from tux.serve.current import FixedModel


def query(**words):
    """Write the words of a query."""
    return urlencode(words, doseq=True)


# Answers.


def test_the_health(als):
    found = als("/health")
    assert found.status == 200 and found.json == {
        "status": "ok",
        "app": "als",
        "vertices": {"user": 12, "item": ITEMS},
        "models": 1,
    }
    assert als("/health", method="HEAD").status == 200


@pytest.mark.parametrize("user", [0, 7, 11])
def test_the_best_items_are_those_of_the_run(als, run, runs, user):
    found = als(f"/top?id={user}&n=5&known=true").json
    expected = run.recommend([user], 5)
    assert found["id"] == user and found["of"] == "item"
    assert found["ids"] == expected["item"].tolist()
    np.testing.assert_array_equal(np.float32(found["scores"]), expected["score"])
    assert als("/top", {"id": user, "n": 5, "known": True}).json == found
    new = als(f"/top?id={user}&n=5").json
    left = run.recommend([user], 5, exclude=str(runs / "ratings.csv"))
    assert new["ids"] == left["item"].tolist()


def test_some_more_may_be_excluded(als):
    first = als("/top?id=3&n=6").json["ids"]
    words = query(id=3, n=3, exclude=[first[0], first[2], "film unknown"])
    assert als(f"/top?{words}").json["ids"] == [first[1], *first[3:5]]
    assert als("/top", {"id": "3", "n": 3, "exclude": first[:1]}).json["ids"] == first[1:4]


def test_there_may_be_fewer(als, runs):
    rated = (runs / "ratings.csv").read_text().count("\n3,")
    assert len(als("/top?id=3&n=1000").json["ids"]) == ITEMS - rated
    assert len(als("/similar?id=film+3&n=1000").json["ids"]) == ITEMS - 1


def test_similar_ones_are_those_of_the_run(als, run):
    for of, id_ in (("item", "film 3"), ("", "film 0"), ("user", 5), ("user.f", 0)):
        found = als(f"/similar?{query(id=id_, n=4, **({'of': of} if of else {}))}").json
        expected = run.similar([id_], 4, field="user.f" if of.startswith("user") else "item.f")
        assert found["ids"] == expected["similar"].tolist()
        np.testing.assert_allclose(found["cosines"], expected["cosine"], atol=1e-6)


def test_a_new_user_is_folded_in(als, run):
    pairs = [["film 3", 5], ["film 9", 1.5], ["film 20", 4], ["no film", 3]]
    found = als("/fold-in", {"pairs": pairs, "n": 4, "vector": True}).json
    given = {"user": ["x"] * 3, "item": [p[0] for p in pairs[:3]], "value": [5, 1.5, 4]}
    new = run.fold_in(given)
    np.testing.assert_array_equal(np.float32(found["vector"]), new["f"][0])
    expected = run.recommend(new, 4, exclude=given)
    assert found["ids"] == expected["item"].tolist() and found["unknown"] == 1
    np.testing.assert_array_equal(np.float32(found["scores"]), expected["score"])
    every = als("/fold-in", {"pairs": pairs, "n": ITEMS, "known": True}).json
    assert len(every["ids"]) == ITEMS and "vector" not in every


def test_a_new_item_gets_a_vector(als, run):
    found = als("/fold-in", {"pairs": [[3, 5], ["7", 1]], "of": "item"}).json
    new = run.fold_in({"user": [3, 7], "item": ["x", "x"], "value": [5, 1]}, of="item")
    assert found == {"unknown": 0, "vector": new["f"][0].tolist()}


def test_scores_of_pairs(als, run):
    pairs = [[0, "film 1"], ["7", "film 30"], [0, "film 1"]]
    table = {"user": [0, 7, 0], "item": [p[1] for p in pairs]}
    np.testing.assert_allclose(
        als("/scores", {"pairs": pairs}).json["scores"], run.predict(table), rtol=1e-6
    )


def test_the_vector_of_a_new_user_has_its_bias(runs, tmp_path):
    train("als", runs / "ratings.csv", tmp_path / "biased", rank=2, biases=True)
    client, run = client_of(tmp_path / "biased"), tux.load(tmp_path / "biased")
    found = client("/fold-in", {"pairs": [["film 3", 5], ["film 9", 1]], "vector": True}).json
    given = {"user": ["x"] * 2, "item": ["film 3", "film 9"], "value": [5, 1]}
    new = run.fold_in(given)
    assert np.float32(found["bias"]) == new["bias"][0]
    best = run.vertices["item"].at(found["ids"])
    scores = best["f"] @ new["f"][0] + best["bias"] + new["bias"][0] + run.context["mean"][0]
    np.testing.assert_allclose(found["scores"], scores, rtol=1e-5)
    item = client("/fold-in", {"pairs": [[3, 5]], "of": "item"}).json
    assert {*item} == {"unknown", "vector", "bias"}


@pytest.mark.parametrize(("kind", "field"), [("user", "f"), ("user", "bias"), ("item", "f")])
def test_numbers_that_are_not_finite_are_refused_when_they_are_loaded(runs, kind, field):
    run = tux.run(
        tux.ALS(rank=2, biases=True),
        str(runs / "ratings.csv"),
        epochs=1,
        jit=False,
        progress=False,
    )
    run.vertices[kind][field][2] = np.nan
    with pytest.raises(tux.DataError, match=message("vectors-of-the-model-are")):
        AnsweringModel(trained_model(run), run._model())


def test_a_new_user_of_pairs_is_folded_in(runs):
    client, run = client_of(runs / "bpr"), tux.load(runs / "bpr")
    films = ["film 3", "film 9", "film 20"]
    given = {"user": ["x"] * 3, "item": films}
    expected = run.fold_in(given)
    for pairs in ([[film] for film in films], [[film, 5] for film in films]):
        found = client("/fold-in", {"pairs": pairs, "n": 4, "vector": True}).json
        np.testing.assert_array_equal(np.float32(found["vector"]), expected["f"][0])
        assert found["ids"] == run.recommend(expected, 4, exclude=given)["item"].tolist()
    refused = client("/fold-in", {"pairs": [[3]], "of": "item"})
    assert refused.status == 400 and "cannot fold in a new item" in refused.json["error"]


def test_other_models_answer_what_they_can(runs):
    nodes, topics = client_of(runs / "deepwalk"), client_of(runs / "lda")
    walked = tux.load(runs / "deepwalk")
    assert nodes("/similar?id=3&n=2").json["ids"] == walked.similar([3], 2)["similar"].tolist()
    for path in ("/top?id=3", "/top?id=0"):
        assert nodes(path).status == 404 and "inner products" in nodes(path).json["error"]
    expected = walked.fold_in([(77, 3), (77, 5)])["u"][0]
    found = nodes("/fold-in", {"pairs": [[3], [5], [99]]}).json
    np.testing.assert_array_equal(np.float32(found["vector"]), expected)
    assert found["unknown"] == 1
    found = topics("/fold-in", {"pairs": [["w1", 2], ["w4", 1]]}).json
    new = {"document": ["x", "x"], "word": ["w1", "w4"], "count": [2, 1]}
    np.testing.assert_allclose(found["vector"], tux.load(runs / "lda").predict(new)[0], rtol=1e-6)
    assert topics("/similar?id=w1").status == 404


# Refusals.

BAD = {
    "no path": ("/", 404, "no such path"),
    "no such path": ("/topp?id=3", 404, "no such path"),
    "no id": ("/top?n=3", 400, "id"),
    "an unknown id": ("/top?id=99", 404, "the model knows no user 99"),
    "an id that is written otherwise": ("/top?id=07", 404, "no user 07"),
    "a huge id": ("/top?id=99999999999999999999999", 404, "no user"),
    "n of 0": ("/top?id=3&n=0", 400, "n"),
    "a negative n": ("/top?id=3&n=-1", 400, "n is a whole number"),
    "n with a fraction": ("/top?id=3&n=1.5", 400, "n is a whole number"),
    "a large n": ("/top?id=3&n=1001", 400, "<= 1000"),
    "a huge n": ("/top?id=3&n=" + "9" * 5000, 400, "n is a whole number"),
    "n in other digits": ("/top?id=3&n=%D9%A3", 400, "n is a whole number"),
    "two ids": ("/top?id=3&id=4", 400, "id is given twice"),
    "a wrong word": ("/top?id=3&nn=4", 400, "did you mean n?"),
    "no word": ("/top?id", 400, "the query cannot be read"),
    "bad UTF-8": ("/top?id=%ff", 400, "the query cannot be read"),
    "known what": ("/top?id=3&known=maybe", 400, "true or false"),
    "no such vectors": ("/similar?id=3&of=film", 404, "the model has no vectors 'film'"),
    "an id of the other type": ("/similar?id=3&of=item", 404, "no item 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_query_is_refused(als, case):
    target, status, words = BAD[case]
    found = als(target)
    assert found.status == status and words in found.json["error"]


BAD_BODIES = {
    "nothing": (b"", 400),
    "no JSON": (b"pairs", 400),
    "half of it": (b'{"pairs": [["film 1", 2]', 400),
    "bad UTF-8": (b'{"pairs": [["\xff", 2]]}', 400),
    "a lone surrogate": (b'{"pairs": [["\\ud800", 2]]}', (400, 404)),
    "deep": (b"[" * 100_000, 400),
    "deep in an object": (b'{"pairs": ' + b"[" * 100_000, 400),
    "NaN": (b'{"pairs": [["film 1", NaN]]}', 400),
    "a number beyond all": (b'{"pairs": [["film 1", 1e999]]}', 400),
    "a long integer": (b'{"pairs": [["film 1", ' + b"9" * 400 + b"]]}", 400),
    "a number that no rating can be": (b'{"pairs": [["film 1", 1e300]]}', 400),
    "text for a number": (b'{"pairs": [["film 1", "5"]]}', 400),
    "null": (b'{"pairs": null}', 400),
    "no pairs": (b'{"pairs": []}', 400),
    "pairs of three": (b'{"pairs": [["film 1", 2, 3]]}', 400),
    "an empty pair": (b'{"pairs": [[]]}', 400),
    "an id with a fraction": (b'{"pairs": [[1.5, 2]]}', 400),
    "a truth value": (b'{"pairs": [[true, 2]]}', 400),
    "some without numbers": (b'{"pairs": [["film 1", 2], ["film 2"]]}', 400),
    "none with numbers": (b'{"pairs": [["film 1"]]}', 400),
    "no known item": (b'{"pairs": [["film x", 2]]}', 404),
    "an unknown end": (b'{"pairs": [["film 1", 2]], "of": "film"}', 400),
    "n of 0": (b'{"pairs": [["film 1", 2]], "n": 0}', 400),
    "n as text": (b'{"pairs": [["film 1", 2]], "n": "3"}', 400),
    "an unknown word": (b'{"pairs": [["film 1", 2]], "m": 3}', 400),
    "too many pairs": (json.dumps({"pairs": [["film 1", 2]] * 10_001}).encode(), 400),
    "an array": (b'[["film 1", 2]]', 400),
    "too long": (b" " * (module.MAX_BODY + 1), 413),
}


@pytest.mark.parametrize("case", BAD_BODIES)
def test_a_bad_body_is_refused(als, case):
    body, status = BAD_BODIES[case]
    found = als("/fold-in", body)
    assert found.status in np.atleast_1d(status) and 0 < len(found.json["error"]) <= 200


def test_other_methods_are_refused(als):
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
        found = als("/top?id=3", method=method)
        assert found.status == 405 and found.headers[b"allow"] == b"GET, HEAD, POST"
    assert als("/fold-in", method="GET").headers[b"allow"] == b"POST"
    assert als("/health", method="POST").headers[b"allow"] == b"GET, HEAD"
    assert als("/top?id=3", {"id": 3}).status == 400  # which of them


def test_a_body_in_pieces_is_limited(als):
    one = b'{"pairs": [["film 1", 2]]}'
    assert als("/fold-in", method="POST", pieces=[one[:9], b"", one[9:]]).status == 200
    piece = b" " * (1 << 18)
    taken = []

    def pieces(count):
        for number in range(count):
            taken.append(number)
            yield piece

    class Counted:
        def __iter__(self):
            return pieces(1000)

        def __len__(self):
            return 1000

    found = als("/fold-in", method="POST", pieces=Counted())
    assert found.status == 413 and found.headers[b"connection"] == b"close"
    assert len(taken) <= module.DROPPED_BODY // len(piece) + 1
    told = [(b"content-length", b"99999999999")]
    taken.clear()
    assert als("/fold-in", method="POST", pieces=Counted(), headers=told).status == 413
    assert not taken


def test_a_client_that_dawdles_is_told_so(als, monkeypatch):
    monkeypatch.setattr(module, "BODY_SECONDS", 0.01)

    class Slow(Asking):
        async def _run(self, scope, pieces, count):
            sent = []

            async def receive():
                await asyncio.sleep(60)

            async def send(message):
                sent.append(message)

            await self.app(scope, receive, send)
            return sent[0]["status"]

    assert Slow(als.app)("/fold-in", {}) == 408


def test_a_client_that_has_gone_gets_nothing(als):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/fold-in", "query_string": b""}
    asyncio.run(als.app(scope | {"headers": [(b"host", b"localhost")]}, receive, send))
    assert sent == []


def test_too_many_at_a_time_are_turned_away(als, monkeypatch):
    monkeypatch.setattr(module, "MAX_REQUESTS", 0)
    found = als("/top?id=3")
    assert found.status == 503 and found.headers[b"retry-after"] == b"1"


def test_a_fault_is_told_and_ends_nothing(runs):
    told = []
    client = Asking(ServerApp(FixedModel(load_model(runs / "als")), tell=told.append))

    def fail(*given):
        raise ZeroDivisionError("of the test")

    client.app._current.model._best = fail
    found = client("/top?id=3")
    assert found.status == 500 and found.json == {"error": "a fault of the server"}
    assert told == ["/top: ZeroDivisionError: of the test"]
    assert client("/health").status == 200


# Access.


def test_a_page_of_another_site_gets_nothing(als):
    for host in (b"evil.example", b"192.168.0.1:8171", b"", b"\xff\xfe"):
        assert Asking(als.app, host)("/top?id=3").status == 403
    for host in (b"localhost", b"127.0.0.1:9", b"[::1]:8171"):
        assert Asking(als.app, host)("/top?id=3").status == 200


def test_with_a_token_only_who_has_it_is_answered(als):
    client = Asking(ServerApp(als.app._current, TOKEN), b"any.example")
    right = TOKEN.encode()
    for given in (b"Bearer " + right, b"bearer  " + right):
        assert client("/top?id=3", headers=[(b"authorization", given)]).status == 200
    for given in (right, b"Bearer", b"Bearer " + right[:-1], b"Basic " + right, b"\xff \xff"):
        found = client("/top?id=3", headers=[(b"authorization", given)])
        assert found.status == 401 and found.headers[b"www-authenticate"] == b"Bearer"
        assert TOKEN not in str(found.json)
    assert client("/health").status == 401


def test_a_page_of_another_site_cannot_have_it_work(als):
    """A browser names the machine's own interface as the host then, and where the page is from."""
    others = [
        (b"origin", b"https://evil.example"),
        (b"origin", b"null"),
        (b"sec-fetch-site", b"cross-site"),
    ]
    for header in others:
        body = {"pairs": [["film 3", 5]]}
        assert als("/fold-in", body, headers=[header]).status == 403
    own = [
        (b"origin", b"http://localhost:3000"),
        (b"origin", b"http://[::1]"),
        (b"sec-fetch-site", b"same-origin"),
        (b"sec-fetch-site", b"none"),
    ]
    for header in own:
        assert als("/top?id=3", headers=[header]).status == 200
    client = Asking(ServerApp(als.app._current, TOKEN))
    token = (b"authorization", b"Bearer " + TOKEN.encode())
    assert client("/top?id=3", headers=[token, others[0]]).status == 200
