"""What tests of files of bags share."""

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
