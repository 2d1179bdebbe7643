"""The snapshot of the messages of errors: `tests/golden/messages.txt`."""

import re

from support.messages import (
    SNAPSHOT,
    Sentence,
    message,
    read_snapshot,
    sentences,
    snapshot,
    write_snapshot,
)


def test_the_snapshot_has_the_sentences_of_the_source():
    now, known = sentences(), set(snapshot().values())
    renew = "python tests/write_messages.py writes the snapshot anew"
    assert sorted(now - known) == [] and sorted(known - now) == [], renew
    text = SNAPSHOT.read_text(encoding="utf-8")
    assert text == write_snapshot(snapshot(), now), renew
    assert len(text.splitlines()) == len(snapshot())  # no code twice


def test_a_sentence_keeps_its_code():
    old = Sentence("DataError", "{} has no column {}")
    known = read_snapshot(write_snapshot({}, {old}))
    assert known == {"has-no-column": old}
    other = Sentence("DataError", "the file {} has no column {}")
    assert read_snapshot(write_snapshot(known, {other})) == {"has-no-column": other}
    of_other_kind = Sentence("UsageError", "{} has no column {}")
    both = read_snapshot(write_snapshot(known, {old, of_other_kind}))
    assert both == {"has-no-column": old, "has-no-column-2": of_other_kind}
    assert read_snapshot(write_snapshot(known, {Sentence("DataError", "x is late")})) == {
        "x-is-late": Sentence("DataError", "x is late")
    }


def test_a_message_is_known_by_its_code_and_values():
    code, (_, text) = next(item for item in snapshot().items() if item[1].text.count("{}") == 2)
    told = text.replace("{}", "a (b)", 1).replace("{}", "c")
    assert re.search(message(code), told) and re.search(message(code, "a (b)", "c"), told)
    assert re.search(message(code, "x.txt:3"), f"x.txt:3: {told}")
    assert not re.search(message(code, "d"), told) and not re.search(message(code), "else")
