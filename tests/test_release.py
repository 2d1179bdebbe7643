"""The statements of a release about itself: one version everywhere, and what it needs."""

import re
import tomllib
from pathlib import Path

import yaml

import tux

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_stands_in_one_file_and_the_others_agree():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "tux.base.version.VERSION"
    }
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert newest[1] == citation["version"] == tux.__version__
    assert newest[2] == str(citation["date-released"])
    for name in ("deploy/Dockerfile", "deploy/jobset.yaml", "docs/clusters.md"):
        images = re.findall(r"\btux:(\d+\.\d+\.\d+)", (ROOT / name).read_text(encoding="utf-8"))
        assert images and set(images) == {tux.__version__}, name


def test_the_citation_has_what_its_format_demands():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (
        citation["cff-version"] == "1.2.0" and citation["license"] == PROJECT["project"]["license"]
    )
    assert citation["title"] and citation["message"] and citation["authors"]
    for each in citation["references"]:
        assert each["type"] and each["title"] and each["authors"]


def test_classifiers_name_the_versions_of_python_that_are_allowed():
    low, high = re.fullmatch(
        r">=3\.(\d+),<3\.(\d+)", PROJECT["project"]["requires-python"]
    ).groups()
    named = [
        each.rpartition(" ")[2]
        for each in PROJECT["project"]["classifiers"]
        if re.search(r":: 3\.\d+$", each)
    ]
    assert named == [f"3.{minor}" for minor in range(int(low), int(high))]


def test_each_dependency_has_a_smallest_version():
    wanted = PROJECT["project"]["dependencies"]
    assert wanted and all(re.fullmatch(r"[\w-]+>=[\d.]+(,<[\d.]+)?", each) for each in wanted)
