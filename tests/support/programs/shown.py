"""Programs that docs/program.md shows, as files."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "program.md"


def write_shown_program(name, folder):
    """Write the program of this name from the page into a folder, and return its file."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    path = folder / f"{name.lower()}.py"
    path.write_text(next(block for block in blocks if f"class {name}" in block))
    return path
