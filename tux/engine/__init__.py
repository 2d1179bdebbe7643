"""The worker, which runs a program's steps on one partition, and the loop over epochs.

worker      one partition's rows, edges and masters
clock_loop  runs the clocks of a pass: segments, sending, installing
training    epochs, evaluation, stopping, the best model
initial     initial values
eval_rows   rows that only held-out edges need
model       the model: its fields, and how shares of workers become one
state       the state of a worker between two clocks
shard       arrays as a file, checked
saved       a state as such a file
spool       lists on disk that no stage uses
segments    the same as a part of states
checks      stages that would lose changes, and models that are not finite
records     what an epoch's record holds, of one worker and of all
timeline    what a worker does when, as samples for a page
"""
