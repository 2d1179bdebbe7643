"""Programs that docs/program.md shows, as files."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "program.md"


def shown(name, folder):
    """The file of the program that is called so, written into a folder."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    path = folder / f"{name.lower()}.py"
    path.write_text(next(block for block in blocks if f"class {name}" in block))
    return path
