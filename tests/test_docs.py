"""The documents: what they name exists, and the program of the README does what the README says,
against networkx.
"""

import pkgutil
import re
import tomllib
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.programs.shown import write_shown_program

import tux
from tux.arrays.arrow import read_parquet
from tux.arrays.networks import to_networkx
from tux.cli.main import main
from tux.io.edges.read import read_edges
from tux.run_folder.folder import read_metrics

PROGRAM = "docs/pagerank.py"
ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "apps/*/*.md", "fuzz/*.md", "faults/*.md")
    for path in sorted(ROOT.glob(pattern))
}
TOPS = ("tux", "partition", "stages", "apps", "tests", "bench", "fuzz", "docs", "deploy", ".ci")

APPS_WITH_PAGES = sorted(path.parent.name for path in ROOT.glob("apps/*/__init__.py"))
STAGE_WITH_FUNCTION = r'\b(?:Exchange|GlobalSync|Score|Generate|Apply\((?:"\w+"|\w+), )\(?(\w+)'
"""A stage as pages draw it, and the first function that it is given."""


def prose(text):
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def quoted_words(text):
    """Return the words between back quotes in a page, outside its blocks of code."""
    return re.findall(r"`([^`\s]+)`", prose(text))


def anchors(text):
    """Yield the headings of a page, as links name them."""
    for heading in re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    for name in quoted_words(PAGES[page]):
        if "NAME" not in name and re.fullmatch(
            rf"({'|'.join(map(re.escape, TOPS))})/[\w./-]*", name
        ):
            assert (ROOT / name).exists(), f"{page} names {name}"


@pytest.mark.parametrize("page", PAGES)
def test_python_names_exist(page):
    for name in quoted_words(PAGES[page]):
        if re.fullmatch(r"tux\.[\w.]+", name):
            pkgutil.resolve_name(name)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(PAGES[page])):
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert "://" in link or target.exists(), f"{page} links to {link}"
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def test_answers_name_what_their_files_define():
    """In CONTRIBUTING.md, "Where is what": each function and class, by the files of its row."""
    rows = PAGES["CONTRIBUTING.md"].split("## Where is what")[1].split("\n## ")[0].splitlines()
    names = set()
    for row in rows:
        code = "".join(
            (ROOT / name).read_text() for name in quoted_words(row) if name.endswith(".py")
        )
        for name in quoted_words(row) if row.startswith("|") else ():
            if re.fullmatch(r"[A-Za-z]+(\.[a-z_]+)?", name):
                names.add(name)
                for part, kind in zip(name.split("."), ("class|def", "def"), strict=False):
                    assert re.search(rf"^ *({kind}) {part}\b", code, re.MULTILINE), row
    assert "Clock.may_start" in names


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short(page):
    for number, line in enumerate(prose(PAGES[page]).splitlines(), 1):
        assert len(line) <= 100 or line.startswith("|") or "://" in line, (
            f"{page}: {line} ({number})"
        )


@pytest.mark.parametrize("app", APPS_WITH_PAGES)
def test_the_page_of_an_app_names_its_files(app):
    page = f"apps/{app}/README.md"
    files = {path.name for path in (ROOT / "apps" / app).glob("*.py")} - {"__init__.py"}
    assert {name for name in quoted_words(PAGES[page]) if re.fullmatch(r"\w+\.py", name)} == files


@pytest.mark.parametrize("app", APPS_WITH_PAGES)
def test_the_stages_of_a_page_name_functions_of_apps(app):
    """A line such as `Exchange(weigh_sample)  GlobalSync(begin)`."""
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("apps/*/*.py")]
    defined = {name for text in sources for name in re.findall(r"\bdef (\w+)\(", text)}
    drawn = re.findall(r"^    .*$", PAGES[f"apps/{app}/README.md"], re.MULTILINE)
    named = set(re.findall(STAGE_WITH_FUNCTION, "\n".join(drawn))) - {"None"}
    assert named and named <= defined, named - defined


def test_each_folder_of_tests_has_a_row():
    text = (ROOT / "tests/README.md").read_text(encoding="utf-8")
    firsts = "".join(re.findall(r"^\| `.*?` \|", text, re.MULTILINE))
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert set(re.findall(r"`(\w+)/`", firsts)) == folders | {"golden"}


def test_each_dependency_has_a_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    names = {re.match(r"[\w-]+", each)[0] for each in wanted}
    rows = re.findall(r"^\| ([\w, -]+) \|", PAGES["docs/dependencies.md"], re.MULTILINE)
    assert names == set(", ".join(rows[1:]).split(", "))


def programs_for_readers():
    """Yield the Python that pages show, and the programs beside them."""
    for page, text in PAGES.items():
        if page == "README.md" or page.startswith("docs/"):
            for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
                yield page, block
    for path in [ROOT / PROGRAM, *sorted(ROOT.glob("docs/examples/*.py"))]:
        yield path.name, path.read_text(encoding="utf-8")


def test_pages_and_examples_use_public_names_alone():
    for place, code in programs_for_readers():
        found = re.findall(r"^ *(?:from|import) +(tux[.\w]*)", code, re.MULTILINE)
        assert {*found} <= {"tux"}, place
        for name in re.findall(r"\btux\.(\w+)", code):
            assert name in dir(tux) and not name.startswith("_"), (place, name)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_pages_name_public_names_alone(page):
    for name in quoted_words(PAGES[page]):
        if found := re.fullmatch(r"tux\.(\w+)[.\w]*(\(.*)?", name):
            assert found[1] in tux._MODULES, f"{page} names {name}"


def ranks(folder):
    page = read_parquet(folder / "model" / "page.parquet")
    return dict(zip(page["id"].tolist(), page["rank"].tolist(), strict=True))


def check_ranks(found, graph):
    expected = nx.pagerank(graph, tol=1e-14, max_iter=1000)
    assert found.keys() == expected.keys()
    assert max(abs(found[v] - expected[v]) for v in expected) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("how", [[], ["--no-jit"]])
def test_pagerank_of_a_drawn_graph(tmp_path, how):
    r"""
    a --> b --> c      d hangs on c, and links to nothing
    ^----------/ \---> d
    """
    links = tmp_path / "links.txt"
    links.write_text("a b\nb c\nc a\nc d\n")
    assert main(["run", PROGRAM, str(links), "--out", str(tmp_path / "out"), *how]) == 0
    check_ranks(
        ranks(tmp_path / "out"), nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    )
    changes = [record["change"] for record in read_metrics(tmp_path / "out")]
    assert changes[-1] < 1e-10 <= changes[-2] and len(changes) < 200


@pytest.mark.long
def test_the_program_with_generated_edges(tmp_path):
    r"""
    a --> b --> c    on a circle, a walk of 4 from any page visits it twice and the others once
    ^-----------/
    """
    program, links = write_shown_program("Visits", tmp_path), tmp_path / "links.txt"
    links.write_text("a b\nb c\nc a\n")
    flags = ["--length", "4", "--check", "--out", str(tmp_path / "out")]
    assert main(["run", str(program), str(links), *flags]) == 0
    page = read_parquet(tmp_path / "out" / "model" / "page.parquet")
    assert page["visits"].tolist() == [4, 4, 4]


@pytest.mark.slow
def test_pagerank_of_a_real_graph(tmp_path, real_data):
    links = real_data / "graphs" / "wiki-Vote.txt.gz"
    assert main(["run", PROGRAM, str(links), "--out", str(tmp_path / "out")]) == 0
    check_ranks(ranks(tmp_path / "out"), to_networkx(read_edges(links, ("page", "page"), {})))


@pytest.mark.slow
def test_mf_on_movielens(tmp_path, real_data):
    """Quality is a fact of the data and the seed; speed is shown by bench/."""
    data = real_data / "ratings" / "ml-1m"
    flags = [
        "--rank",
        "64",
        "--reg",
        "0.05",
        "--epochs",
        "12",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert (
        main(
            [
                "run",
                "mf",
                str(data / "ml-1m.train.dat.gz"),
                "--test",
                str(data / "ml-1m.probe.dat.gz"),
                *flags,
            ]
        )
        == 0
    )
    errors = np.array([record["test_rmse"] for record in read_metrics(tmp_path / "out")])
    assert errors.min() <= 0.8455 and np.argmax(errors <= 0.85) < 7
