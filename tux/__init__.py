"""tux: a graph engine for machine learning (in the line of TUX2, NSDI 2017).

A program declares vertex and edge types, plain Python functions on them, and stages; see
docs/program.md.
"""

from tux.arrays.points import points as points
from tux.base.random import constant as constant
from tux.base.random import normal as normal
from tux.base.random import uniform as uniform
from tux.program.fields import argmax as argmax
from tux.program.fields import argmin as argmin
from tux.program.fields import data as data
from tux.program.fields import delta as delta
from tux.program.fields import master as master
from tux.program.fields import metric as metric
from tux.program.fields import mirror as mirror
from tux.program.fields import shared as shared
from tux.program.fields import total as total
from tux.program.fields import value as value
from tux.program.input import Bags as Bags
from tux.program.input import Graph as Graph
from tux.program.input import Input as Input
from tux.program.input import Points as Points
from tux.program.input import Ratings as Ratings
from tux.program.input import Samples as Samples
from tux.program.params import param as param
from tux.program.program import Program as Program
from tux.program.report import Report as Report
from tux.program.types import Context as Context
from tux.program.types import Edge as Edge
from tux.program.types import Vertex as Vertex
from tux.program.vertex_params import vertex_param as vertex_param

__version__ = "0.1.0"
