"""The site of the documents: `make docs`."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}


def pages_in_menu(menu):
    """Yield the pages that a menu of mkdocs.yml names."""
    if isinstance(menu, str):
        yield menu
    else:
        for each in menu.values() if isinstance(menu, dict) else menu:
            yield from pages_in_menu(each)


def test_each_page_is_in_the_menu():
    """Pages of other folders are added by docs/pages_of_site.py."""
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    apps = {f"apps/{path.parent.name}.md" for path in ROOT.glob("apps/*/README.md")}
    others = {"index.md", "contributing.md", "tests.md", "fuzz.md", "faults.md"}
    assert set(pages_in_menu(menu)) == PAGES | apps | others


@pytest.mark.slow
def test_the_site(tmp_path):
    """Strict: a link to nothing, or a page that is in no menu, is an error. The site needs nothing
    from other machines.
    """
    for module in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: the extra docs, which `make docs` installs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.html")}
    assert {f"{name.removesuffix('.md')}.html" for name in PAGES} <= pages.keys()
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"?([^\" >]+)", text)
        loaded += re.findall(r"<link[^>]* rel=\"?stylesheet\"?[^>]* href=\"?([^\" >]+)", text)
        assert not [each for each in loaded if "//" in each], name
