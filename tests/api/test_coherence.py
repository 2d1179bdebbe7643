"""`run.coherence` and `tux predict --coherence`: the same numbers of the same texts, in whatever
form these are.
"""

import numpy as np
import pytest
from scipy import sparse
from support.messages import message
from support.oracles.slow_coherence import slide, slow_c_v, slow_npmi, slow_u_mass

import tux

STOP = {"the", "of"}


@pytest.fixture(scope="module")
def texts():
    """Return texts of 2 to 300 words of two kinds, one of them empty."""
    rng = np.random.default_rng(0)
    names = np.array([[f"{kind}{k}" for k in range(9)] for kind in ("apple", "bus")])
    made = [
        " ".join(names[at % 2][rng.zipf(1.5, length) % 9]) + " the 1984 of"
        for at, length in enumerate([2, 300, 7, 120, 109, 30, 111, 9])
    ]
    return [*made, "", f"{made[0]} {made[3]}"]


@pytest.fixture(scope="module")
def run(texts, tmp_path_factory):
    """Return a run on these texts in its folder, with words to leave out."""
    folder = tmp_path_factory.mktemp("topics")
    (folder / "stop.txt").write_text("\n".join(STOP))
    how = {"stop": str(folder / "stop.txt"), "out": str(folder / "run")}
    return tux.run(tux.LDA(topics=3), texts, progress=False, jit=False, epochs=2, **how)


def words_of(text):
    """Return the words of a text as a reader cuts them."""
    return [word for word in text.split() if word not in STOP and not word.isdigit()]


def top_of(run, n):
    """Return the words of each topic, by its number."""
    table = run.topics(n)
    rows = dict(zip(table["topic"].tolist(), table["words"].tolist(), strict=True))
    return [[word for word in rows[k] if word] for k in range(len(rows))]


def test_windows_slide_over_texts(run, texts, tmp_path):
    lists = [words_of(text) for text in texts]
    windows = slide(lists, 110)
    expected = [slow_c_v(words, windows) for words in top_of(run, 10)]
    stop = run.folder.parent / "stop.txt"
    np.testing.assert_allclose(run.coherence(lists), expected, rtol=1e-9)
    np.testing.assert_allclose(run.coherence(texts, stop=stop), expected, rtol=1e-9)
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    found = run.coherence(tmp_path / "texts.txt", form="text", stop=stop)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert not np.allclose(run.coherence(lists, top=3), expected)


@pytest.mark.parametrize(
    ("measure", "slow"), [("c_v", slow_c_v), ("u_mass", slow_u_mass), ("npmi", slow_npmi)]
)
def test_documents_without_order_are_windows(run, texts, measure, slow):
    lists = [words_of(text) for text in texts]
    names = sorted({word for words in lists for word in words})
    counts = np.array([[words.count(name) for name in names] for words in lists])
    expected = [slow(words, [set(words) for words in lists]) for words in top_of(run, 5)]
    found = run.coherence((sparse.csr_array(counts), names), measure, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    if measure != "c_v":
        np.testing.assert_allclose(run.coherence(lists, measure, 5), expected, rtol=1e-9)


def test_command(run, texts, tmp_path, command):
    (tmp_path / "new.txt").write_text("\n".join(texts) + "\n")
    flags = f"predict {run.folder} {tmp_path}/new.txt --form text --stop {run.folder}/../stop.txt"
    expected = run.coherence([words_of(text) for text in texts], top=4)
    code, said = command(f"{flags} --coherence c_v --count 4")
    lines = said.splitlines()
    assert code == 0 and lines[0].split() == ["words", "tokens", "topic", "c_v"]
    assert lines[-1] == f"c_v {expected.mean():.4f}"
    table = run.topics(4)
    for line, words, topic in zip(lines[1:4], table["words"], table["topic"], strict=True):
        *shown, _, number, found = line.split()
        assert shown == [word for word in words if word] and int(number) == topic
        assert found == f"{expected[topic]:.4f}"
    code, said = command(f"{flags} --coherence u_mass --out {tmp_path}/topics.csv")
    lines = (tmp_path / "topics.csv").read_text().splitlines()
    assert code == 0 and "3 topics" in said and lines[0] == "words,tokens,topic,u_mass"
    u_mass = run.coherence([words_of(text) for text in texts], "u_mass")
    told = {int(line.split(",")[2]): float(line.split(",")[3]) for line in lines[1:]}
    np.testing.assert_allclose([told[k] for k in range(3)], u_mass, rtol=1e-9)


def test_mistakes(run, texts, tmp_path, command):
    with pytest.raises(tux.UsageError, match="no measure 'cv' of topics\n.*did you mean c_v"):
        run.coherence(texts, "cv")
    with pytest.raises(tux.UsageError, match=message("coherence-of-words-of-a", "1")):
        run.coherence(texts, top=1)
    with pytest.raises(tux.DataError, match=message("has-no-word-of-the")):
        run.coherence(["other words", "and more"])
    with pytest.raises(tux.UsageError, match="no option 'colum'"):
        run.coherence(texts, colum="a")
    with pytest.raises(tux.UsageError, match=message("min-count-counts-the-of", "min_count")):
        run.coherence(texts, min_count=3)
    with pytest.raises(tux.DataError, match="text is missing"):
        run.coherence([*texts, None])
    found = run.coherence([*texts, None], on_bad_row="skip")
    np.testing.assert_array_equal(found, run.coherence(texts))
    code, said = command(f"predict {run.folder} --coherence c_v")
    assert code == 2 and "tux predict needs DATA" in said
    (tmp_path / "new.txt").write_text("apple1 apple2\n")
    code, said = command(f"predict {run.folder} {tmp_path}/new.txt --form text --count 3")
    assert code == 2 and "--count without --nearest ID or --coherence MEASURE" in said


def test_words_that_are_numbers():
    matrix = sparse.csr_array(np.array([[2, 1, 0], [0, 1, 3], [1, 0, 1]]))
    run = tux.run(tux.LDA(topics=2), matrix, progress=False, jit=False, epochs=1)
    assert run.coherence(matrix, "u_mass").shape == (2,)
    with pytest.raises(tux.UsageError, match=message("the-words-of-the-model")):
        run.coherence(["a text", "another text"])


def test_a_program_without_topics(ratings):
    run = tux.run(tux.MF(rank=2), ratings, progress=False, jit=False, epochs=1)
    with pytest.raises(tux.UsageError, match=message("has-no-topics", "MF")):
        run.coherence(["a text"])
