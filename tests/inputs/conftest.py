"""The folder in which tests load the data of runs in shares."""

import pytest
from support.machines.same_loads import without_processes


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Enter an empty folder; loaders run in this process, however small the data are."""
    without_processes(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path
