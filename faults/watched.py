"""Matrix factorization whose processes die, stop or wait at chosen moments: the program of `make
faults`.

The file `plan.json` in the folder FAULTS_PLAN is a list of entries:

    name    of a file in that folder, which tells that it has happened; an entry happens once
    moment  load, clock, evaluation, or file: a change of files whose text fits `path`
    who     command, or worker N
    do      kill, stop, or hold: wait until there is a file NAME.go
    epoch   of a clock or an evaluation, from 1 on; changes of files count from there on
    number  of the clock in its epoch, or of the change of files in its process, from 1 on
    chance  instead of epoch and number: of each clock to kill one of `workers`, by `seed`
"""

import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

from tux.apps.mf.mf import MF, count_epoch
from tux.apps.mf.sgd import renorm, sgd
from tux.clock.steps import Step
from tux.program.stage import Stage
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

FOLDER = Path(os.environ.get("FAULTS_PLAN", "/nonexistent"))
PLAN = json.loads((FOLDER / "plan.json").read_text()) if FOLDER.is_dir() else []
IS_WORKER = Path(sys.argv[0]).stem == "worker_process"
WHO = f"worker {sys.argv[2]}" if IS_WORKER else "command"
MINE = [each for each in PLAN if each["who"] in (WHO, "any")]
KILLS = "kill by chance "
KILLED = sum(each.name.startswith(KILLS) for each in FOLDER.iterdir()) if PLAN else 0
HELD = 300.0  # seconds after which whoever holds this process has gone
CHANGES = {"open": 0, "os.mkdir": 0, "os.rename": 1, "os.remove": 0, "os.rmdir": 0, "os.link": 1}
"""Python's audit events of changes of files, and which argument names the file."""
EPOCH = [0]
"""The epoch under way, where clocks are run."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def do_entry(name, do):
    """Do what an entry says, if it has not happened yet."""
    try:
        number = os.open(FOLDER / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return
    os.write(number, f"{os.getpid()} {time.monotonic()}".encode())
    os.close(number)
    limit = time.monotonic() + HELD
    if do == "hold":
        while not (FOLDER / f"{name}.go").exists() and time.monotonic() < limit:
            time.sleep(0.005)
    else:
        os.kill(os.getpid(), signal.SIGKILL if do == "kill" else signal.SIGSTOP)


def worker_to_kill(entry, epoch, number):
    """Return the worker that a clock kills by chance, or None; the same on all workers, and another
    one after each restart.
    """
    draw = random.Random(f"{entry['seed']} {KILLED} {epoch} {number}")
    return draw.randrange(entry["workers"]) if draw.random() < entry["chance"] else None


def reach_moment(moment, epoch=1, number=1):
    """Do what the plan has for this process at a moment that it has come to."""
    for each in MINE:
        if each["moment"] != moment:
            continue
        if "chance" in each:
            if f"worker {worker_to_kill(each, epoch, number)}" == WHO:
                do_entry(f"{KILLS}{KILLED}", "kill")
        elif (each.get("epoch", epoch), each.get("number", number)) == (epoch, number):
            do_entry(each["name"], each["do"])


def watch_files():
    """Look for the changes of files that the plan names; they have not happened yet then."""
    wanted = [[each, 0] for each in MINE if each["moment"] == "file"]

    def watch_event(event, arguments):
        if event not in CHANGES or event == "open" and not arguments[2] & WRITES:
            return
        path = arguments[CHANGES[event]]
        if isinstance(path, int):
            return
        text = f"{event} {os.fsdecode(path)}"
        for entry in wanted:
            each, _ = entry
            if re.search(each["path"], text) and EPOCH[0] >= each.get("epoch", 0):
                entry[1] += 1
                if entry[1] == each.get("number", 1):
                    do_entry(each["name"], each["do"])

    if wanted:
        sys.addaudithook(watch_event)


class MomentStage(Stage):
    """A stage that changes nothing: the process has come to a moment of an epoch."""

    def __init__(self, moment):
        self.moment = moment

    def prepare(self, worker, batch=None):
        """Return a step that counts the clocks of each epoch."""
        return MomentStep(worker, self.moment)


class MomentStep(Step):
    """The step of a `MomentStage`."""

    def __init__(self, worker, moment):
        self.worker, self.moment, self.epoch, self.number = worker, moment, 0, 0

    def run(self, block=None):
        """Run the plan's entries for this moment. An evaluation belongs to the epoch before it."""
        epoch = self.worker.epoch + (self.moment == "clock")
        self.number = self.number + 1 if epoch == self.epoch else 1
        self.epoch = EPOCH[0] = epoch
        reach_moment(self.moment, epoch, self.number)


class WatchedMF(MF):
    """Matrix factorization whose processes die, stop or wait at chosen moments."""

    def stages(self):
        """Return the stages of MF, with a moment in each clock."""
        batch = MiniBatch(
            Exchange(sgd, over="item"),
            MomentStage("clock"),
            Apply("item", renorm),
            Apply("user"),
            edges=self.batch_size,
            order="rotated",
        )
        return [batch, Apply("user", renorm), GlobalSync(count_epoch)]

    def evaluate(self):
        """Return a moment before the evaluation of MF."""
        return [MomentStage("evaluation")]


watch_files()
if IS_WORKER:
    reach_moment("load")
