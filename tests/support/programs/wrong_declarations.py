"""Programs with one mistake each in what they declare, as `wrong_programs` has them for functions:
types, fields, parameters, hooks and stages.
"""

from __future__ import annotations

from support.programs.wrong_programs import (
    CLASS,
    DEF_GIVE,
    DEF_SHOW,
    DEF_STAGES,
    LINK,
    PAGE,
    STAGES,
    TURNS,
    page,
    wrong,
)


def here(line: str) -> str:
    """Return a line that is marked."""
    return f"{line}  # here"


def add_declaration(line: str) -> tuple[str, str]:
    """Return one declaration more."""
    return LINK, f"{LINK}\n    {line}  # here"


def method(text: str) -> tuple[str, str]:
    """Return one method more, whose lines are `text`."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return DEF_STAGES, f"{DEF_STAGES}\n{lines}"


def stages(*lines: str) -> tuple[str, str]:
    """Return other stages, a line each."""
    inside = "".join(f"            {line}\n" for line in lines)
    return STAGES, f"return [\n{inside}        ]"


GIVES, KEEPS, SHOWS = "Exchange(give),", 'Apply("page", keep),', "GlobalSync(show),"

TYPES = [
    wrong(
        "a metric of a vertex",
        "field y of a vertex is a metric, which only the context has",
        *(PAGE, here(page("y=metric()"))),
    ),
    wrong(
        "an initial value that depends on no parameter",
        "AttributeError: the program has no parameter width (parameters: share, turns)",
        *(PAGE, here(page('y=value("f8", init=lambda p: p.width)'))),
    ),
    wrong(
        "a file that ends Python",
        "the file ends Python when it is imported",
        *(DEF_STAGES, f"{DEF_STAGES}\n\nraise SystemExit(0)  # here\n"),
    ),
    wrong(
        "a second edge type that repeats its edges",
        "edge cites is declared repeats=",
        *add_declaration('cites = Edge("page", "page", repeats="n")'),
    ),
    wrong(
        "no edge type",
        "declares no edge type",
        *(f"    {LINK}\n", "", CLASS, f"{CLASS}  # here"),
    ),
    wrong(
        "an edge that ends at no type",
        "edge link ends at 'pages', which is no vertex type",
        *(LINK, 'link = Edge("page", "pages")  # here'),
    ),
    wrong(
        "a type without edges",
        "no edge ends at vertex type user",
        *add_declaration('user = Vertex(age=value("f8"))'),
    ),
    wrong(
        "a field that is declared as a text",
        "field x is declared as 'f8'",
        *(PAGE, 'page = Vertex(got=delta("f8"), x="f8")  # here'),
    ),
    wrong(
        "a field that is declared twice",
        "SyntaxError: keyword argument repeated: x",
        *(PAGE, 'page = Vertex(x=delta("f8"), x=value("f8"))  # here'),
    ),
    wrong(
        "a field called id",
        "a vertex field is called id",
        *(PAGE, here(page('id=value("i4")'))),
    ),
    wrong(
        "a dtype that does not exist",
        "a value field of dtype f16",
        *(PAGE, here(page('y=value("f16")'))),
    ),
    wrong(
        "a dtype by the name that Python has for it",
        "page.y is declared with 'float', which is neither a dtype nor an integer parameter",
        *(PAGE, here(page('y=value("float")'))),
    ),
    wrong(
        "a length that is a float parameter",
        "page.y is declared with 'share', which is neither a dtype nor an integer parameter",
        *(PAGE, here(page('y=value("f8", "share")'))),
    ),
    wrong(
        "a dtype of numpy",
        "a value field is declared with the class float64",
        *(PAGE, here(page("y=value(np.float64)"))),
    ),
    wrong(
        "lengths in a tuple",
        "a value field is declared with (3, 2)",
        *(PAGE, here(page('y=value("f8", (3, 2))'))),
    ),
    wrong(
        "an array as initial value",
        "a value field cannot begin as an object of type ndarray",
        *(PAGE, here(page('y=value("f8", 3, init=np.zeros(3))'))),
    ),
    wrong(
        "a function that returns an initial value, not an initialiser",
        "the function of the initial value of a value field has returned 3",
        *(PAGE, here(page('y=value("f8", init=lambda p: 3)'))),
    ),
    wrong(
        "a function of a length without a parameter",
        "the length of a value field is a function with other parameters",
        *(PAGE, here(page('y=value("f8", lambda: 3)'))),
    ),
    wrong(
        "the ends of an edge that are no texts",
        "an edge type is declared with something that is no text",
        *(LINK, here("link = Edge(page, page)")),
    ),
    wrong(
        "a dtype of a parameter that does not exist",
        "a parameter of dtype 'f3'",
        *(TURNS, here('turns: float = param(2.0, "x", dtype="f3")')),
    ),
    wrong(
        "a parameter with the name of a flag",
        "parameter out has the name of a flag",
        *add_declaration('out: int = param(3, "words")'),
    ),
    wrong(
        "an __init__ that forgets the parameters",
        "Sums cannot be made",
        *method("def __init__(self, **parameters):  # here\n    self.seen = 0"),
    ),
    wrong(
        "an initial value that does not fit",
        "a value field of dtype i1 cannot begin as 300",
        *(PAGE, here(page('y=value("i1", init=300)'))),
    ),
    wrong(
        "a mean of whole numbers",
        "a shared field of dtype i4 cannot be combined by 'mean'",
        *(PAGE, here(page('y=shared("i4", combine="mean")'))),
    ),
    wrong(
        "a combination that does not exist",
        "a delta field cannot be combined by 'avg'",
        *(PAGE, here(page('y=delta("f8", combine="avg")'))),
    ),
    wrong(
        "a function of one value that is to combine two",
        "a delta is combined by <function",
        *(PAGE, here(page("y=delta(combine=lambda a: a, init=0)"))),
    ),
    wrong(
        "a function that combines, without what it begins with",
        "a delta combined by `<lambda>` has init=None",
        *(PAGE, here(page("y=delta(combine=lambda a, b: max(a, b))"))),
    ),
    wrong(
        "a function that combines rows which workers do not keep",
        "field y cannot be combined by '<lambda>'",
        *(PAGE, here("page = Vertex(remote=True, y=delta(combine=lambda a, b: a | b, init=0))")),
    ),
    wrong(
        "a default that is a float, of a whole number",
        "the default of turns cannot be used: parameter turns is of type int, not 2.5",
        *(TURNS, 'turns: int = param(2.5, "repetitions")  # here'),
    ),
    wrong(
        "a default out of its range",
        "the default of turns cannot be used: turns = 0 is out of range",
        *(TURNS, 'turns: int = param(0, "repetitions", low=1)  # here'),
    ),
    wrong(
        "a parameter with a name that is taken",
        "context cannot name a parameter",
        *add_declaration('context: int = param(3, "words")'),
    ),
    wrong(
        "a parameter that is a vertex of no type",
        "parameter start is the id of a 'user', which is no vertex type",
        *add_declaration('start: str = vertex_param("user", "where it begins")'),
    ),
    wrong(
        "a parameter that is no vertex",
        "--start: no page of the training data has the id 'nowhere'",
        *(LINK, f'{LINK}\n    start: str = vertex_param("page", "where it begins")'),
        flags="--no-jit --start nowhere",
    ),
]

HOOKS = [
    wrong(
        "monitor is misspelt",
        "monitors shwn, which is no metric",
        *add_declaration('monitor = "shwn"'),
    ),
    wrong(
        "evaluate() is misspelt",
        "Sums.evaluates() is never called by tux; did you mean evaluate",
        *method("def evaluates(self):  # here\n    return []"),
    ),
    wrong(
        "converged() returns an array",
        "Sums.converged() must return True or False, not an object of type ndarray",
        *method("def converged(self, metrics):  # here\n    return np.array([1, 2]) > 0"),
    ),
    wrong(
        "converged() forgets to return",
        "Sums.converged() must return True or False, not None",
        *method('def converged(self, metrics):  # here\n    metrics["shown"] < 1'),
    ),
    wrong(
        "converged() reads a metric that does not exist",
        "KeyError: 'loss'",
        *method('def converged(self, metrics):\n    return metrics["loss"] < 1  # here'),
    ),
    wrong("no stages()", "Sums has no stages()", DEF_STAGES, "", CLASS, f"{CLASS}  # here"),
    wrong(
        "stages() forgets to return",
        "Sums.stages() must return a list of stages, not None",
        *(DEF_STAGES, "    def stages(self):  # here\n        [Exchange(give)]\n"),
    ),
    wrong(
        "stages is a list",
        "Sums.stages is a list, not a method",
        *(DEF_STAGES, "    stages = [Exchange(give)]  # here\n"),
    ),
]

SEQUENCE = [
    wrong(
        "an Exchange that trains on held-out edges",
        "Exchange(give) visits held-out edges in training",
        *stages("Exchange(give, held_out=True),  # here", KEEPS, SHOWS),
    ),
    wrong(
        "a function is called where it should be named",
        "TypeError: give() missing 2 required positional arguments",
        *stages("Exchange(give()),  # here", KEEPS, SHOWS),
    ),
    wrong(
        "a function that gives no function",
        "Exchange is given no function",
        *stages("Exchange(print()),  # here", KEEPS, SHOWS),
    ),
    wrong(
        "a function before the type",
        "as a vertex type",
        *stages(GIVES, 'Apply(keep, "page"),  # here', SHOWS),
    ),
    wrong(
        "a type before the function",
        "`over` is no text",
        *stages('Exchange("src", give),  # here', KEEPS, SHOWS),
    ),
    wrong(
        "a function that yields",
        "UDF give is a generator or asynchronous",
        *(DEF_GIVE, "def give(dst):  # here\n    yield dst\n"),
    ),
    wrong(
        "a function in a MiniBatch",
        "MiniBatch is given an object of type function, which is no stage",
        *stages("MiniBatch(give, blocks=2),  # here", KEEPS, SHOWS),
    ),
    wrong(
        "a size of a MiniBatch that is a text",
        "MiniBatch has a size that is no whole number",
        *stages('MiniBatch(Exchange(give), vertices="turns"),  # here', KEEPS, SHOWS),
    ),
    wrong(
        "a text instead of a function",
        "Exchange(give) was given 'give', not a plain function",
        *stages('Exchange("give"),  # here', KEEPS, SHOWS),
    ),
    wrong(
        "a method as a function",
        "Exchange(_give) was given the method _give, not a plain function",
        *(STAGES, STAGES.replace("give", "self._give")),
        *(DEF_SHOW, DEF_SHOW),
        *(
            f"{CLASS}\n",
            f"{CLASS}\n    def _give(self, src, dst):  # here\n        dst.got += src.x\n\n",
        ),
    ),
    wrong(
        "a function with a parameter that tux does not know",
        "UDF give of Exchange(give) has a parameter 'source' that it cannot be given",
        *(DEF_GIVE, "def give(source, dst):  # here\n    dst.got += source.x\n"),
    ),
    wrong(
        "a function that names the type where both ends have it",
        "UDF give of Exchange(give) has a parameter 'page' that it cannot be given",
        *(DEF_GIVE, "def give(page, dst):  # here\n    dst.got += page.x\n"),
    ),
    wrong(
        "a function with a default value",
        "UDF give has parameter scale=2.0",
        *(DEF_GIVE, "def give(src, dst, scale=2.0):  # here\n    dst.got += src.x * scale\n"),
    ),
    wrong(
        "a GlobalSync that asks for random numbers",
        "UDF show of GlobalSync(show) has a parameter 'rng' that it cannot be given",
        *(DEF_SHOW, "def show(tau, rng):  # here\n    tau.shown = rng.uniform()\n"),
    ),
    wrong(
        "an Apply of no type",
        "'pages' is no vertex type",
        *stages(GIVES, 'Apply("pages", keep),  # here', SHOWS),
    ),
    wrong(
        "an Apply without its function",
        "Apply(page) would lose delta page.got",
        *stages(GIVES, 'Apply("page"),  # here'),
    ),
    wrong(
        "an Exchange over no end",
        "'pages' is no end of link",
        *stages('Exchange(give, over="pages"),  # here', KEEPS, SHOWS),
    ),
    wrong(
        "a list of stages in the list",
        "Sums.stages() must return a list of stages, not one with an object of type list in it",
        *(DEF_STAGES, DEF_STAGES.replace("):\n", "):  # here\n").replace("Exchange", "[give], ")),
    ),
    wrong(
        "a MiniBatch in a MiniBatch",
        "MiniBatch(Exchange(give)) stands in another MiniBatch",
        *stages("MiniBatch(", "MiniBatch(Exchange(give), blocks=2),  # here", "),", KEEPS, SHOWS),
    ),
    wrong(
        "a Repeat in a MiniBatch",
        "Repeat(Exchange(give), times=2) stands in a MiniBatch",
        *stages("MiniBatch(", "Repeat(Exchange(give), times=2),  # here", "),", KEEPS, SHOWS),
    ),
    wrong(
        "a MiniBatch with two sizes",
        "MiniBatch has more than one of vertices, edges and blocks",
        *stages("MiniBatch(Exchange(give), blocks=2, edges=9),  # here", KEEPS, SHOWS),
    ),
    wrong(
        "a MiniBatch without an Exchange",
        "MiniBatch has no Exchange inside and names no end",
        *stages(GIVES, 'MiniBatch(Apply("page", keep), blocks=2),  # here', SHOWS),
    ),
    wrong(
        "a Repeat until a condition that does not end with a GlobalSync",
        "the last stage is Exchange(give), not a GlobalSync",
        *stages("Repeat(GlobalSync(show), Exchange(give), until=show),  # here", KEEPS, SHOWS),
    ),
    wrong(
        "a Repeat as often as no parameter says",
        "Repeat: times='loops' is neither a whole number nor an integer parameter",
        *stages('Repeat(Exchange(give), times="loops"),  # here', KEEPS, SHOWS),
    ),
    wrong(
        "a Generate outside a MiniBatch",
        "Generate(give) stands outside a MiniBatch",
        *stages('Generate(give, None, "page", path=3),  # here', GIVES, KEEPS, SHOWS),
    ),
]
