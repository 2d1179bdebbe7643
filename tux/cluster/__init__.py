"""Workers as processes, on one machine or several.

prepare            writes parts and job, compiles: what is made once
incarnations       starts all workers again when one is lost; on machine 0
restarts           how often that may be, after which errors, and from where
launcher           leads all workers of one incarnation; on machine 0
follower_launcher  waits for the workers of another machine, and joins the next incarnation
joining            how another machine learns the number of a job
attendance         which members have come to the launcher
answering          what machine 0 tells other machines while it has no launcher
local_workers      the worker processes of this machine: start, watch, pause, end
worker_process     one worker process
job, job_folder    what a worker must know, and where it is written
left_folders       removes the folders of jobs whose processes were all killed at once
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
