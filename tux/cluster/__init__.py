"""Processes, machines and sockets; and all workers of a job in one process."""
