"""Processors and memory that control groups allow."""

from math import inf

import pytest

from tux.base import memory
from tux.base.control_groups import core_quota, memory_left


def write(folder, **files):
    """Write the files of a group; a name has "__" for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_the_cores_of_control_groups(tmp_path):
    assert core_quota("0::/\n", tmp_path) == core_quota("", tmp_path) == inf
    write(tmp_path / "job" / "step", cpu__max="max 100000")
    assert core_quota("0::/job/step\n", tmp_path) == inf
    write(tmp_path / "job", cpu__max="150000 100000")
    assert core_quota("0::/job/step\n", tmp_path) == 1.5  # of the group around it
    write(tmp_path / "job" / "step", cpu__max="20000 100000")
    assert core_quota("0::/job/step\n", tmp_path) == 0.2


def test_the_cores_of_control_groups_of_the_first_version(tmp_path):
    write(tmp_path / "cpu" / "job", cpu__cfs_quota_us=400000, cpu__cfs_period_us=100000)
    assert core_quota("4:memory:/x\n3:cpu,cpuacct:/job\n0::/\n", tmp_path) == 4
    write(tmp_path / "cpu" / "job", cpu__cfs_quota_us=-1)
    assert core_quota("3:cpu,cpuacct:/job\n", tmp_path) == inf


def test_the_memory_of_control_groups(tmp_path):
    stat = "anon 700\ninactive_file 30\nactive_file 20"
    write(tmp_path / "job" / "step", memory__max="max", memory__current=500, memory__stat=stat)
    assert memory_left("0::/job/step\n", tmp_path) == inf
    write(tmp_path / "job", memory__max=1000, memory__current=900, memory__stat=stat)
    assert memory_left("0::/job/step\n", tmp_path) == 150
    write(tmp_path / "job", memory__high=950)
    assert memory_left("0::/job/step\n", tmp_path) == 100
    write(tmp_path / "job", memory__current=2000)
    assert memory_left("0::/job/step\n", tmp_path) == 0


def test_the_memory_of_control_groups_of_the_first_version(tmp_path):
    stat = "inactive_file 1\ntotal_inactive_file 30\ntotal_active_file 20"
    write(
        tmp_path / "memory" / "job",
        memory__limit_in_bytes=1000,
        memory__usage_in_bytes=400,
        memory__stat=stat,
    )
    assert memory_left("4:memory:/job\n3:cpu:/x\n0::/\n", tmp_path) == 650


@pytest.mark.parametrize("left", [1000, inf])
def test_the_free_memory_is_no_more_than_the_group_has(left, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemFree: 5 kB\nMemAvailable:    2000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "memory_left", lambda groups: left)
    assert memory.free() == min(left, 2000 * 1024)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    assert memory.free() is None
