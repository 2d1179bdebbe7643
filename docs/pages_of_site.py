"""Hooks of MkDocs for the site that `make docs` builds: pages of other folders are pages of it, and
links between files become links between its pages. So all pages can be read in the tree, too.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    **{
        path.relative_to(ROOT).as_posix(): f"apps/{path.parent.name}.md"
        for path in sorted(ROOT.glob("apps/*/README.md"))
    },
    **{f"{folder}/README.md": f"{folder}.md" for folder in ("faults", "fuzz", "tests")},
}
"""Pages that are not in `docs/`, and their names in the site."""

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")


def page_of(source):
    """Return the name in the site of a file of the tree; None for one that is not in it."""
    return ELSEWHERE.get(source) or (source[5:] if source.startswith("docs/") else None)


def turn_links(text, source):
    """Turn the links of a page into links of the site; `source` is the page's file in the tree."""
    here = page_of(source)

    def turn(link):
        if "://" in link[0]:
            return link[0]
        target = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), link[0])))
        return link[0] if target is None else posixpath.relpath(target, posixpath.dirname(here))

    return LINK.sub(turn, text)


def on_files(files, config):
    """Add the pages of other folders."""
    for source, name in ELSEWHERE.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown, page, **_):
    """Turn the links of a page."""
    sources = {name: source for source, name in ELSEWHERE.items()}
    return turn_links(markdown, sources.get(page.file.src_uri, f"docs/{page.file.src_uri}"))
