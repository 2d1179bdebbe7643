"""The plans by which threads share the stages of the built-in apps."""

import re
from itertools import product
from pathlib import Path

from tux.apps.als.als import ALS
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.bpr.bpr import BPR
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.walks import Walks
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.program.program import STAGED, begins_with_model, stages_of
from tux.program.stage import Cluster
from tux.stages.analysis.schedules import schedules


def built_in():
    """Return the plans of the built-in apps' stages."""
    apps = [MF(), LDA(), LDA(optimise=1, asymmetric=True), WarpLDA(optimise=1)]
    apps += [BlockPG(path=2), DeepWalk(), Walks(), ALS(steps=0), ALS(implicit=True)]
    apps += [BPR(), BPR(loss="warp")]
    out = {}
    for program in apps:
        starts = (False, True) if begins_with_model(program) else (False,)
        for method, from_model in product(STAGED, starts):
            cluster = Cluster(has_test=True, from_model=from_model)
            stages = stages_of(program, method, cluster)
            for each in schedules(program, stages, 1):
                for udf, found in each.plans.items():
                    name = f"{type(program).__name__} {each.stage.label}{f' {udf}' if udf else ''}"
                    out[name] = re.sub(r":\d+\)", ")", str(found))
    return out


def test_the_built_in_apps():
    table = (Path(__file__).parent / "plans_of_apps.txt").read_text(encoding="utf-8")
    told = "".join(f"{name}\n    {found}\n" for name, found in sorted(built_in().items()))
    assert told == table
