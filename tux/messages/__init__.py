"""Messages between workers: what kinds there are, what their arrays mean, and their bytes. Bytes
from the network are checked here, before anything else sees them.

Entry points: `message.Message`; `frames.decode`, bytes to a message; `payloads`, arrays by the
names of their fields; `encoding`, the dirty elements of rows in the smallest of four forms.
Reads from: `rows`. Used by: `clock`, `sync`, `engine`, `stages`, `cluster`.
"""
