"""``tux run APP --explain``: what each function does, without data."""

from tux.cli.main import main


def test_what_the_functions_of_a_program_do(capsys):
    assert main(["run", "docs/pagerank.py", "--explain"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("once:\n  Exchange(count)\n    count: adds to src.seen\n")
    give = "each epoch:\n  Exchange(give)\n    give: reads src.links, src.rank; adds to dst.gain\n"
    assert give + "    threads: tiles, tickets of columns\n" in out
    assert "after an epoch" not in out
    assert max(map(len, out.splitlines())) <= 100


def test_racing_is_explained_where_it_is_given(capsys):
    assert main(["run", "deepwalk", "--explain"]) == 0
    assert "threads of learn: one thread: `learn`" in capsys.readouterr().out
    assert main(["run", "deepwalk", "--explain", "--racing"]) == 0
    assert "threads of learn: racing" in capsys.readouterr().out


def test_stages_inside_others_and_what_is_not_understood(tmp_path, capsys):
    program = tmp_path / "odd.py"
    program.write_text(
        """from tux import Edge, Program, Vertex, delta, value
from tux.stages import Apply, Exchange, Repeat


def odd(src, dst):
    dst.least = min(dst.least, getattr(src, "x"))


def nothing(page):
    pass


class Odd(Program):
    page = Vertex(x=value("f8"), least=delta("f8", combine="min"))
    link = Edge("page", "page")

    def stages(self):
        return [Repeat(Exchange(odd), Apply("page", nothing), times=2)]
"""
    )
    assert main(["run", str(program), "--explain"]) == 0
    assert capsys.readouterr().out == (
        "each epoch:\n  Repeat\n    Exchange(odd)\n      odd: lowers dst.least; may read and write "
        "src.*\n      threads: one thread: `odd` (odd.py:6) may change src.least, which is read "
        "or changed by way\n          of dst; write it so that tux can follow it: see On all "
        "threads in docs/program.md\n    Apply(page, nothing)\n      nothing: reads and "
        "changes no field\n      threads: vertices\n"
    )


def test_functions_that_combine_are_named(tmp_path, capsys):
    program = tmp_path / "largest.py"
    program.write_text(
        """from tux import Apply, Edge, Exchange, Program, Vertex, delta, value


def larger(a, b):
    return max(a, b)


def offer(src, dst):
    dst.best = max(dst.best, src.id)


def keep(node):
    node.x = node.best


class Largest(Program):
    node = Vertex(x=value("i4"), best=delta("i4", combine=larger, init=-1))
    link = Edge("node", "node")

    def stages(self):
        return [Exchange(offer), Apply("node", keep)]
"""
    )
    assert main(["run", str(program), "--explain"]) == 0
    assert "writes node.x\n    larger: combines node.best\n" in capsys.readouterr().out
