"""The interface for Python programs: `tux.run`, `tux.load`, and the run that these return; and
`tux.session`.

Entry points: `running.run`; `result.Run`, its arrays are `table.Table`; `stage_session.session`.
Reads from: `runs`, `backends`. Used by: `tux`, whose names it makes, and `estimators`.
"""

from tux.api.loading import load as load
from tux.api.running import resume as resume
from tux.api.running import run as run
