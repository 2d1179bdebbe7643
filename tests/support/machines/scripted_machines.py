"""A back-end whose machines do what a test says, at once."""

import time

from tux.backends.contract import Backend, EngineRows, Machine, MachineLost


class ScriptedBackend(Backend):
    """`scripts`: for each placing of each rank, in turn, what `news` gives: lines and an exit code,
    or an error.
    """

    def __init__(self, scripts, *, replaces=True, sees=True, files=None, deaf=False, stillborn=()):
        self.scripts = {rank: [*each] for rank, each in scripts.items()}
        self.replaces, self.sees, self.files, self.deaf = replaces, sees, files or {}, deaf
        self.abouts, self.stillborn = 0, stillborn  # the numbers of calls that find a machine gone
        self.until = lambda: False  # machine 0 has ended well
        self.asked, self.orders, self.wanted = [], [], []
        self.closed, self.started = 0, 0

    def start(self, wanted):
        self.started += 1
        self.wanted.append(wanted)
        self.machines = [ScriptedMachine(self, rank) for rank in range(wanted.machines)]
        return self.machines

    def replace(self, rank):
        if self.replaces:
            self.machines[rank] = ScriptedMachine(self, rank)
            return self.machines[rank]
        return None

    def rows_of(self, data):
        return data if isinstance(data, EngineRows) else None

    def before_call(self, rank, method):
        """Do something before a method of a machine is called; subclasses override it."""

    def takes(self, rank, *what):
        """Do what a machine does with rows; subclasses override it."""

    def close(self):
        self.closed += 1


class ScriptedMachine(Machine):
    address = "10.0.0.1"

    def __init__(self, backend, rank):
        self.backend, self.rank, self.news = backend, rank, iter(())

    def ask(self, method, *arguments):
        backend = self.backend
        backend.asked.append((self.rank, method))
        backend.before_call(self.rank, method)
        match method:
            case "about":
                backend.abouts += 1
                if backend.abouts in backend.stillborn:
                    raise MachineLost("its actor is gone")
                return [f"host{self.rank}", 20000, f"/tmp/tux-machine-{self.rank}"]
            case "sees":
                return backend.sees
            case "begin":
                backend.orders.append((self.rank, arguments[0]))
                self.news = iter(backend.scripts[self.rank].pop(0))
            case "news":
                return self.next_news()
            case "end" if backend.deaf:
                raise MachineLost("its actor is gone")
            case "files":
                return [[name, len(content)] for name, content in backend.files.items()]
            case "read":
                path, offset = arguments
                return backend.files[path.removeprefix("out/")][offset : offset + 5]
        return None

    def next_news(self):
        time.sleep(0.002)  # another thread may take what the driver has been told
        each = next(self.news, MachineLost("its actor is gone"))
        if self.rank == 0 and self.backend.until():
            return [[], 0]
        if isinstance(each, Exception):
            raise each
        lines, code = each
        return [[["out" if "error" not in line else "err", line] for line in lines], code]

    def take(self, *what):
        self.backend.asked.append((self.rank, "take"))
        self.backend.takes(self.rank, *what)

    def kill(self):
        self.backend.asked.append((self.rank, "kill"))
