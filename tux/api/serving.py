"""A run in memory that answers over HTTP, and its vectors as an index."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from tux.api import predicting
from tux.arrays import stores
from tux.base.errors import UsageError
from tux.base.signals import pass_on_termination
from tux.base.text import did_you_mean
from tux.predict.index import write_index
from tux.predict.predict import TrainedModel
from tux.program.report import INDEXES, Model
from tux.serve.start import check_access, check_libraries, read_token, serve


def index(
    folder: str | os.PathLike[str], library: str, trained: TrainedModel, model: Model, of: str
) -> dict[str, Any]:
    """Write an index of a model's vectors: see `tux.Run.write_index`."""
    if library not in INDEXES:
        near = did_you_mean(library, INDEXES)
        raise UsageError(
            f"no index is made for {library!r}", do=f"{near}there are: {', '.join(INDEXES)}"
        )
    path, seed = stores.output_path(folder), trained.run.seed
    return write_index(path, library, trained.program, model, of=of, seed=seed)


def serve_model(
    trained: TrainedModel,
    model: Model,
    host: str,
    port: int,
    token_file: str | os.PathLike[str] | None,
    exclude: Any,
) -> None:
    """Answer by a model until Ctrl-C: see `tux.Run.serve`."""
    check_libraries()
    token = read_token(token_file)
    check_access(host, token)
    from tux.serve.answering import AnsweringModel
    from tux.serve.current import FixedModel

    answering = AnsweringModel(trained, model, exclude, predicting.warn)
    with pass_on_termination(), suppress(KeyboardInterrupt):
        serve(FixedModel(answering), host, port, token, predicting.warn, predicting.warn)
