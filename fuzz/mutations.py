"""Functions that damage valid inputs. Each draws from the generator of random numbers that it is
given alone, so that an input can be made again from its number.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

Damage = Callable[[Random, bytes], bytes]

TOKENS: tuple[bytes, ...] = (
    b"0",
    b"-0",
    b"-1",
    b"+1",
    b"1e400",
    b"-1e400",
    b"1e-400",
    b"1" + b"0" * 400,
    b"%d" % 2**31,
    b"%d" % (2**31 - 1),
    b"%d" % 2**32,
    b"%d" % (2**63 - 1),
    b"%d" % 2**63,
    b"-%d" % 2**63,
    b"-%d" % (2**63 + 1),
    b"%d" % (2**64 - 1),
    b"%d" % 2**64,
    b"999999999999999999",
    b"1000000000000000000",
    b"9007199254740993",
    b"3.4028236e38",
    b"0x10",
    b"1_000",
    b"1,5",
    b"1.5",
    b".",
    b"-",
    b"e5",
    b"1e",
    b"nan",
    b"NaN",
    b"-inf",
    b"Infinity",
    b"true",
    b"null",
    b"007",
    "٣".encode(),  # a digit to str.isdigit and to int
    "²".encode(),  # a digit to str.isdigit, but not to int
    "\x85".encode(),  # blanks and ends of lines to Python's str alone
    "\u2028".encode(),
    "\u00a0".encode(),
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b"\x1f",
    b"\0",
    b"\r",
    b"\r\n",
    b"\n",
    b"\n\n",
    b"\r\r\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\xf0\x9f\x98\x80",
    b'"',
    b'""',
    b'"\n"',
    b"'",
    b" ",
    b"\t",
    b",",
    b";",
    b"|",
    b":",
    b"::",
    b"1:1",
    b"#",
    b"%",
    b"%%MatrixMarket",
    b"\\",
    b"{}",
    b"[]",
    b"\x1b[31m",
)
NUMBERS = (0, 1, -1, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40)
NUMBERS += (2**62, 2**63 - 1, 2**63, 2**64 - 1)
LONG_LENGTHS = (
    5_000,
    5_000,
    5_000,
    20_000,
    150_000,
)  # int() refuses 4,300 digits, csv cells of 131,072 characters
WORD = re.compile(rb"[^\s,;|:]+")


def _place(rng: Random, content: bytes) -> int:
    return int(rng.random() * (len(content) + 1))


def _slice(rng: Random, content: bytes) -> tuple[int, int]:
    begin = _place(rng, content)
    return begin, min(len(content), begin + int(rng.random() ** 3 * (len(content) + 1)) + 1)


def flip_bit(rng: Random, content: bytes) -> bytes:
    """Flip one bit."""
    if not content:
        return content
    at = int(rng.random() * len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def replace_byte(rng: Random, content: bytes) -> bytes:
    """Replace one byte by another."""
    at = _place(rng, content)
    return content[:at] + rng.randbytes(1) + content[at + 1 :]


def remove_bytes(rng: Random, content: bytes) -> bytes:
    """Take some bytes away."""
    begin, end = _slice(rng, content)
    return content[:begin] + content[end:]


def repeat_bytes(rng: Random, content: bytes) -> bytes:
    """Repeat some bytes."""
    begin, end = _slice(rng, content)
    return content[:end] + content[begin:]


def cut_end(rng: Random, content: bytes) -> bytes:
    """Cut the end off."""
    return content[: _place(rng, content)]


def insert_token(rng: Random, content: bytes) -> bytes:
    """Insert a word that parsers often take for something else."""
    at = _place(rng, content)
    return content[:at] + rng.choice(TOKENS) + content[at:]


def replace_word(rng: Random, content: bytes) -> bytes:
    """Put such a word in the place of one that was there."""
    words = [*WORD.finditer(content)]
    if not words:
        return rng.choice(TOKENS)
    begin, end = rng.choice(words).span()
    return content[:begin] + rng.choice(TOKENS) + content[end:]


def insert_long(rng: Random, content: bytes) -> bytes:
    """Insert a very long word, or very many open brackets, or very many short words."""
    count = rng.choice(LONG_LENGTHS)
    what = rng.choice((b"9", b"0", b"a", b"[", b'{"a":', b"(", b'"', b",", b" ", b"1 ", b"1:1 "))
    at = _place(rng, content)
    if words := [*WORD.finditer(content)]:
        at = rng.choice(words).start()
    return content[:at] + (what * count)[:count] + content[at:]


def change_lines(rng: Random, content: bytes) -> bytes:
    """Exchange two lines, repeat one, take one away, or end all in another way."""
    parts = content.split(b"\n")
    one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(6):
        case 0:
            parts[one], parts[other] = parts[other], parts[one]
        case 1:
            parts.insert(other, parts[one])
        case 2:
            del parts[one]
        case 3:
            return content.replace(b"\n", b"\r\n")
        case 4:
            return content.replace(b"\n", b"\r")
        case _:
            return b"\n".join(parts * rng.randrange(2, 30))
    return b"\n".join(parts)


def replace_integer(rng: Random, content: bytes) -> bytes:
    """Replace a binary number of 1, 2, 4 or 8 bytes."""
    size = rng.choice((1, 2, 4, 4, 8, 8))
    at = _place(rng, content)
    if rng.random() < 0.7:
        at -= at % size
    number = rng.choice(NUMBERS) + rng.choice((0, 0, 0, 1, -1))
    order = rng.choice(("little", "little", "big"))
    return (
        content[:at]
        + (number % 2 ** (8 * size)).to_bytes(size, order)  # type: ignore[arg-type]
        + content[at + size :]
    )


def replace_real(rng: Random, content: bytes) -> bytes:
    """Replace a binary floating-point number."""
    form = rng.choice(("<f", "<d", ">d"))
    number = rng.choice((0.0, -0.0, 0.5, -1.0, 3e38, float("nan"), float("inf"), -float("inf")))
    at = _place(rng, content)
    at -= at % 4
    return content[:at] + struct.pack(form, number) + content[at + struct.calcsize(form) :]


def add_mark(rng: Random, content: bytes) -> bytes:
    """Put a byte order mark first."""
    return b"\xef\xbb\xbf" + content


TEXT: tuple[Damage, ...] = (
    flip_bit,
    replace_byte,
    remove_bytes,
    repeat_bytes,
    cut_end,
    insert_token,
    insert_token,
    replace_word,
    replace_word,
    replace_word,
)
TEXT += (change_lines, change_lines, add_mark)
BINARY: tuple[Damage, ...] = (
    flip_bit,
    flip_bit,
    replace_byte,
    replace_byte,
    remove_bytes,
    repeat_bytes,
    cut_end,
    replace_integer,
    replace_integer,
)
BINARY += (replace_integer, replace_real, insert_token, replace_word)


VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**62,
    2**63,
    -(2**63),
    2**64,
    10**400,
)
VALUES += (0.5, -0.0, 1e308, "", "a", "1", "user", "../a", "a\nb", "\0", "\ud800", "x" * 5000)
VALUES += ([], {}, [[]], [0, 1], ["a"], {"a": 1}, {"a": {"a": []}}, [None])


def _value(rng: Random) -> Any:
    return deepcopy(rng.choice(VALUES))


def change_json(rng: Random, value: Any) -> Any:
    """Change one value of a JSON value: replace it, take it away, or give it another name. It may
    be changed in its place.
    """
    inner = value
    while True:
        keys = [*inner] if isinstance(inner, dict) else [*range(len(inner))]
        if not keys:
            return _value(rng)
        key = rng.choice(keys)
        if isinstance(inner[key], dict | list) and rng.random() < 0.8:
            inner = inner[key]
            continue
        chance = rng.random()
        if chance < 0.1:
            del inner[key]
        elif chance < 0.2:
            other = rng.choice(keys)
            inner[key], inner[other] = inner[other], inner[key]
        elif chance < 0.25 and isinstance(inner, dict):
            inner[str(rng.choice(VALUES))[:20]] = inner.pop(key)
        elif chance < 0.3 and isinstance(inner, list):
            inner.append(_value(rng))
        else:
            inner[key] = _value(rng)
        return value


def json_lines(rng: Random, content: bytes) -> bytes:
    """Change values of JSON, or of lines of JSON."""
    whole = content.rstrip().startswith(b"{\n") or content.count(b"\n") < 2
    parts = [content] if whole else content.splitlines()
    at = rng.randrange(len(parts))
    value = json.loads(parts[at])
    for _ in range(rng.choice((1, 1, 2, 3))):
        if isinstance(value, dict | list):
            value = change_json(rng, value)
    parts[at] = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")
    return parts[0] if whole else b"".join(part + b"\n" for part in parts)


def change_behind(rng: Random, content: bytes, head: int) -> bytes:
    """Change numbers behind a header of so many bytes; the length stays."""
    data = content[head:]
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(
            (flip_bit, replace_byte, replace_integer, replace_integer, replace_integer)
        )(rng, data)[: len(data)]
    return content[:head] + data


def damage_bytes(rng: Random, content: bytes, ways: Sequence[Damage]) -> bytes:
    """Damage `content` once or several times."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 6))):
        content = rng.choice(ways)(rng, content)
    return content


def damage_text(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Return one of some samples of text, damaged; rarely a very long one, random bytes, or
    none.
    """
    chance = rng.random()
    if chance < 0.002:
        return insert_long(rng, rng.choice(samples))
    if chance < 0.01:
        return rng.randbytes(rng.randrange(120))
    if chance < 0.012:
        return b""
    if chance < 0.03:  # the beginning of one, and the end of another
        one, other = rng.choice(samples), rng.choice(samples)
        return one[: _place(rng, one)] + other[_place(rng, other) :]
    return damage_bytes(rng, rng.choice(samples), TEXT)


def damage_binary(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Return one of some binary samples, damaged; rarely random bytes, none, or parts of two
    samples.
    """
    chance = rng.random()
    if chance < 0.01:
        return rng.randbytes(rng.randrange(400))
    if chance < 0.012:
        return b""
    if chance < 0.02:
        one, other = rng.choice(samples), rng.choice(samples)
        return one[: _place(rng, one)] + other[_place(rng, other) :]
    return damage_bytes(rng, rng.choice(samples), BINARY)
