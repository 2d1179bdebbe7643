"""GraphSAGE: the class of each node by what it and its neighbours have, in two layers:

    h = relu(W1 [x, mean of the neighbours' x]),    z = W2 [h, mean of the neighbours' h]

Hamilton, Ying and Leskovec, "Inductive representation learning on large graphs", NIPS 2017,
algorithm 1 with the mean of all neighbours, without its line 7. The loss is that of softmax(z); its
gradient is written out, and each epoch is one step along its mean. A node hears from the nodes with
a link to it, so list each link in both directions. The table of nodes has x_0, x_1, ..., a label,
and `train`, which is 1 for the nodes to learn from and 0 for the others:

    tux run docs/examples/graphsage.py links.csv --vertices node=nodes.csv --classes 3
"""

import numpy as np

from tux import (
    Apply,
    Barrier,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    axpy,
    data,
    delta,
    dot,
    metric,
    normal,
    param,
    total,
    value,
)


def hear_features(src, dst):
    dst.links += 1
    axpy(1.0, src.x, dst.features)


def join_features(node, p):
    node.degree = max(node.links, 1)
    for k in range(p.dims):
        node.x1[k], node.x1[p.dims + k] = node.x[k], node.features[k] / node.degree


def activate(node, tau, p):
    for j in range(p.hidden):
        node.x2[j] = max(dot(tau.w1[j], node.x1), 0.0)


def hear(src, dst, p):
    axpy(1.0, src.x2, dst.heard, p.hidden)


def classify(node, tau, p):
    """Compute z, the loss and its slopes to the input of layer 2."""
    for j in range(p.hidden):
        node.x2[p.hidden + j] = node.heard[j] / node.degree
    z = np.array([dot(tau.w2[c], node.x2) for c in range(p.classes)])
    chance = np.exp(z - np.max(z))
    chance /= np.sum(chance)
    node.found, node.slope[:] = np.argmax(z), 0
    if not node.train:
        tau.right, tau.others = tau.right + (node.found == node.label), tau.others + 1
        return
    tau.loss, tau.n = tau.loss - np.log(chance[node.label]), tau.n + 1
    for c in range(p.classes):
        slope = chance[c] - (c == node.label)
        axpy(slope, node.x2, tau.g2[c])
        axpy(slope, tau.w2[c], node.slope)


def tell(src, dst, p):
    axpy(1 / dst.degree, dst.slope[p.hidden :], src.told)


def differentiate(node, tau, p):
    for j in range(p.hidden):
        if node.x2[j] > 0:
            axpy(node.slope[j] + node.told[j], node.x1, tau.g1[j])


def descend(tau, p):
    tau.w1[:] -= p.step / tau.n * tau.g1
    tau.w2[:] -= p.step / tau.n * tau.g2


class GraphSAGE(Program):
    """Classes of nodes by their and their neighbours' features."""

    classes: int = param(2, "classes, which the labels number from 0", low=2)
    hidden: int = param(16, "numbers of a node between the layers", low=1)
    dims: int = param(0, "features of a node; 0: as many as the table has", low=0)
    step: float = param(0.5, "of the mean gradient", low=0)

    epochs = 200
    node = Vertex(
        **{name: data("i4") for name in ("label", "train")},
        **{name: value("f8", lambda p: 2 * p.hidden, kept=False) for name in ("x2", "slope")},
        **{name: delta("f8", "hidden") for name in ("heard", "told")},
        x=data("f8", "dims"),
        x1=value("f8", lambda p: 2 * p.dims, kept=False),
        features=delta("f8", "dims"),
        links=delta(),
        degree=value(),
        found=value("i4"),
    )
    link = Edge("node", "node")
    tau = Context(
        w1=value("f8", "hidden", lambda p: 2 * p.dims, init=normal(0, 0.3)),
        w2=value("f8", "classes", lambda p: 2 * p.hidden, init=normal(0, 0.3)),
        g1=total("hidden", lambda p: 2 * p.dims),
        g2=total("classes", lambda p: 2 * p.hidden),
        train_loss=metric("loss / n", loss=total(), n=total()),
        test_accuracy=metric("right / others", rises=True, right=total(), others=total()),
    )

    def setup(self):
        return [Exchange(hear_features), Apply("node", join_features)]

    def stages(self):
        forward = Apply("node", activate), Exchange(hear), Apply("node", classify)
        # a step is along the gradient at the weights that the step before has left
        return [
            Barrier(),
            *forward,
            Exchange(tell),
            Apply("node", differentiate),
            GlobalSync(descend),
        ]
