"""Runs the blocks of a page of the documents, one after the other, by Sybil.

A block of `python` runs in the namespace of its page. The commands of a block of `sh` or `console`
run in the page's folder; those that begin with `tux` in this process, others by bash. What a block
of `console` shows behind its command is compared with what the command writes, numbers aside; a
line `...` stands for any lines. A command that shows an error must fail. These comments in a page
are no text of it:

    <!-- skip: next "why the next block is not run" -->
    <!-- output: "why what the next block shows is not compared" -->
    <!-- file: NAME -->                      the next block is saved under this name, and not run
    <!-- invisible-code-block: python ... -->    what a fragment needs

`python tests/support/pages/page_blocks.py` counts the blocks of all pages.
"""

import io
import linecache
import os
import re
import shlex
import socket
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest import SkipTest

from sybil import Document, Region
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer

from tux.cli.main import main

ROOT = Path(__file__).parents[3]
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
}
RUN = ("python", "sh", "console")
SHOWN = ("text", "mermaid")
"""Languages of blocks that are no commands."""

PROGRAMS = {"awk", "cat", "cut", "echo", "head", "printf", "tux", "wait", "wc", "zcat"}
"""Programs that pages may call: none installs, or reaches beyond the page's folder."""

ADDRESS = "127.0.0.1:29400"
"""The address at which machines meet in pages; a free port takes its place."""

MINUTES = 5
"""After which a command of bash counts as hanging."""


class PageCommand(NamedTuple):
    """A command, and the lines that the page shows behind it."""

    text: str
    shown: list[str]


class CommandOutcome(NamedTuple):
    """The text that a command has written, and its exit code."""

    written: str
    code: int


def commands(text: str) -> list[PageCommand]:
    """Return the commands of a block: those behind `$ ` if there are any, else its lines."""
    lines, found = text.splitlines(), []
    if not any(line.startswith("$ ") for line in lines):
        if "<<" in text or "wait\n" in text:  # its lines belong together
            return [PageCommand(text, [])]
        return [PageCommand(each, []) for each in _whole(lines)]
    for line in _whole(lines):
        if line.startswith("$ "):
            found.append(PageCommand(line.removeprefix("$ "), []))
        else:
            found[-1].shown.append(line)
    return found


def _whole(lines: list[str]) -> list[str]:
    """Yield lines with those that continue them, without blank ones and comments."""
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    return [line for line in joined if line.strip() and not line.startswith("#")]


def programs(command: str) -> set[str]:
    """Return the programs that a command calls: the first words of its lines and of what follows |
    ; &.
    """
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|\s#.*", " ", command)
    return set(re.findall(r"(?:^|[|;&(`])[ \t]*([^\s|;&()<>`]+)", bare, re.MULTILINE))


def run(command: str) -> CommandOutcome:
    """Run one command in the current folder; AssertionError for a program not in `PROGRAMS`."""
    others = programs(command) - PROGRAMS
    assert not others, f"skip the block, with a reason: the tests do not run {', '.join(others)}"
    if ADDRESS in command:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            command = command.replace(ADDRESS, f"127.0.0.1:{free.getsockname()[1]}")
    if command.startswith("tux ") and not set("|<>&;*") & set(re.sub(r"\s# .*", "", command)):
        written = io.StringIO()
        with redirect_stdout(written), redirect_stderr(written):
            code = main(shlex.split(command, comments=True)[1:])
        return CommandOutcome(written.getvalue(), code)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60 * MINUTES,
    )
    return CommandOutcome(done.stdout, done.returncode)


def shape(line: str) -> str:
    """Return a line, with 0 for each number, single blanks, and without the prefixes of units."""
    zeros = re.sub(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?|\.\d+", "0", line)
    return re.sub(r"\b[kMG](B|edges/s)\b", r"\1", " ".join(zeros.split()))


def missing(shown: list[str], written: str) -> list[str]:
    """Return lines that a page shows and nothing that was written looks like."""
    here = f"{Path.cwd()}/"
    shapes = {shape(line) for line in written.replace(here, "").splitlines()}
    return [line for line in shown if line != "..." and shape(line) not in shapes]


def _shell(example) -> None:
    """Evaluate a block of commands."""
    compared = not example.namespace.pop("_output", "")
    for command in commands(example.parsed):
        written, code = run(command.text)
        said = f"$ {command.text}\n{written}"
        fails = any(line.startswith("error:") for line in command.shown)
        assert fails == (code != 0), f"exit code {code}: {said}"
        if compared:
            lost = missing(command.shown, written)
            assert not lost, "the page shows lines like none that are written:\n" + "\n".join(
                [*lost, said]
            )


def _python(example) -> None:
    """Evaluate a block of Python, or save it."""
    name = example.namespace.pop("_file", "")
    if name:
        Path(name).write_text(example.parsed, encoding="utf-8")
    else:
        PythonEvaluator()(example)


def _comments(document):
    """Yield the comments that say what becomes of the next block."""
    for lexed in DirectiveInHTMLCommentLexer("output|file")(document):
        name, said = lexed.lexemes["directive"], lexed.lexemes["arguments"].strip('" ')
        assert said, f"a comment {name} that says nothing"
        yield Region(lexed.start, lexed.end, {f"_{name}": said}, _note)


def _note(example) -> None:
    example.namespace.update(example.parsed)


def parse_page(page: str) -> Document:
    """Parse a page, ready to run. Its namespace is that of a module, which programs are looked up
    in, and whose file has the blocks of Python at their lines.
    """
    parsers = [
        SkipParser(),
        _comments,
        CodeBlockParser("python", _python),
        *(CodeBlockParser(language, _shell) for language in ("sh", "console")),
    ]
    document = Document.parse(str(PAGES[page]), *parsers)
    module = sys.modules["page"] = ModuleType("page")
    module.__file__ = document.path = str(Path("page.py").resolve())
    document.namespace = module.__dict__
    lines = [""] * len(document.text.splitlines())
    for example in document:
        if example.region.evaluator is _python and _compiles(example.parsed):
            at = example.line + example.parsed.line_offset
            block = example.parsed.splitlines()
            lines[at : at + len(block)] = block
    Path(document.path).write_text("\n".join(lines), encoding="utf-8")
    linecache.checkcache(document.path)
    return document


def _compiles(source: str) -> bool:
    try:
        compile(source, "block", "exec")
    except SyntaxError:
        return False
    return True


def run_page(page: str) -> list[str]:
    """Run the blocks of a page in the current folder; the reasons of those that are skipped. What
    the page imports from files of its own, or of docs/, is forgotten.
    """
    skipped, path, before = [], [*sys.path], {*sys.modules}
    sys.path.insert(0, str(Path.cwd()))
    try:
        for example in parse_page(page):
            try:
                example.evaluate()
            except SkipTest as skip:
                skipped.append(str(skip))
    finally:
        sys.path[:] = path
        own = (Path.cwd().resolve(), ROOT / "docs")
        for name in {*sys.modules} - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "/").resolve()
            if any(file.is_relative_to(folder) for folder in own):
                del sys.modules[name]
    return skipped


def fences(text: str) -> list[tuple[str, str, str]]:
    """Return the blocks of a page: language, text, and the reason why it is not run, or ""."""
    pattern = r'(?:^<!-- skip: next "(.+?)" -->\n\n?)?^```(.*)\n((?:.*\n)*?)^```$'
    return [
        (found[2], found[3], found[1] or "") for found in re.finditer(pattern, text, re.MULTILINE)
    ]


def counts() -> Counter:
    """Count the blocks of all pages by language, and whether they are run."""
    return Counter(
        (language, "skipped" if reason else "run" if language in RUN else "shown")
        for path in PAGES.values()
        for language, _, reason in fences(path.read_text(encoding="utf-8"))
    )


if __name__ == "__main__":
    for (language, what), number in sorted(counts().items()):
        sys.stdout.write(f"{language:8} {what:8} {number}\n")
