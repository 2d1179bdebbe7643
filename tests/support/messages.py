"""Messages of errors, by codes: `tests/golden/messages.txt` has each sentence once, as the source
has it, with `{}` for what a value fills. Tests name a message by its code, so that a change of
words changes the snapshot alone. `python tests/write_messages.py` writes it anew.
"""

import ast
import re
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tux.base import errors

ROOT = Path(__file__).parents[2]
SNAPSHOT = ROOT / "tests" / "golden" / "messages.txt"
KINDS = {name for name in vars(errors) if isinstance(vars(errors)[name], type)}
KINDS |= {"BadMessage", "ValueError", "TypeError"}
"""Classes of errors that users see, that of messages, and those of functions on arrays."""
FOLDERS = ("tux", "partition", "stages", "apps")
ALIKE = 0.6
"""How much of a sentence must be as before, for it to keep its code."""


class Sentence(NamedTuple):
    """A sentence of the source: the class of the error, or "advice" for what its `do` says; and
    the text with `{}` for values.
    """

    kind: str
    text: str


def templates(node: ast.AST) -> list[str]:
    """Return the texts that an expression may have, with `{}` for values."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            texts = (str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts)
            return ["".join(texts)]
        case ast.IfExp(body=one, orelse=other):
            return templates(one) + templates(other)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [a + b for a in templates(left) for b in templates(right)]
    return ["{}"]


def sentences() -> set[Sentence]:
    """Return all sentences with which the source makes errors."""
    found = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(parent.is_symlink() for parent in path.parents):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not (isinstance(node, ast.Call) and node.args):
                    continue
                kind = getattr(node.func, "id", "")
                if kind not in KINDS:
                    continue
                said = [(kind, node.args[-1] if kind == "BadMessage" else node.args[0])]
                said += [("advice", each.value) for each in node.keywords if each.arg == "do"]
                for part, value in said:
                    texts = (" ".join(text.split()) for text in templates(value))
                    found |= {Sentence(part, text) for text in texts if re.search("[a-z]{2}", text)}
    return found


def code_of(text: str, taken: set[str]) -> str:
    """Make a code that is not `taken`, from the first words of a sentence."""
    words = re.findall("[a-z0-9]+", text.replace("{}", " ").lower())
    base = "-".join(words[:5])
    return next(
        code for code in (base, *(f"{base}-{n}" for n in range(2, 1000))) if code not in taken
    )


def read_snapshot(text: str) -> dict[str, Sentence]:
    """Return the sentences of a snapshot by their codes."""
    found = {}
    for line in text.splitlines():
        code, kind, words = line.split(None, 2)
        found[code] = Sentence(kind, words)
    return found


def write_snapshot(known: dict[str, Sentence], now: set[Sentence]) -> str:
    """Return the snapshot of the sentences `now`. One that is `known` keeps its code, also where
    some of its words are others.
    """
    codes = {sentence: code for code, sentence in known.items() if sentence in now}
    gone = {code: sentence for code, sentence in known.items() if sentence not in now}
    for new in sorted(now - codes.keys()):
        likeness = {
            code: SequenceMatcher(None, old.text, new.text).ratio()
            for code, old in gone.items()
            if old.kind == new.kind
        }
        code = max(likeness, key=likeness.__getitem__, default="")
        if likeness.get(code, 0) < ALIKE:
            code = code_of(new.text, {*codes.values(), *known})
        gone.pop(code, None)
        codes[new] = code
    lines = sorted((sentence.kind, code, sentence.text) for sentence, code in codes.items())
    return "".join(f"{code}  {kind}  {text}\n" for kind, code, text in lines)


@cache
def snapshot() -> dict[str, Sentence]:
    """Return the sentences of `tests/golden/messages.txt` by their codes."""
    return read_snapshot(SNAPSHOT.read_text(encoding="utf-8"))


def message(code: str, *values: str) -> str:
    """Return a pattern for `match` of `pytest.raises`: the sentence with this code, whatever its
    values are, in a message that contains these `values`.
    """
    parts = snapshot()[code].text.split("{}")
    sentence = ".*".join(re.escape(part).replace(r"\ ", r"\s+") for part in parts)
    contains = "".join(f"(?=.*{re.escape(value)})" for value in values)
    return rf"(?s)\A{contains}.*{sentence}"
