"""Parsing where other threads parse too."""

import ast

import pytest

from tux.base.syntax import TIMES, parse_source


def test_a_parse_that_another_thread_disturbs_is_tried_again(monkeypatch):
    calls, parse = [], ast.parse

    def fail_some_times(source):
        calls.append(source)
        if len(calls) < TIMES:
            raise SystemError("AST constructor recursion depth mismatch (before=171, after=73)")
        return parse(source)

    monkeypatch.setattr(ast, "parse", fail_some_times)
    assert ast.unparse(parse_source("x = 1")) == "x = 1" and len(calls) == TIMES


def test_one_that_always_fails_is_told(monkeypatch):
    def always_fail(source):
        raise SystemError("always")

    monkeypatch.setattr(ast, "parse", always_fail)
    with pytest.raises(SystemError, match="always"):
        parse_source("x = 1")


def test_faults_of_the_source_are_told():
    with pytest.raises(SyntaxError):
        parse_source("x =")
