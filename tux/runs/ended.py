"""Runs that have ended: whether more epochs can follow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tux.base.errors import UsageError
from tux.base.text import plural
from tux.checkpoint.store import CheckpointManifest
from tux.program.program import Program, begins_with_model


def check_goes_on(
    path: Path,
    program: type[Program],
    manifest: CheckpointManifest,
    most: int,
    others: Mapping[str, Any],
    *,
    whole: bool,
) -> None:
    """Raise UsageError where no epoch follows this state of a run, which is to end after `most`:
    it has ended already, perhaps by itself. `whole`: its model and results are written.
    """
    ended, alone = manifest.epoch, manifest.over and whole
    asks = alone and others.get("epochs") is not None
    if not (ended > most or (ended == most and whole) or asks):
        return
    do = f"go on with more: --epochs N, with N above {ended}"
    if alone:
        do = "no epoch follows; train anew, with other parameters"
        if begins_with_model(program):
            do = f"no epoch follows; begin another run with its model: --from {path}"
    told = f"the run of {path} is over: it has trained {plural(ended, 'epoch')}"
    raise UsageError(told, do=do)
