"""Random UDFs as source text. Most of it is allowed in UDFs, some only in Python."""

from textwrap import indent

from support.programs.unusual_udfs import Unusual

COMMON = """
import numpy as np

PART = slice(0, 2)
NEW = np.newaxis
PAIR = (0, (1, 2))
KEPT = []


def same(row):
    return row


def pick(one, other, which=0):
    return one if which else other


def first(pair, *, at=0):
    return pair[at]


def both(row, array):
    return row, array


def bump(array, k):
    array[k % len(array)] += 1
    return array


def look(row):
    for k in range(2):
        if row.f[k] > 1:
            return row.a
    return 0


def again(row, n):
    if n > 0:
        row.b = n
        return again(row, n - 1)
    return row


def keep(array):
    KEPT.append(array)
    return KEPT


def raised(row):
    row.a += 1
    raise ValueError(row.b)


def nothing():
    return None


def closing(number):
    part = PART

    def inner(array, k=number):
        x = array[part]
        x[0] = k + number
        return x

    return inner


closed = closing(3)

"""

FORMS = {
    "user, item, rating, tau, p": ("user", "item", "rating", "tau"),
    "item, edges, tau, p": ("item", "edges[0]", "edges[n % 2].user", "edges[-1].user", "tau"),
}
"""Parameters of UDFs, and the rows that they lead to."""

START = "r, s, x, y, z, n, k, q, w = {0}, {1}, {0}.f, {1}.g[n % 2], {1}.g, n, 1, look, PART"


class Writer(Unusual):
    """Writes one function. `random` decides; `rows` are expressions of rows; `called` the names of
    callees; `wild` the share of what UDFs may rather not do.
    """

    def __init__(self, random, rows, *, wild, called=(), outermost=False):
        self.random, self.rows, self.called, self.wild = random, rows, called, wild
        self.outermost, self.edges = outermost, any("edges" in row for row in rows)
        self.loops = self.blocks = self.depth = self.counts = 0

    def choose(self, *options):
        """Choose one of some options: text, or functions that write it."""
        found = self.random.choice(options)
        return found if isinstance(found, str) else found()

    def choose_usual(self, options, wild):
        """Choose one of the usual options, or, seldom, one of the others."""
        return self.choose(*(wild if self.random.random() < self.wild else options))

    def deep(self):
        """Return whether an expression is deep enough; those inside others may be less deep."""
        return self.depth > 2 or self.random.random() < 0.3 * self.depth

    def write_inside(self, write):
        self.depth += 1
        out = write()
        self.depth -= 1
        return out

    # ---- expressions

    def row(self):
        return self.write_inside(self._row)

    def _row(self):
        if self.deep():
            return self.choose("r", "s", *self.rows)
        row, number = self.row, self.number
        made = [
            *(*self.rows, "r", "s", "t[0]"),
            lambda: f"pick({row()}, {row()}, {number()})",
            lambda: f"pick(other={row()}, one={row()})",
            lambda: f"same({row()})",
            lambda: f"first(({row()}, {number()}))",
            lambda: f"both({row()}, {self.array()})[0]",
            lambda: f"({row()} if {self.test()} else {row()})",
            lambda: f"({row()}, {row()})[{self.index()}]",
        ]
        if self.edges:
            made += [
                "[e.user for e in edges][k % 2]",
                "[e for e in edges if n][0]",
                lambda: f"edges[{self.index()}].user",
            ]
        return self.choose_usual(made, self.unusual_rows())

    def array(self):
        return self.write_inside(self._array)

    def _array(self):
        row, array, number = self.row, self.array, self.number
        if self.deep():
            return self.choose("x", "y", "r.f", f"{self.choose(*self.rows)}.f")
        made = [
            *("x", "y", "t[1]", "r.f"),
            lambda: f"{row()}.f",
            lambda: f"{row()}.f",
            lambda: f"{row()}.h",
            lambda: f"{row()}.g[{self.index()}]",
            lambda: f"{row()}.g[:, {self.index()}]",
            lambda: f"{row()}.g[{self.index()}, :]",
            lambda: f"{self.matrix()}[{self.index()}]",
            lambda: f"{array()}[{self.choose(':', '0:1', '::-1', 'k:', ':n')}]",
            lambda: f"bump({array()}, {number()})",
            lambda: f"pick({array()}, {array()}, {number()})",
            lambda: f"both({row()}, {array()})[1]",
            lambda: f"({array()} if {self.test()} else {array()})",
            lambda: f"{array()}.copy()",
            lambda: f"({array()} + {self.choose(array, number)})",
            lambda: f"np.{self.choose('minimum', 'add', 'maximum')}({array()}, {number()})",
        ]
        return self.choose_usual(made, self.unusual_arrays())

    def matrix(self):
        made = ["z", lambda: f"{self.row()}.g", lambda: f"{self.row()}.g[:]", "r.g[0:2, ::-1]"]
        wild = ["r.f[None]", "s.f[NEW]", "z.T", "z[PART]", "np.stack((x, x))", "s.g.copy()"]
        wild += [lambda: f"{self.row()}.g[w, {self.choose(':', 'w')}]"]
        return self.choose_usual(made, wild)

    def index(self):
        return self.choose("0", "1", "-1", "n % 2", "k % 2", "n % 2", "0")

    def number(self):
        return self.write_inside(self._number)

    def _number(self):
        row, array, number = self.row, self.array, self.number
        if self.deep():
            return self.choose("1", "n", "k", "r.a", "x[0]")
        made = [
            *("2", "n", "k", "t[2]", "len(x)", "x.shape[0]", "PAIR[0]"),
            lambda: f"{row()}.a",
            lambda: f"{row()}.b",
            lambda: f"{array()}[{self.index()}]",
            lambda: f"{row()}.g[{self.index()}, {self.index()}]",
            lambda: f"({number()} {self.choose('+', '-', '*', '%')} 5)",
            lambda: f"{self.choose('min', 'max')}({number()}, {number()})",
            lambda: f"{self.choose('sum', 'max', 'np.sum', 'np.max')}({array()})",
            lambda: f"int({array()}.{self.choose('sum', 'max', 'argmin')}())",
            lambda: f"look({row()})",
            lambda: f"abs({number()})",
            lambda: f"({number()} if {self.test()} else {number()})",
        ]
        if self.outermost:
            made += ["int(p.rank)", "tau.far.key"]
        if self.edges:
            made += ["len(edges)", "sum([e.a for e in edges])"]
        return self.choose_usual(made, self.unusual_numbers())

    def test(self):
        return self.choose(
            "n",
            "x is y",
            lambda: f"{self.number()} {self.choose('<', '>=', '==')} {self.number()}",
            lambda: f"{self.number()} in {self.array()}",
            lambda: f"not {self.number()}",
            lambda: f"({self.number()} {self.choose('and', 'or')} {self.number()})",
            lambda: f"{self.row()} is not {self.row()}",
        )

    def place(self):
        return self.choose(
            lambda: f"{self.row()}.a",
            lambda: f"{self.row()}.b",
            lambda: f"{self.row()}.{self.choose('a', 'b')}",
            lambda: f"{self.array()}[{self.index()}]",
            lambda: f"{self.array()}[{self.index()}]",
            lambda: f"{self.row()}.g[{self.index()}, {self.index()}]",
            lambda: f"{self.matrix()}[{self.index()}][{self.index()}]",
            lambda: f"{self.row()}.f[{self.row()}.a % 2]",
        )

    # ---- statements

    def body(self):
        """Write a block of statements."""
        self.blocks += 1
        lines = "\n".join(self.statement() for _ in range(1 + self.random.randrange(3)))
        self.blocks -= 1
        return indent(lines, "    ")

    def statement(self):
        if self.blocks < 3 and self.depth < 3 and self.random.random() < 0.3:
            return self.choose_usual(self._compounds(), self.unusual_compounds())
        return self.choose_usual(self._usual_statements(), self.unusual_statements())

    def _usual_statements(self):
        row, array, number, place = self.row, self.array, self.number, self.place
        return [
            lambda: f"{place()} {self.choose('+=', '-=', '*=', '+=')} {number()}",
            lambda: f"{place()} = {number()}",
            lambda: self.fold(place(), number()),
            lambda: self.fold(place(), number()),
            lambda: "{0}, {1} = {1}, {0}".format(place(), place()),
            lambda: "{0}, {1} = {0} + {2}, {1} - {3}".format(place(), place(), number(), number()),
            lambda: f"n, {row()}.f[n % 2] = {number()}, {number()}",
            lambda: f"r = {row()}",
            lambda: f"s = {row()}",
            lambda: f"x = {array()}",
            lambda: f"y: np.ndarray = {array()}",
            lambda: f"x = y = {array()}",
            lambda: f"z = {self.matrix()}",
            lambda: f"n = abs({number()}) % 5",
            lambda: f"x {self.choose('+=', '-=', '*=')} {self.choose(number, array)}",
            lambda: f"n += {number()}",
            lambda: f"t = ({row()}, {array()}, {number()})",
            "r, x, n = t",
            "(r, (y, n)) = (s, (x, k))",
            "(r, (x, n)) = (s, both(k, y)[::-1])",
            lambda: f"s, x = both({row()}, {array()})",
            lambda: f"n, k = {array()}[:2]",
            lambda: f"{array()}.{self.choose('fill(n)', 'sort()', 'fill(k)')}",
            lambda: f"{array()}[{self.choose(':', '0:1')}] = {self.choose(number, array)}",
            lambda: "{0}[:] = {0} + {1}".format(array(), self.choose(number, array)),
            lambda: "{0}[:] = np.maximum({0}, {1})".format(array(), number()),
            lambda: f"np.add({array()}, {number()}, {array()})",
            lambda: f"np.multiply({array()}, {number()}, out={array()})",
            lambda: f"n = look({row()})",
            lambda: self.call(),
            lambda: self.call(),
            lambda: self.choose("continue", "break", "pass") if self.loops else "pass",
            lambda: f"if {self.test()}: return {self.result()}",
            "tau.far.add(n, k)" if self.outermost else "pass",
        ]

    def fold(self, place, number):
        """Write a change that combines what stands at a place with a number."""
        form = self.random.choice(
            [
                "{0} = {0} - {1}",
                "{0} = {1} + {0}",
                "{0} = {1} - {0}",
                "{0} = {1} + ({0} - n)",
                "{0} = min({0}, {1})",
                "{0} = max({1}, {0})",
                "{0} = np.minimum({0}, {1})",
                "if {1} < {0}: {0} = {1}",
                "if {0} <= {1}: {0} = {1}",
                "if {0} <= {1}: {0} = n",
                "{0} = {1} if {1} > {0} else {0}",
                "{0} = {0} if {0} < {1} else {1}",
            ]
        )
        return form.format(place, number)

    def call(self):
        """Write a call of one of the callees, whose result may be used."""
        if not self.called:
            return f"bump({self.array()}, n)"
        arguments = self.choose(
            lambda: f"{self.row()}, {self.row()}, {self.array()}, {self.number()}",
            lambda: f"{self.row()}, {self.row()}, {self.array()}",
            lambda: f"{self.row()}, x={self.array()}, s={self.row()}, n={self.number()}",
        )
        name = self.random.choice(self.called)
        left = {"row": "r = ", "array": "x = ", "number": "n = ", "tuple": "r, x = "}
        return self.choose("", left[name.split("_")[0]]) + f"{name}({arguments})"

    def _compounds(self):
        row, test = self.row, self.test
        made = [
            lambda: f"if {test()}:\n{self.body()}",
            lambda: f"if {test()}:\n{self.body()}\nelse:\n{self.body()}",
            lambda: f"if {test()}:\n{self.body()}\nelif {test()}:\n{self.body()}",
            lambda: f"for i in range(2):\n{self.loop()}",
            lambda: f"for k in range(2):\n{self.loop()}\nelse:\n{self.body()}",
            lambda: f"for r in ({row()}, {row()}):\n{self.loop()}",
            lambda: f"for i in {self.matrix()}:\n    x = i\n{self.loop()}",
            lambda: f"for n in {self.array()}:\n{self.loop()}",
            lambda: f"for i, x in enumerate({self.matrix()}):\n{self.loop()}",
            self.repeat,
        ]
        if self.edges:
            made += [
                lambda: f"for e in edges:\n    r = e.user\n{self.loop()}",
                lambda: f"for e in edges:\n    s = e\n{self.loop()}\nelse:\n{self.body()}",
                lambda: f"for k, r in enumerate(edges):\n{self.loop()}",
                lambda: f"for r, n in zip(edges, {self.array()}):\n{self.loop()}",
            ]
        return made

    def loop(self):
        """Write the body of a loop."""
        self.loops += 1
        out = self.body()
        self.loops -= 1
        return out

    def repeat(self):
        """Write a loop with a condition, which ends."""
        self.counts += 1
        count = f"c{self.counts}"
        test = self.choose("", f" and {self.test()}")
        return (
            f"{count} = 0\nwhile {count} < 2{test}:\n    {count} += 1\n{self.loop()}"
            + self.choose("", lambda: f"\nelse:\n{self.body()}")
        )

    def result(self):
        """Write the value that a function returns."""
        return self.choose(self.number, "", self.row, self.array)


def callee(random, name, called, wild):
    """Return a function that `Writer.call` can call."""
    writer = Writer(random, ("r", "s"), wild=wild, called=called)
    kind = name.split("_")[0]
    made = {"row": writer.row, "array": writer.array, "number": writer.number}
    end = f"({writer.row()}, {writer.array()})" if kind == "tuple" else made[kind]()
    # so that results mostly are of the kind that callers use
    writer.result = made.get(kind, lambda: f"({writer.row()}, {writer.array()})")
    start = "t, y, z, k, q, w = (r, x, n), x, s.g, 1, look, PART"
    body = indent(f"{start}\nfor once in range(1):\n{writer.loop()}\nreturn {end}", "    ")
    return f"def {name}(r, s, x, n=2):\n{body}\n\n\n"


def source(random, wild=0.1):
    """Return the parameters of a UDF, and the text of a file with the UDF `udf` and its callees."""
    parameters = random.choice(sorted(FORMS))
    called, text = [], COMMON
    for at in range(random.randrange(4)):
        name = f"{random.choice(['row', 'array', 'number', 'tuple'])}_{at}"
        text += callee(random, name, tuple(called), wild)
        called.append(name)
    rows = FORMS[parameters]
    writer = Writer(random, rows, called=called, outermost=True, wild=wild)
    start = START.format(random.choice(rows[:2]), random.choice(rows[:2]))
    lines = "\n".join(writer.loop() for _ in range(1 + random.randrange(3)))
    body = indent(f"n = 1\n{start}\nt = (r, y, n)\nfor once in range(1):\n{lines}", "    ")
    return parameters, f"{text}def udf({parameters}):\n{body}\n"
