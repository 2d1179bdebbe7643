"""Fixtures that tests of stages share: UDFs in files of their own."""

import importlib.util
import itertools
import textwrap

import pytest


@pytest.fixture
def define_udf(tmp_path):
    """Return a function that writes source to a file and gives its function `udf`."""
    numbers = itertools.count()

    def define(source, **scope):
        path = tmp_path / f"udfs_{next(numbers)}.py"
        path.write_text(textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        vars(module).update(scope)
        return module.udf

    return define
