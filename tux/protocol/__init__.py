"""SSP and master/mirror as state machines: no I/O, no threads, no time."""
