"""Kinds of files that tux does not read, but knows by their first bytes or lines: each would be
taken for a table, and its rows for edges or samples that are none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from tux.base.errors import DataError
from tux.io.source.cells import MARK, SEPARATORS, cells_of
from tux.io.source.row_one import is_in_use

LINES, DOT_LINES = 50, 5  # numbers of lines that are looked at
MAX_HEAD_BYTES = 1 << 16  # bytes of text likewise
WIDEST = 4096  # characters of a row
SHARE = 0.75  # of the lines, that must be of the kind: the others may be damaged

PANDAS = "Write it as CSV or Parquet; or read it with pandas, and give the DataFrame."
UNPACK = "Unpack it, and name one of its files."
FETCH = "The download failed, or needs a login. Fetch the file itself."
WRITE = "Write a table: the two ends of an edge and its number, a row each."
NETWORKX = "Read it with networkx, and give the graph to tux.run; or write it as GraphML or GML."


class ForeignKind(NamedTuple):
    """The name of a kind of files, and the advice for the user."""

    name: str  # with a comma if it says already that there is nothing to read
    do: str = PANDAS


BYTES = {
    b"ARROW1\0\0": ForeignKind("an Arrow file"),
    b"\xff\xff\xff\xff": ForeignKind("an Arrow stream"),
    b"FEA1": ForeignKind("a Feather file"),
    b"\x89HDF\r\n": ForeignKind("an HDF5 file"),
    b"SQLite format 3\0": ForeignKind("an SQLite database"),
    b"\xd0\xcf\x11\xe0": ForeignKind("an Excel file"),
    b"Obj\1": ForeignKind("an Avro file", "Write it as Parquet or CSV."),
    b"\x93NUMPY": ForeignKind(
        "a .npy file of numpy",
        "Load the array, and give it to tux.run; or write a sparse matrix with "
        "scipy.sparse.save_npz.",
    ),
    b"MATLAB 5.0 MAT-file": ForeignKind("a MATLAB file", "Call it .mat."),
    b"%PDF-": ForeignKind(
        "a PDF document", "Fetch the data that it describes, or copy the table to CSV."
    ),
    b"%!PS": ForeignKind("a PostScript document", "Fetch the data that it describes."),
    b"{\\rtf": ForeignKind("an RTF document", "Save it as plain text."),
    b"Rar!\x1a\x07": ForeignKind("a RAR archive", UNPACK),
    b"\x89PNG\r\n": ForeignKind("a picture", "Name a file of data."),
    b"\xff\xd8\xff": ForeignKind("a picture", "Name a file of data."),
    b"GIF8": ForeignKind("a picture", "Name a file of data."),
    b"<stata_dta>": ForeignKind("a Stata file"),
    b"$FL2": ForeignKind("an SPSS file"),
    b"$FL3": ForeignKind("an SPSS file"),
    bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf": ForeignKind("a SAS file"),
    b"HEADER RECORD*******LIB": ForeignKind("a SAS transport file"),
    b"RDX2\n": ForeignKind("an R workspace", "Write the table as CSV, in R with write.csv."),
    b"RDX3\n": ForeignKind("an R workspace", "Write the table as CSV, in R with write.csv."),
    b"X\n\0\0\0": ForeignKind(
        "an object of R", "Write it as CSV, in R with write.csv(readRDS(FILE))."
    ),
    b">>graph6<<": ForeignKind("a graph6 file", NETWORKX),
    b">>sparse6<<": ForeignKind("a sparse6 file", NETWORKX),
    b"LEDA.GRAPH": ForeignKind("a LEDA graph", NETWORKX),
    b"(tlp ": ForeignKind("a Tulip graph", WRITE),
}
"""Kinds by their first bytes, unpacked."""

PICKLE = re.compile(rb"\x80[\x02-\x05][\x95}\](Kc]")
STATA = re.compile(rb"[\x69-\x73][\x01\x02]\x01\x00")  # before version 13
# a text may begin so, too; pyarrow has a reader, but a damaged file makes the process crash
ORC = re.compile(rb"ORC[^\n]{0,64}?[\x00-\x08]", re.DOTALL)
TAR = (257, b"ustar")  # the place of its mark

TRIPLES = "Write subject and object of each triple as a table of two columns."
WEB = (
    r"([45]\d\d:?\s+)?(Bad Request|Unauthorized|Forbidden|Not Found|Too Many Requests|"
    r"Internal Server Error|Bad Gateway|Service (Temporarily )?Unavailable)\s*\Z"
)
INSTEAD = (
    (
        "version https://git-lfs",
        ForeignKind("a pointer of Git LFS, not the file itself", "Say: git lfs pull"),
    ),
    (WEB, ForeignKind("the error of a web server, not the file", FETCH)),
)
"""Texts that came instead of a file."""
TEXTS = (
    *INSTEAD,
    (r"\{\s*(\"|\}?\s*\Z)|\[\s*([\[{\"]|\Z)|\[\s*\n|\[[^\n\]]*\]\s*\n\[", ForeignKind("JSON")),
    (r"dl\s+n\s*=", ForeignKind("a network of UCINET (DL)", WRITE)),
    (
        r"@relation\s",
        ForeignKind("an ARFF file", "Write it as CSV, for example with Weka or scipy."),
    ),
    (r"@(prefix|base)\s|prefix\s+\w*:\s*<", ForeignKind("RDF (Turtle)", TRIPLES)),
)
"""Kinds by their text, but for comments and blank lines before it."""
ROOTS = {
    "html": ForeignKind("an HTML page, not a file of data", FETCH),
    "error": ForeignKind("the error of a web server, not the file", FETCH),
    "gexf": ForeignKind("a GEXF graph", NETWORKX),
    "workbook": ForeignKind("an Excel file of XML"),
    "rdf:rdf": ForeignKind("RDF in XML", TRIPLES),
}
"""Kinds of XML by their first element."""
ROOT = re.compile(r"<([a-z][\w.-]*(:[\w.-]+)?)(\s[^<>]*)?/?>", re.IGNORECASE)

DOT = re.compile(r"(strict\s+)?(di)?graph\b\s*(\"[^\"]*\"|\w*)\s*\{", re.IGNORECASE)
SQL = re.compile(
    r"(insert\s+into|create\s+(table|database)|drop\s+table)\s+\S|copy\s.*\bfrom\s+stdin\b",
    re.IGNORECASE,
)
TRIPLE = re.compile(r"(<[^<>]*>|_:\S+)\s+<[^<>]*>\s+(<|_:|\")")
FEATURE = re.compile(r"[^\s:|]+:[-+]?[\d.]+(e[-+]?\d+)?", re.IGNORECASE)
BLOCK, RATED = re.compile(r"\d+:"), re.compile(r"\d+(,\d+(\.\d+)?)?(,\d{4}-\d\d-\d\d)?")
NETFLIX = ForeignKind(
    "a file of the Netflix Prize (a line 'movie:' before its ratings)",
    "Write a user, a movie and a rating into each row: "
    'awk -F, \'/:$/ {m = $1 + 0; next} {print $1 "," m "," $2}\' FILE',
)
VOWPAL = ForeignKind(
    "a file of Vowpal Wabbit",
    "Write libsvm text, label feature:value ..., or a table with named columns.",
)


JSON_LINE = re.compile(r"\{\s*\".*\}")
JSON_ARRAY = re.compile(r"\[\s*\{\s*\"[^\"\n]*\"\s*:")
LETTER, COUNT = re.compile(r"[^\W\d]"), re.compile(r"\d+", re.ASCII)
DOCUMENTS = (
    "Write the text of each document on a line of its own; or read it with pandas, and give the "
    "list of texts to tux.run."
)
COUNTS = ForeignKind(
    "a list of words and their counts (word:count)",
    "Write a row for each word of a document: document,word,count.",
)


class Beginning(NamedTuple):
    """The first lines of a text, without comments and blank lines."""

    text: str
    rows: list[str]  # at most `LINES`, each cut

    @classmethod
    def of(cls, head: bytes) -> Beginning:
        """Make it of the first bytes of a text, unpacked; it is empty if they are no text."""
        if b"\0" in head[:MAX_HEAD_BYTES]:
            return cls("", [])
        text = head[:MAX_HEAD_BYTES].removeprefix(MARK).decode(errors="replace")
        lines = text.splitlines()[: None if len(head) < MAX_HEAD_BYTES else -1] or [text]
        rows = [line for line in lines if line.strip()[:1] not in ("", "#", "%")]
        return cls("\n".join(rows).lstrip(), [row.strip()[:WIDEST] for row in rows[:LINES]])

    def most(self, fits: Callable[[str], object]) -> bool:
        """Return whether most of the rows fit."""
        return bool(self.rows) and sum(bool(fits(row)) for row in self.rows) >= SHARE * len(
            self.rows
        )


def check_known(path: str | os.PathLike[str], head: bytes, ending: str) -> None:
    """Raise DataError for a file, which begins with `head`, of a kind that is surely not read. The
    name of the file, without that of its packing, ends in `ending`.
    """
    _refuse(path, _of_bytes(head, ending) or _of_text(Beginning.of(head)))


def check_documents(path: str | os.PathLike[str], head: bytes) -> None:
    """Raise DataError for a file that begins with `head` and is no text of documents: of a kind
    that is known by its bytes, or a table, or an error that was saved instead of the file.
    """
    begun = Beginning.of(head)
    root, first = xml_root(begun.text), begun.text.split("\n", 1)[0].lower()
    kind = _of_bytes(head, "") or next(
        (kind for pattern, kind in INSTEAD if re.match(pattern, begun.text, re.IGNORECASE)), None
    )
    if kind is None and (root == "error" or root == "html" and "</html>" not in first):
        kind = ROOTS[root]
    if kind is None and (begun.most(JSON_LINE.match) or JSON_ARRAY.match(begun.text)):
        kind = ForeignKind("JSON", DOCUMENTS)
    if kind is None and _is_counts(begun):
        kind = COUNTS
    if kind is None and (names := _names(begun)):
        kind = ForeignKind(
            f"a table with the columns {names}, no text with a document a line", DOCUMENTS
        )
    _refuse(path, kind)


def _names(begun: Beginning) -> str:
    """Return the line of names at the beginning of a text that is a table of several columns; ""
    for another text.
    """
    first, *rest = begun.rows or [""]
    for separator in SEPARATORS[:-1]:
        names = [name.strip('" ') for name in first.split(separator)]
        if len(names) < 2 or not all(map(is_in_use, names)) or f"{separator} " in first:
            continue  # prose has a blank behind its commas
        widths = [len(cells_of(row, separator)) for row in rest]
        if rest and widths.count(len(names)) >= SHARE * len(rest):
            return ", ".join(names)
    return ""


def _is_counts(begun: Beginning) -> bool:
    """Return whether rows are words with their counts, cat:2 dog:1, several in one row at least."""
    pairs = [_pairs_of(row) for row in begun.rows]
    return len(pairs) > 1 and max(pairs) > 1 and begun.most(_pairs_of)


def _pairs_of(row: str) -> int:
    """Count the words in a row of words with their counts; 0 for another row."""
    pairs = [word.rpartition(":") for word in row.split()]
    fit = all(LETTER.search(word) and COUNT.fullmatch(count) for word, _, count in pairs)
    return len(pairs) if fit else 0


def _refuse(path: str | os.PathLike[str], kind: ForeignKind | None) -> None:
    """Raise DataError for a file of a kind, unless that is None."""
    if kind is not None:
        unread = "" if "," in kind.name else ", which tux does not read"
        raise DataError(f"{path} is {kind.name}{unread}", do=kind.do)


def _of_bytes(head: bytes, ending: str) -> ForeignKind | None:
    """Return the kind of a file by its first bytes and the ending of its name."""
    if ending in (".xlsx", ".xlsm") and head.startswith(b"PK"):
        return ForeignKind("an Excel file")
    if ending in (".json", ".jsonl", ".ndjson") and head.lstrip()[:1] in (b"[", b"{"):
        return ForeignKind("JSON")
    if ending == ".tgf":
        return ForeignKind("a graph in the Trivial Graph Format", WRITE)
    if PICKLE.match(head):
        return ForeignKind("a pickle of Python", "Load it, and give the object to tux.run.")
    if ORC.match(head):
        return ForeignKind(
            "an ORC file", "Read it with pyarrow.orc, and give the table or write Parquet."
        )
    if STATA.match(head):
        return ForeignKind("a Stata file")
    if head[TAR[0] :].startswith(TAR[1]):
        return ForeignKind("a tar archive", UNPACK)
    return next((kind for magic, kind in BYTES.items() if head.startswith(magic)), None)


def _of_text(begun: Beginning) -> ForeignKind | None:
    """Return the kind of a text by its first lines."""
    if (root := xml_root(begun.text)) not in ("", "graphml"):
        return ROOTS.get(root, ForeignKind("XML"))
    for pattern, kind in TEXTS:
        if re.match(pattern, begun.text, re.IGNORECASE):
            return kind
    pairs = ("\n".join(begun.rows[at : at + 2]) for at in range(DOT_LINES))
    if any(map(DOT.match, pairs)):  # behind comments of its own kind
        return ForeignKind("a graph of Graphviz (DOT)", WRITE)
    if any(map(SQL.match, begun.rows)):
        return ForeignKind("a dump of SQL", "Load it into a database, and export the table as CSV.")
    if begun.most(lambda row: TRIPLE.match(row) and row.endswith(".")):
        return ForeignKind("RDF (N-Triples)", TRIPLES)
    if _is_netflix(begun):
        return NETFLIX
    return VOWPAL if begun.most(_is_vowpal) else None


def xml_root(text: str) -> str:
    """Return the name of the first element of XML, in small letters; "xml" if it is further on, and
    "" if the text is no XML.
    """
    at, prolog = 0, False
    ends = {"<?": "?>", "<!--": "-->", "<!": ">"}
    while mark := next((mark for mark in ends if text.startswith(mark, at)), ""):
        if mark == "<!" and re.match(r"<!doctype\s+html\b", text[at : at + 50], re.IGNORECASE):
            return "html"
        end = ends[mark]
        if mark == "<!" and "[" in text[at : text.find(">", at) + 1]:
            end = "]>"
        prolog, close = True, text.find(end, at)
        if close < 0:
            return "xml"
        at = close + len(end)
        at += len(text[at:]) - len(text[at:].lstrip())
    found = ROOT.match(text, at)
    if found is None:
        return "xml" if prolog else ""
    root = found[1].lower()
    if "schemas-microsoft-com:office" in text or "Excel.Sheet" in text:
        root = "workbook"
    if prolog or root in (*ROOTS, "graphml") or "=" in (found[3] or ""):
        return root
    closing = f"</{found[1]}>"  # <s> and </s> may be words
    text = text.rstrip()
    others = "\n" not in text or "/>" in text or text.count("</") > text.count(closing)
    return root if text.endswith(closing) and others else ""


def _is_netflix(begun: Beginning) -> bool:
    """Return whether rows are blocks, each with the number of a movie before its ratings."""
    first, *rest = begun.rows or [""]
    return (
        BLOCK.fullmatch(first) is not None
        and bool(rest)
        and RATED.fullmatch(rest[0]) is not None
        and begun.most(lambda row: BLOCK.fullmatch(row) or RATED.fullmatch(row))
    )


def _is_vowpal(row: str) -> bool:
    """Return whether a row is a label and features after bars, with names or numbers of their
    own.
    """
    head, *spaces = row.split("|")
    label = head.split()[:1]
    if (
        not spaces
        or label
        and not re.fullmatch(r"'.*|[-+]?[\d.]+(e[-+]?\d+)?(:[\d.:]+)?", label[0])
    ):
        return False
    words = [space.split() for space in spaces]
    named = [space[:1].isalpha() for space in spaces]
    # after a bar without a blank comes the name of a space, or a cell of a table
    features = [
        word for own, space in zip(words, spaces, strict=True) for word in own[space[:1] > " " :]
    ]
    return all(map(len, words)) and (
        any(map(FEATURE.fullmatch, features)) or all(named) and len(features) >= len(spaces)
    )
