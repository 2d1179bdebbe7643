"""Fixtures that tests of files share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Write a file and return its path; one test's files may be written over each other."""
    folder = tmp_path_factory.mktemp("bags")

    def make(content: str | bytes, name: str = "bags.txt") -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


@pytest.fixture
def folder(tmp_path):
    """Write files into a folder, and return its path."""

    def make(contents, name="data"):
        here = tmp_path / name
        for file, content in contents.items():
            (here / file).parent.mkdir(parents=True, exist_ok=True)
            (here / file).write_bytes(content.encode() if isinstance(content, str) else content)
        return here

    return make
