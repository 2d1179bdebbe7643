"""tux: a graph engine for machine learning (in the line of TUX2, NSDI 2017).

A program declares vertex and edge types, plain Python functions on them, and stages; see docs/program.md.
"""

from tux.fields import data as data
from tux.fields import delta as delta
from tux.fields import master as master
from tux.fields import metric as metric
from tux.fields import mirror as mirror
from tux.fields import shared as shared
from tux.fields import total as total
from tux.fields import value as value
from tux.program import Context as Context
from tux.program import Edge as Edge
from tux.program import Program as Program
from tux.program import Vertex as Vertex
from tux.program import param as param
from tux.random import constant as constant
from tux.random import normal as normal
from tux.random import uniform as uniform

__version__ = "0.1.0"
