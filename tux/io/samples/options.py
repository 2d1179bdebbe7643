"""The options of reading samples, whatever they stand in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tux.arrays.ids import Ids
from tux.io.samples.crossed import Crosses
from tux.io.samples.label_files import LabelFile
from tux.io.samples.labels import Classes
from tux.io.source.text import OnBadRow

SampleForm = Literal["svm", "table", "npz"]


@dataclass(frozen=True, eq=False)
class SampleOptions:
    """The options of `tux.io.samples.samples.read_samples`, which explains them."""

    form: SampleForm | None = None
    label: str | None = None
    weight: str | None = None
    query: str | None = None
    cross: Crosses | None = None
    labels: str | os.PathLike[str] | None = None
    against: Mapping[str, Ids] | None = None
    unknown: Literal["new", "skip"] = "new"
    numbered: str = ""  # of `against`: see `tux.arrays.edges.EdgeData.numbered`
    classes: Classes | None = None
    on_bad_row: OnBadRow = "stop"
    require_labels: bool = True
    numeric: bool = False
    least: float = -np.inf  # label that is a number
    multiclass: bool = False
    ranked: bool = False
    hash_bits: int = 0
    apart: np.ndarray | None = None  # (n,) labels that do not stand beside the features
    label_file: LabelFile | None = None  # of which a process reads the labels of its share

    @property
    def given_apart(self) -> bool:
        """True if labels do not stand beside the features."""
        return self.apart is not None or self.label_file is not None

    def labels_path(self, path: str) -> str:
        """Return the path of the labels of samples in the file `path`."""
        if self.label_file is not None:
            return self.label_file.path
        return path if self.labels is None else os.fspath(self.labels)

    def known_features(self, column: str) -> Ids | None:
        """Return the features, called `column`, of other samples, such as those of training."""
        return (self.against or {}).get(column)
