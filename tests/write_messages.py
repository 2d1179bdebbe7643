"""Writes `tests/golden/messages.txt` anew, from the source: ``python tests/write_messages.py``."""

from support.messages import SNAPSHOT, read_snapshot, sentences, write_snapshot

if __name__ == "__main__":
    old = SNAPSHOT.read_text(encoding="utf-8") if SNAPSHOT.exists() else ""
    known = read_snapshot(old)
    new = write_snapshot(known, sentences())
    SNAPSHOT.write_text(new, encoding="utf-8")
    now = read_snapshot(new)
    for code in sorted(known.keys() | now.keys()):
        if known.get(code) != now.get(code):
            print(f"{code}: {known.get(code)} -> {now.get(code)}")
