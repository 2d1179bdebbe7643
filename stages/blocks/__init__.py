"""Blocks of a mini-batch: where they begin and end (`block_cuts`), in which order an Exchange walks
their edges (`walk`), and which block a worker works on at each clock (`rotation`). `fused` is a
mini-batch of which nothing travels, as one compiled loop.

Reads from: `graph`. Used by: `stages.minibatch`, `stages.exchange`.
"""
