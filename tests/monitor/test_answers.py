"""The answer to each request: the page, its files and the run, and nothing else."""

import re

import msgspec
import pytest
from support.machines.watched_run import LANES, write

from tux.monitor.watch.access import Access
from tux.monitor.watch.answers import answer, page_files
from tux.monitor.watch.reading import Reader

LOCAL = Access("")


@pytest.fixture
def get(tmp_path):
    """Return ``get(target)``, which gives the answer to a browser of this machine."""
    reader = Reader(write(tmp_path / "run1"))

    def ask(target, host="127.0.0.1:8170", access=LOCAL):
        return answer(access, reader, target, host)

    return ask


def test_the_page_and_all_that_it_names(get):
    page = get("/")
    assert page.status == 200 and page.kind.startswith("text/html")
    text = page.body.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert "static/watch.js" in named and len(named) >= 4
    modules = ["static/watch.js"]
    for name in modules:
        imported = re.findall(r'from "\./([^"]+)"', get(f"/{name}").body.decode())
        modules += [each for one in imported if (each := f"static/{one}") not in modules]
    for name in (*named, *modules):
        found = get(f"/{name}")
        assert found.status == 200 and found.body, name
    assert len(modules) > 5 and get("/static/uPlot-LICENSE.txt").body.startswith(b"The MIT License")


def test_nothing_of_the_page_is_from_elsewhere():
    for name, found in page_files().items():
        text = found.body.decode()
        addresses = {*re.findall(r"https?://[^\s\"'`)<>]+", text)} - {"http://www.w3.org/2000/svg"}
        assert not addresses or "uPlot" in name, (name, addresses)
        assert "innerHTML" not in text or "uPlot" in name, name
        assert not re.search(r"<script(?![^>]*src=)|\sstyle=|\son\w+=", text) or "uPlot" in name, (
            name
        )


def test_all_parts_of_the_page_that_scripts_look_for_are_there():
    page = page_files()[""].body.decode()
    ids = {*re.findall(r'id="([\w-]+)"', page)}
    for name, found in page_files().items():
        for used in re.findall(r'byId\("([\w-]+)"\)', found.body.decode()):
            assert used in ids, (name, used)


def test_what_is_new_of_the_run(get):
    found = get("/data")
    assert (found.status, found.kind) == (200, "application/json")
    news = msgspec.json.decode(found.body)
    assert len(news["records"]["items"]) == 2 and len(news["entries"]["items"]) == 10
    query = f"state={news['digest']}&records={news['records']['cursor']}"
    again = msgspec.json.decode(get(f"/data?{query}&entries={news['entries']['cursor']}").body)
    assert (
        again["state"] is None and not again["records"]["items"] and not again["entries"]["items"]
    )
    place = news["entries"]["items"][2]["place"]
    spans = msgspec.json.decode(get(f"/spans?places={place},7,x,-1,{'9' * 40},²").body)
    assert spans == {"spans": {str(place): LANES}}


@pytest.mark.parametrize(
    "target",
    [
        "/run.json",
        "/static",
        "/static/",
        "/static/../run.json",
        "/static/..%2fwatch.py",
        "/static/%2e%2e/access.py",
        "/../../etc/passwd",
        "//etc/passwd",
        "/data/",
        "/spans/../run.json",
        "/static/watch.js/",
        "/\x00",
    ],
)
def test_there_is_nothing_else(get, target):
    assert get(target).status in (403, 404)


@pytest.mark.parametrize("target", ["", "data", "http://127.0.0.1:8170", "http://["])
def test_what_is_no_path_is_refused(get, target):
    assert get(target).status in (400, 403)


def test_too_long_questions_are_refused(get):
    assert get(f"/data?{'&'.join(f'a{n}=1' for n in range(50))}").status == 400
    assert get(f"/spans?places={','.join(['1'] * 10_000)}").status == 200


def test_other_names_of_this_machine_and_missing_tokens_are_refused(get):
    assert get("/", host="evil.example:8170").status == 403
    assert get("/data", host="").status == 403
    access = Access.of("0.0.0.0")
    for target in ("/", "/data", "/static/watch.js", "/x/data"):
        assert get(target, access=access).status == 403
    assert get(f"/{access.token}/data", host="cluster:80", access=access).status == 200
