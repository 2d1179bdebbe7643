"""States on another number of workers, joined as a whole: the values of all vertices or edges of a
field are put together by their indices, and dealt out.
"""

import numpy as np

from tux.arrays.ragged import Lists, take_lists
from tux.base.random import key
from tux.checkpoint.model_copy import fields_to_copy
from tux.program.base_program import along
from tux.program.merging import combine_values


class JoinedStates:
    """The states of workers that have the shares `before`, for those that have `after`."""

    def __init__(self, program, seed, before, states, after):
        self.program, self.seed = program, seed
        self.before, self.states, self.after = before, states, after

    def arrays(self, rank):
        """Return the arrays of vertices and edges in the state of a worker."""
        out, share = {}, self.after[rank]
        for name, f, declared in self.vertex_fields():
            out |= self.of_type(name, f, declared, rank)
        for prefix in share.edges:
            for f, declared in self.edge_fields(prefix):
                out[f"{prefix}/{f}"] = self.of_edges(f"{prefix}/{f}", prefix, declared, rank)
        if "best/0" in self.states[0].arrays:
            self.add_best(out, rank)
        return out

    def add_best(self, out, rank):
        at = len(self.program.context.fields)
        for name in self.program.vertices:
            fields = {f: d for own, f, d in self.vertex_fields() if own == name}
            for f in fields_to_copy(name, fields):
                out[f"best/{at}"] = self.best(f"best/{at}", name, f, fields[f], rank)
                at += 1
        for prefix in self.after[rank].edges:
            for _, declared in self.edge_fields(prefix):
                if declared.kept and prefix != "held_out":
                    out[f"best/{at}"] = self.of_edges(f"best/{at}", prefix, declared, rank)
                    at += 1

    def vertex_fields(self):
        return [
            (name, f, declared.resolve(self.program.parameters))
            for name, vertex in self.program.vertices.items()
            for f, declared in vertex.fields.items()
            if declared.kind != "data"
        ]

    def edge_fields(self, prefix):
        declared = along(self.program, prefix.partition(".")[2]).edge.fields.items()
        return [(f, d.resolve(self.program.parameters)) for f, d in declared if d.kind != "data"]

    def old(self, name, at, rows="rows"):
        """Return the positions and the values of each old worker."""
        return [
            (np.asarray(getattr(share.types[name], rows)), state.arrays[at])
            for share, state in zip(self.before, self.states, strict=True)
            if getattr(share.types[name], rows) is not None
        ]

    def trained_rows(self, name, at):
        ends = [share.types[name].n_train for share in self.before]
        pieces = self.old(name, at)
        return [(ids[:n], values[:n]) for n, (ids, values) in zip(ends, pieces, strict=True)]

    def join(self, name, f, declared, pieces):
        order = np.asarray(self.before[0].types[name].order)
        out = np.empty((len(order), *declared.lengths), declared.dtype)
        declared.init.fill(out, key(self.seed, "initial", name, f), order)
        for ids, values in pieces:
            out[ids] = values
        return out

    def of_type(self, name, f, declared, rank):
        share, at = self.after[rank].types[name], f"{name}/{f}"
        mine, n = np.asarray(share.rows), share.n_train
        if declared.is_ragged:
            return {f"rows/{at}": self.lists(f"rows/{at}", name, rank)}
        rows, trained = self.old(name, f"rows/{at}"), self.trained_rows(name, f"rows/{at}")
        masters = self.old(name, f"masters/{at}", "masters")
        holder = np.full(len(share.order), -1)
        for worker in reversed(range(len(self.after))):
            of = self.after[worker].types[name]
            holder[np.asarray(of.rows)[: of.n_train]] = worker
        first = (holder[mine] == rank) & (np.arange(len(mine)) < n)
        if declared.kind == "delta":
            unsent = np.full((len(holder), *declared.lengths), declared.identity, declared.dtype)
            for ids, values in (*masters, *trained):
                given = (values != declared.identity).reshape(len(values), -1).any(axis=1)
                unsent[ids[given]] = combine_values(declared, unsent[ids[given]], values[given])
            out = {f"rows/{at}": unsent[mine]}
            out[f"rows/{at}"][~first] = declared.identity
            if share.masters is not None:
                unsent[holder >= 0] = declared.identity
                out[f"masters/{at}"] = unsent[share.masters]
            return out
        pieces = [*rows, *trained, *masters]
        if declared.kind == "mirror":
            pieces = [*masters, *rows, *trained[::-1]]
        known = self.join(name, f, declared, pieces)
        out = {f"rows/{at}": known[mine]}
        if share.masters is not None:
            out[f"masters/{at}"] = known[share.masters]
            if declared.kind == "shared" and not self.program.vertices[name].remote:
                out[f"base/{at}"] = known[mine]
        if (changes := self.changes(name, at, len(holder), trained)) is not None:
            out[f"rows/{at}"][first] += changes[mine[first]]
        return out

    def changes(self, name, at, n, trained):
        total = None
        for (ids, values), state in zip(trained, self.states, strict=True):
            base = state.arrays.get(f"base/{at}")
            change = values - base[: len(ids)] if base is not None else np.zeros(1)
            if change.any():
                total = np.zeros((n, *change.shape[1:]), change.dtype) if total is None else total
                total[ids] += change
        return total

    def lists(self, at, name, rank):
        pieces = []
        for share, state in zip(self.before, self.states, strict=True):
            of = share.types[name]
            counts = np.diff(of.bounds)[: of.n_train]
            pieces.append((np.asarray(of.rows)[: of.n_train], counts, state.arrays[at]))
        new = self.after[rank].types[name]
        lists = Lists.from_pieces(pieces, len(new.order), pieces[0][2].dtype)
        mine = np.asarray(new.rows)[: new.n_train]
        return take_lists(lists.values, lists.bounds[mine], lists.counts[mine]).values

    def best(self, at, name, f, declared, rank):
        new = self.after[rank].types[name]
        if declared.is_ragged:
            return self.lists(at, name, rank)
        if self.before[0].types[name].masters is None:
            pieces = [*self.old(name, at), *self.trained_rows(name, at)]
        else:
            pieces = self.old(name, at, "masters")
        known = self.join(name, f, declared, pieces)
        return known[np.asarray(new.rows if new.masters is None else new.masters)]

    def of_edges(self, at, prefix, declared, rank):
        known = {}
        for share, state in zip(self.before, self.states, strict=True):
            for name, place in zip(*share.edges[prefix], strict=True):
                known.setdefault(int(name), []).append(state.arrays[at][place])
        own = self.after[rank].edges[prefix]
        out = np.full((len(own.names), *declared.lengths), declared.init.a, declared.dtype)
        seen = {}
        for name, place in zip(own.names.tolist(), own.places.tolist(), strict=True):
            seen[name] = seen.get(name, -1) + 1
            out[place] = known[name][seen[name]]
        return out
