"""Alternating least squares in plain numpy: double precision, and each vertex on its own."""

import numpy as np


class AlsFactors:
    """Both ends' factors x (n, rank), and biases (n,), on ratings `edges` (user, item, value)."""

    def __init__(self, program, users, items, edges):
        self.p, self.f = program, [users.astype(float), items.astype(float)]
        self.ends = np.array([edges.src, edges.dst])
        self.bias = [np.zeros(len(f)) for f in self.f]
        r = edges.fields["value"].astype(float)
        if program.implicit:
            self.w = program.alpha * np.abs(r)
            self.t = np.where(r > 0, 1 + self.w, 0.0)
        else:
            self.w = np.ones(len(r))
            self.t = r - (r.mean() if program.center or program.biases else 0)

    def penalty(self, n):
        return self.p.reg * (1.0 if self.p.plain else n)

    def half(self, end):
        """Solve all vertices of an end: 0 users, 1 items."""
        y = self.f[1 - end]
        for v in range(len(self.f[end])):
            (mine,) = np.nonzero(self.ends[end] == v)
            if not len(mine):
                continue
            far = self.ends[1 - end][mine]
            rows, x, target = y[far], self.f[end][v], self.t[mine] - self.bias[1 - end][far]
            if self.p.biases:
                rows = np.column_stack([rows, np.ones(len(far))])
                x = np.append(x, self.bias[end][v])
            a = (rows.T * self.w[mine]) @ rows + self.penalty(len(mine)) * np.eye(len(x))
            a += y.T @ y if self.p.implicit else 0
            b = rows.T @ target
            x = self.steps(a, b, x) if self.p.steps else np.linalg.solve(a, b)
            self.f[end][v] = x[: self.p.rank]
            self.bias[end][v] = x[-1] if self.p.biases else 0

    def steps(self, a, b, x):
        """Solve by conjugate gradients."""
        r = b - a @ x
        d = r.copy()
        for _ in range(self.p.steps):
            if r @ r < 1e-20:
                break
            length = r @ r / (d @ a @ d)
            x, after = x + length * d, r - length * (a @ d)
            d, r = after + (after @ after) / (r @ r) * d, after
        return x

    def objective(self):
        """Compute the objective, over all pairs if the feedback is implicit."""
        users, items = self.f
        s = (users[self.ends[0]] * items[self.ends[1]]).sum(1)
        if self.p.implicit:
            c, preference = 1 + self.w, self.t > 0
            fit = ((users @ items.T) ** 2).sum() + (c * (preference - s) ** 2 - s**2).sum()
        else:
            s += self.bias[0][self.ends[0]] + self.bias[1][self.ends[1]]
            fit = ((self.t - s) ** 2).sum()
        for end in range(2):
            n = np.bincount(self.ends[end], minlength=len(self.f[end]))
            square = (self.f[end] ** 2).sum(1) + self.bias[end] ** 2
            fit += (self.penalty(n) * square).sum()
        return fit
