"""The rules of words: names of functions, classes and constants, and how docstrings begin."""

import ast
from collections import defaultdict
from functools import cache

from test_house_rules import FILES, of_each, statements_in, tree_of

import tux
from tux.program.hooks import OWNER

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef

PARTICIPLES = frozenset(
    """become begun born bought bound broken brought built caught chosen cut done drawn driven found
    given gone got grown held hidden hit kept known laid led left lent let lost made meant met paid
    put read run said seen sent set shown sold spent split spread stolen struck taken taught thought
    thrown told torn understood won worn woven written""".split()
)
"""Those that do not end in -ed."""

VERBS = frozenset("cut hit let put read run set split spread feed need seed shed".split())
"""Of these and of -ed, the ones that are verbs too. Their docstring begins with the verb."""

NO_BEGIN = frozenset("how that those what when where whether which who why".split())
"""Words that begin no docstring: a verb does, or a subject."""

NO_CONSTANTS = {"MOST", "LEAST", "FEW", "PATIENCE", "SHORT", "LONG", "WIDE"}
"""Words that name no unit, and so no constant alone."""


def is_participle(word):
    """Return whether a name is a participle, and nothing else."""
    if "_" in word:
        return False
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 3)


def first_words(node, count):
    """Return the first words of a docstring in lower case, without marks."""
    text = ast.get_docstring(node) or ""
    return [word.strip(".,:;").lower() for word in text.split()[:count]]


@cache
def definitions(name):
    """Return (node, whether it stands in a function) of each function and class of a file."""
    found = []

    def visit(node, inside):
        for child in statements_in(node):
            if isinstance(child, FUNCTIONS | ast.ClassDef):
                found.append((child, inside))
            visit(child, inside or isinstance(child, FUNCTIONS))

    visit(tree_of(name), False)
    return found


def docstrings(name):
    """Yield the nodes of a file that may have docstrings."""
    yield tree_of(name)
    yield from (node for node, _ in definitions(name))


@of_each(FILES)
def test_functions_are_verb_phrases_or_nouns(name):
    """`send_moves` and `logsumexp`, not `told`. A property reads as a field does (`closed`); the
    hooks of programs and kinds of fields (`shared`) are the users' language.
    """
    for node, _ in definitions(name):
        word = node.name.strip("_")
        if isinstance(node, ast.ClassDef) or not is_participle(word):
            continue
        if word in OWNER or word in tux.__all__:
            continue
        if any(ast.unparse(each).endswith("property") for each in node.decorator_list):
            continue
        is_verb = word in VERBS and first_words(node, 1) in ([], [word])
        assert is_verb, f"{name}:{node.lineno}: {node.name} names no action"


@of_each(FILES)
def test_docstrings_begin_with_a_verb_or_a_subject(name):
    for node in docstrings(name):
        begin = first_words(node, 2)
        where = f"{name}:{getattr(node, 'lineno', 1)}"
        assert not NO_BEGIN & set(begin[:1]), f"{where}: {begin[0]}"
        assert begin != ["the", "same"], where


def test_a_name_is_of_one_class():
    """Classes in functions are left out, as local names are."""
    places = defaultdict(list)
    for name in FILES:
        for node, is_local in definitions(name):
            if isinstance(node, ast.ClassDef) and not is_local:
                places[node.name].append(f"{name}:{node.lineno}")
    assert {each: at for each, at in places.items() if len(at) > 1} == {}


@of_each([name for name in FILES if not name.startswith("tests/")])
def test_constants_name_a_unit_or_an_object(name):
    """MAX_VERTICES and CLIENT_SECONDS say more than MOST and PATIENCE do."""
    for node in tree_of(name).body:
        if isinstance(node, ast.Assign):
            stored = {
                each.id
                for target in node.targets
                for each in ast.walk(target)
                if isinstance(each, ast.Name)
            }
            assert not stored & NO_CONSTANTS, f"{name}:{node.lineno}: {stored & NO_CONSTANTS}"
