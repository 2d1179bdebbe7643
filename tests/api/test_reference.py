"""The list of public names in docs/reference.md is whole and up to date."""

import importlib.util
from pathlib import Path

import tux

PATH = Path(__file__).parents[2] / "docs" / "make_reference.py"


def maker():
    """Return the program that makes the page."""
    spec = importlib.util.spec_from_file_location("make_reference", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_its_place():
    names = [name for section in maker().SECTIONS.values() for name in section]
    assert sorted(names) == sorted(tux._MODULES)


def test_the_page_is_up_to_date():
    """If not: python docs/make_reference.py."""
    assert (PATH.parent / "reference.md").read_text(encoding="utf-8") == maker().page()
