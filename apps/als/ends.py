"""The stages that solve the vertices of an end, whatever solves a vertex."""

from __future__ import annotations

from tux.stages import Exchange


def ends(solving, passes, several):
    """Return for each end, by its name, a function of the cluster that returns the stages that
    solve its vertices.

    `passes`: what passes over the edges of a user, and over those of an item. `solving(each)` is a
    function solve(edges, x, n, tau, p) of a vertex that has all its edges. `several()` are the
    stages of those items that have edges on several workers.
    """
    by_items, by_users = map(solving, passes)

    def solve_user(user, edges, tau, p):
        """Find the best factors of a user, or nearly."""
        by_items(edges, user.f, user.n, tau, p)

    def solve_item(item, edges, tau, p):
        """Find the best factors of an item, or nearly."""
        by_users(edges, item.f, item.n, tau, p)

    def of_users(cluster):
        return [Exchange(solve_user)]

    def of_items(cluster):
        alone = Exchange(solve_item, over="item", cut=False)
        return [alone, *(several() if cluster.workers > 1 else [])]

    return {"user": of_users, "item": of_items}
