"""The Dockerfile: what it may not do, and its steps carried out in a folder, not a container."""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "deploy" / "Dockerfile"
IGNORED = ROOT / "deploy" / "Dockerfile.dockerignore"
COMPILERS = ("gcc", "g++", "clang", "make", "cmake", "build-essential", "apt-get", "apk")
SECRETS = ("key", "secret", "token", "password", ".env", ".pem")


def stages():
    """Return the instructions (word, rest) of each stage; the first of a stage is its FROM."""
    text = re.sub(r"\\\n", " ", FILE.read_text(encoding="utf-8"))
    out = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            if word == "FROM":
                out.append([])
            out[-1].append((word, rest.strip()))
    return out


def arguments_of(stage, *words):
    """Return the arguments of some instructions in a stage."""
    return [rest for word, rest in stage if word in words]


def test_only_known_instructions():
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}
    assert {word for stage in stages() for word, _ in stage} <= known, "above all no ADD and no ARG"


def test_there_are_two_stages_and_both_bases_are_pinned():
    bases = [stage[0][1].split()[0] for stage in stages()]
    assert len(bases) == 2
    for base in bases:
        assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?", base), base


def test_the_last_user_is_not_root():
    *_, user = arguments_of(stages()[-1], "USER")
    number, group = user.split(":")
    assert int(number) > 0 and int(group) > 0, "by number, as runAsNonRoot can check"
    words = [word for word, _ in stages()[-1]]
    assert "RUN" not in words[words.index("USER") :]


def test_no_stage_installs_a_compiler_and_the_last_takes_only_what_was_built():
    build, last = stages()
    commands = [
        word
        for stage in (build, last)
        for rest in arguments_of(stage, "RUN")
        for word in rest.split()
    ]
    assert not set(commands) & set(COMPILERS)
    assert not any("pip" in rest for rest in arguments_of(last, "RUN"))
    assert arguments_of(last, "COPY") == [
        "--from=build /opt/tux /opt/tux",
        "deploy/machine.sh /opt/tux/bin/machine.sh",
    ]


def test_no_secret_is_copied():
    for stage in stages():
        for rest in arguments_of(stage, "COPY", "ENV"):
            assert not any(word in rest.lower() for word in SECRETS), rest
    lines = IGNORED.read_text(encoding="utf-8").splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    assert patterns[0] == "*", "what is not named does not reach the builder"
    named = {line[1:] for line in patterns if line.startswith("!")}
    sources = {
        source
        for stage in stages()
        for rest in arguments_of(stage, "COPY")
        if "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert named == {source.removeprefix("./") for source in sources}
    assert not any(fnmatch.fnmatch("job.key", line) for line in named)


def carried_out(stage, root, folders):
    """Do what a stage says below `root`, which stands for the root of the image. `folders` are
    those of the image that it may use.
    """

    def move_below_root(text):
        return re.sub(rf"(?<![\w.])({'|'.join(folders)})\b", rf"{root}\1", text)

    place, environment = root, {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    for word, rest in stage:
        if word == "WORKDIR":
            place = Path(move_below_root(rest))
            place.mkdir(parents=True, exist_ok=True)
        elif word == "COPY" and "--from" not in rest:
            *sources, target = rest.split()
            for source in sources:
                to = Path(move_below_root(target)) if target.startswith("/") else place / target
                copy(ROOT / source, to / source if target.endswith("/") else to)
        elif word == "RUN" and not rest.startswith("useradd"):
            command = move_below_root(rest)
            done = subprocess.run(
                ["sh", "-c", command], cwd=place, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        elif word == "ENV":
            name, _, value = move_below_root(rest).partition("=")
            environment[name] = value.replace("$PATH", environment["PATH"])
    return environment


def copy(source, target):
    """Copy as COPY does: links stay links, and a file keeps its mode."""
    skip = shutil.ignore_patterns("__pycache__")
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=skip)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


@pytest.mark.long
def test_the_steps_of_the_image_give_a_tux_that_trains(tmp_path):
    build, last = stages()
    root = tmp_path / "image"
    folders = ("/opt/tux", "/source", "/home/tux", "/tmp/tux-kernels")
    carried_out(build, root, folders)
    shutil.rmtree(root / "source")  # the last stage does not have it
    environment = carried_out(last, root, folders)
    [entry] = [
        shlex.split(rest.strip("[]").replace(",", " ")) for rest in arguments_of(last, "ENTRYPOINT")
    ]

    def run_in_image(*words):
        done = subprocess.run(
            words, cwd=root / "home/tux", env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = run_in_image("python", "-c", "import sys, tux; print(sys.prefix, tux.__file__)").split()
    assert all(path.startswith(str(root / "opt/tux")) for path in where)
    [command] = [
        shlex.split(rest.strip("[]").replace(",", " ")) for rest in arguments_of(last, "CMD")
    ]
    assert "usage: tux" in run_in_image(*entry, *command)
    run_in_image(*entry, "run", "mf", "--epochs", "1", "--out", "run1")
    assert (root / "home/tux/run1/model/user.parquet").exists()
    assert (root / "tmp/tux-kernels").is_dir()
    assert os.access(root / "opt/tux/bin/machine.sh", os.X_OK)
