"""The page of the estimators: its programs run."""

import re
import runpy
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"


def test_the_programs_of_the_page(tmp_path):
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    pytest.importorskip("pandas")
    path = tmp_path / "page.py"
    path.write_text("\n".join(blocks), encoding="utf-8")
    found = runpy.run_path(str(path))
    assert len(found["best"]) == 10 and found["model"].embedding_.shape == (34, 16)
