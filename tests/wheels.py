"""Builds the wheel and the sdist, and tries the wheel in clean environments: each version of Python
that is here, with the newest and with the smallest version of each dependency::

    python tests/wheels.py --only-build dist    # what `make release` does
    python tests/wheels.py                      # builds in a temporary folder and tries

uv (`pip install uv`) makes the environments; it must be found by the shell. The table at the end
has a row for each environment. The exit code is 1 if one of them does not work.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
RESOLUTIONS = ("highest", "lowest-direct")
PACK = "from setuptools import build_meta as b; print(b.build_{0}({1!r}))"
LEFT = (".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", "site")
SMOKE = Path(__file__).parent / "wheel_smoke.py"
SHOWN = ("numpy", "numba", "llvmlite", "networkx", "pyarrow", "msgspec", "pyzmq", "rich")


def run_command(command: list[str], cwd: Path, **how) -> str:
    """Run a command that must succeed, and return its standard output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, **how)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    """Write the sdist, and the wheel that is built from it, into `folder`; returns the wheel."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as room:
        copy = Path(room, "checkout")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*LEFT))
        run_command([sys.executable, "-c", PACK.format("sdist", str(folder))], copy)
        (packed,) = folder.glob("*.tar.gz")
        shutil.unpack_archive(packed, room, filter="data")
        source = Path(room, packed.name.removesuffix(".tar.gz"))
        run_command([sys.executable, "-c", PACK.format("wheel", str(folder))], source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(place: Path, wheel: Path, python: str, resolution: str) -> str:
    """Make an environment with the wheel and its dependencies, from wheels alone; return its
    python. The smallest versions are those that pyproject.toml names, where they have a wheel.
    """
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (place.parent / "wanted.txt").write_text("\n".join(wanted["dependencies"]), encoding="utf-8")
    run_command(["uv", "venv", "--quiet", "--python", python, str(place)], place.parent)
    own = str(place / "bin" / "python")
    how = ["--quiet", "--python", own, "--resolution", resolution, "--only-binary", ":all:"]
    run_command(["uv", "pip", "install", *how, "-r", "wanted.txt", str(wheel)], place.parent)
    return own


def versions(python: str, cwd: Path) -> list[str]:
    """Return the versions of what is shown in the table."""
    ask = f"from importlib.metadata import version; print(*map(version, {SHOWN}))"
    return run_command([python, "-c", ask], cwd).split()


def try_wheel(wheel: Path, python: str, resolution: str, room: Path) -> tuple[list[str], str]:
    """Try the wheel. Return a row of the table, which names what is installed and what came of it,
    and the report of an error.
    """
    head = [python, resolution]
    try:
        own = install_wheel(room / "environment", wheel, python, resolution)
        head += versions(own, room)
        (room / "empty").mkdir()
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(room), "TUX_CACHE_DIR": str(room / "k")}
        run_command([own, str(SMOKE)], room / "empty", env=environment, timeout=1800)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return [*head, *["-"] * (2 + len(SHOWN) - len(head)), "fails"], str(error)
    return [*head, "works"], ""


def main() -> int:
    """Build, try, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("::")[0])
    parser.add_argument("--only-build", metavar="DIR", help="write wheel and sdist there")
    parser.add_argument("--python", default=",".join(PYTHONS), help="versions, or programs")
    parser.add_argument("--resolution", default=",".join(RESOLUTIONS))
    args = parser.parse_args()
    if args.only_build:
        shutil.rmtree(args.only_build, ignore_errors=True)
        print(build(Path(args.only_build).absolute()))
        return 0
    rows, errors = [["python", "resolution", *SHOWN, "tux"]], []
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder, "dist"))
        for python in args.python.split(","):
            for resolution in args.resolution.split(","):
                room = Path(folder, re.sub(r"\W", "-", f"{python} {resolution}"))
                room.mkdir()
                row, error = try_wheel(wheel, python, resolution, room)
                rows.append(row)
                errors += [f"{python}, {resolution}:\n{error}"] if error else []
                print(" ".join(row), flush=True)
                shutil.rmtree(room)
    for line in [rows[0], ["---"] * len(rows[0]), *rows[1:]]:
        print(f"| {' | '.join(line)} |")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
