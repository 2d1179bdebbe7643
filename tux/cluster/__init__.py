"""Workers as processes, on one machine or several.

prepare            writes parts and job, compiles, makes a launcher
launcher           leads all workers; on machine 0
follower_launcher  waits for the workers of another machine
local_workers      the worker processes of this machine: start, watch, pause, end
worker_process     one worker process
job, job_folder    what a worker must know, and where it is written
place, agreement   which machine this is, and what all machines have in common
keeper             the launcher's part in keeping states: answers workers, has checkpoints made
worker_marks       a worker's part: copies its state where the launcher wants it, and writes it
control            control messages, checked when decoded
reactor            sends and receives, serves, exchanges heartbeats; without a thread of its own
socket_thread      the thread that runs the reactor, and a main thread that does so while it waits
hand_over          which of the two uses the sockets
wire               ZeroMQ sockets, encryption, and who may connect
sequence           numbers of messages: gaps, and second processes
heartbeat          when heartbeats are due, and who is silent
refusals           warnings of what was refused
simulated          all workers in one process, deliveries drawn from a seed
"""
