"""A disk that fails: the process dies at the n-th call that changes files, or the call fails, and
the power fails too, so that only what was waited for is sure to be there.
"""

import builtins
import errno
import io
import itertools
import os
import shutil
from pathlib import Path


class Crash(BaseException):
    """The process has died; whatever it still tries to change raises this again."""


class CrashingDisk:
    """The files below a folder, as context: calls that change them are counted from 0.

    The folder itself shows what the processes of the machine see. What a power failure would leave
    is made by `after_power_failure`. Removed files go to a graveyard, as they may come back.
    """

    def __init__(self, root, graveyard, die_at=None, full=range(0)):
        """`die_at`: the number of the call at which the process dies. `full`: numbers of calls that
        fail, as the disk is full; those that remove something never do.
        """
        self.root, self.graveyard = Path(root).resolve(), Path(graveyard).resolve()
        self.graveyard.mkdir(parents=True)
        self.die_at, self.full, self.calls = die_at, full, 0
        self._buried = itertools.count()
        self.names, self.contents = {}, {}  # by inode: what is sure to be there
        for folder, _, files in os.walk(self.root):
            for path in (Path(folder), *(Path(folder, name) for name in files)):
                self._wait(path)

    def __enter__(self):
        self._before = {
            (module, name): getattr(module, name)
            for module, names in {
                os: ("mkdir", "rename", "replace", "unlink", "rmdir", "fsync"),
                io: ("open",),
                builtins: ("open",),
            }.items()
            for name in names
        }
        self._rename, self._open = os.rename, io.open
        os.mkdir = self._changing(os.mkdir)
        os.rename = os.replace = self._changing(self._move)
        os.unlink = self._changing(self._bury, removes=True)
        os.rmdir = self._changing(self._bury, removes=True)
        os.fsync = self._changing(lambda number: self._wait(f"/proc/self/fd/{number}"))
        io.open = builtins.open = self._open_file
        return self

    def __exit__(self, *_):
        for (module, name), function in self._before.items():
            setattr(module, name, function)

    def step(self, removes=False):
        """Count a call; it dies or fails if it is its turn."""
        number, self.calls = self.calls, self.calls + 1
        if self.die_at is not None and number >= self.die_at:
            raise Crash
        if number in self.full and not removes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _changing(self, function, removes=False):
        def call(*args, **given):
            self.step(removes)
            return function(*args, **given)

        return call

    def _open_file(self, file, mode="r", *args, **given):
        if "r" in mode and "+" not in mode:
            return self._open(file, mode, *args, **given)
        self.step()
        return _Written(self, file, mode.replace("b", ""))

    def _bury(self, path, *, dir_fd=None):
        path = Path(f"/proc/self/fd/{dir_fd}" if dir_fd is not None else "", path)
        if path.is_dir() and os.listdir(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        self._rename(path, self.graveyard / str(next(self._buried)))

    def _move(self, source, target):
        if os.path.isfile(target) and os.path.exists(source):
            os.link(target, self.graveyard / str(next(self._buried)))
        self._rename(source, target)

    def _wait(self, path):
        """Note that a file or a folder is on the disk, as after fsync."""
        number, path = os.stat(path).st_ino, os.path.realpath(path)
        if os.path.isdir(path):
            self.names[number] = _names(path)
        else:
            self.contents[number] = Path(path).read_bytes()

    def after_power_failure(self, target, rng=None):
        """Make folder `target` as a power failure leaves it. Without `rng`: what was waited for
        and no more; else parts of the rest, too.
        """
        where = {
            os.stat(path).st_ino: path
            for top in (self.root, self.graveyard)
            for folder, _, files in os.walk(top)
            for path in (folder, *(os.path.join(folder, name) for name in files))
        }

        def choose_state(sure, here, torn):
            return rng.choice([sure, here, *torn]) if rng and sure != here else sure

        def make(number, path):
            if os.path.isdir(where[number]):
                path.mkdir()
                names = choose_state(self.names.get(number, {}), _names(where[number]), [])
                for name, inner in names.items():
                    make(inner, path / name)
            else:
                here = Path(where[number]).read_bytes()
                sure = self.contents.get(number, b"")
                # what was waited for stays where a file has only grown since
                stays = len(sure) if here.startswith(sure) else 0
                rest = len(here) - stays
                torn = [here[: stays + rest // 2], here[:stays] + bytes(rest)]
                path.write_bytes(choose_state(sure, here, torn))

        shutil.rmtree(target, ignore_errors=True)
        make(os.stat(self.root).st_ino, Path(target))


class _Written(io.FileIO):
    """A file that is written to: each `write` reaches the system."""

    def __init__(self, disk, file, mode):
        super().__init__(file, mode)
        self._disk = disk

    def write(self, data):
        try:
            self._disk.step()
        except (Crash, OSError):
            super().write(bytes(data)[: len(data) // 2])
            raise
        return super().write(data)


def _names(folder):
    return {entry.name: entry.inode() for entry in os.scandir(folder)}
