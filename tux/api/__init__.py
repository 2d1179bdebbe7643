"""The interface for Python programs: `tux.run`, `tux.load`, and the run that these return."""

from tux.api.loading import load as load
from tux.api.running import resume as resume
from tux.api.running import run as run
