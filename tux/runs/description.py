"""The record of a run (`run.json`), as far as it is known before its data are loaded and after."""

from __future__ import annotations

from importlib.metadata import version
from platform import python_version

from tux.base.version import VERSION
from tux.inputs.load import Data, Inputs
from tux.inputs.origin import cut_folder, origin, whole_parameters
from tux.options.options import RunOptions
from tux.program import sources
from tux.program.params import internal_names
from tux.program.program import Program
from tux.run_folder.folder import App, DataOrigin, RunRecord
from tux.runs.begin import fit_plan_to_folder


def describe_early(
    program: Program, options: RunOptions, data: Data | None, test: Data | None
) -> RunRecord:
    """Return the record of a run whose data are still to be loaded: all that is needed to begin it
    again. The digests of the data, their sizes and the program's own choices for them are not known
    yet. UsageError for options that a folder of `tux partition` contradicts.
    """
    record = _record(program, options, DataOrigin(origin(data), ""))
    record.options = fit_plan_to_folder(options.plan_for(program), cut_folder(data)).record()
    if test is not None:
        record.test = DataOrigin(origin(test), "")
    return record


def describe(program: Program, inputs: Inputs, options: RunOptions, *, digests: bool) -> RunRecord:
    """Return the run's record; with `digests` of the data, which take about a second a gigabyte of
    edges.
    """
    record = _record(program, options, DataOrigin(inputs.origin, ""))
    record.id_types = dict(inputs.train.id_types)
    record.categories = {
        kind: {name: [str(word) for word in words.tolist()] for name, words in named.items()}
        for kind, named in inputs.train.categories.items()
    }
    record.data.columns = dict(inputs.train.columns)
    record.data.numbered = inputs.train.numbered
    if digests:
        record.data.digest = inputs.digest()
    if inputs.test is not None:
        digest = inputs.test.digest() if digests else ""
        record.test = DataOrigin(inputs.test_origin or inputs.origin, digest)
    record.sizes = inputs.sizes
    return record


def _record(program: Program, options: RunOptions, data: DataOrigin) -> RunRecord:
    """Return the part of the record that is known before the data are loaded."""
    source = sources.source_of(program)
    app = App(source.name, source.digest, source.digests)
    versions = {
        "python": python_version(),
        "tux": VERSION,  # the metadata of an editable installation may be out of date
        **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
    }
    parameters = whole_parameters(program, program.parameters)
    return RunRecord(
        app,
        parameters,
        options.seed,
        {},
        data,
        command=list(options.command),
        versions=versions,
        internal=internal_names(program.params),
    )
