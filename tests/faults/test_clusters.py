"""Engines that tests start: what is left of one that does not start."""

import sys
from types import ModuleType

import pytest

from faults import clusters


def test_a_ray_cluster_whose_second_node_fails_leaves_nothing(tmp_path, monkeypatch):
    ray, done = ModuleType("ray"), []

    class Cluster:
        address = "127.0.0.1:1"

        def __init__(self, **given):
            self.nodes = []

        def add_node(self, **given):
            if self.nodes:
                raise OSError("no second node")
            self.nodes.append(given)

        def shutdown(self):
            done.append("cluster")

    ray.cluster_utils = ModuleType("ray.cluster_utils")
    ray.cluster_utils.Cluster = Cluster
    ray.init = lambda **given: done.append("init")
    ray.shutdown = lambda: done.append("shutdown")
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.cluster_utils", ray.cluster_utils)
    monkeypatch.setattr(clusters.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(OSError, match="no second node"):
        clusters.OnRay()
    assert done == ["init", "shutdown", "cluster"]
    assert not any(tmp_path.iterdir())
