"""Vectors of vertices: the fields of one vertex type are vectors whose same entries lie together,
on the masters (the dimension co-located vectors of PS2: Zhang et al., SIGMOD 2019). So sums and
element-wise operators need no field of another worker.

Each word is one stage. Those that change a field are an Apply that gathers nothing:

    for each master v of type `over`:
        Copy     v.to = v.x
        Fill     v.to = number
        Axpy     v.to += number * v.x
        Add      v.to += v.x, or number;  Sub, Mul, Div: the same with -, *, /
        Zip      f(v, tau, p, rng)

Those that put a number into a field of tau, which is declared as a `reduction`, are a GlobalSync:

    Dot      tau.into = sum over masters v of v.x * v.y
    Sum      tau.into = sum of v.x
    Norm2    tau.into = sqrt(sum of v.x ** 2)
    Nnz      tau.into = how many v.x are not 0

Sums are of double precision; those of the workers are added in the order of the workers. Other
totals of tau stay where they are. In a MiniBatch too, each word concerns all vertices of the type;
outside one, its clock starts when all earlier clocks are finished, whatever the slack. What a field
and a number may be is told in `tux.stages.analysis.operands`. A field with dimensions counts with
all its entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tux.base.errors import ProgramError
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.program.base_program import BaseProgram
from tux.program.computed import Reduction
from tux.program.stage import Batch, Stage, TotalAddition
from tux.stages.analysis.calls import Call
from tux.stages.analysis.operands import Operand, field, scalar, split
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.apply import Apply
from tux.stages.globalsync import GlobalSync
from tux.stages.kernel.bind import Udf
from tux.stages.kernel.thread_loop import indent_lines
from tux.stages.kernel.written import Origin, write_udf


class Zip(Apply):
    """For each master of type `over`: f(v, tau, p, rng), which may read and change several fields.
    In a MiniBatch too, all vertices of the type. `gather=True`: `f` sees the deltas, too. `each`:
    as in an Apply, for each entry of a field.
    """

    def __init__(self, over: str, f: Udf, *, gather: bool = False, each: str = "") -> None:
        super().__init__(over, f, gather=gather, all=True, each=each)
        self.label = self.label.replace("Apply", "Zip", 1)

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Prepare it as an Apply whose clock starts in order."""
        return mark_in_order(super().prepare(partition, batch))


class ColumnOperator(Apply):
    """An operator on fields of one type, vertex by vertex. Its UDF is written for the lengths that
    the program's parameters give the fields. `line` has the places {to}, {x} and {number}.
    """

    line = ""
    any_type = False  # True: `to` may be of truth values

    def __init__(self, over: str, to: str, x: str | None = None, by: object = None) -> None:
        super().__init__(over, gather=False, all=True)
        self.to, self.x, self.by = to, x, by
        given = ", ".join(str(each) for each in (over, to, x) if each is not None)
        number = "" if by is None else f", by={by}"
        self.label = f"{type(self).__name__}({given}{number})"
        with self.locate_errors():
            for text in [to] if x is None else [to, x]:
                split(text, self.label)

    def expand(self, program: BaseProgram) -> Apply:
        """Return the Apply that it stands for. Raise ProgramError where it does not fit the
        program.
        """
        to = field(program, self.over, self.to, self.label, changed=True)
        x = None if self.x is None else field(program, self.over, self.x, self.label)
        number = scalar(program, self.by, self.label) if "{number}" in self.line else None
        used = [each for each in (x, number) if each is not None]
        self._check(to, used)
        places = {"to": to, "x": x, "number": number}

        def line(indices: list[str]) -> str:
            given = {n: o.at(indices if o.lengths else []) for n, o in places.items() if o}
            return self.line.format(**given)

        udf = _udf(self, loops(to, line), [to, *used])
        stage = Apply(self.over, udf, gather=False, all=True)
        stage.label = self.label
        return stage

    def _check(self, to: Operand, used: Sequence[Operand]) -> None:
        name = to.name.removeprefix("v.")
        for each in used:
            if each.name.startswith("v.") and each.lengths != to.lengths:
                raise _lengths_error(self.label, to, each)
        floats = any(each.dtype.kind == "f" for each in used) or "/=" in self.line
        if to.dtype.kind == "b" and (floats or not self.any_type):
            raise ProgramError(
                f"{self.label}: {self.over}.{name} has truth values", do="declare it as a number"
            )
        if to.dtype.kind != "f" and floats:
            raise ProgramError(
                f"{self.label}: {self.over}.{name} has whole numbers, and would lose fractions",
                do=f'declare {name} as "f4" or "f8"',
            )

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Prepare the Apply that it stands for."""
        return mark_in_order(self.expand(partition.program).prepare(partition, batch))

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return the calls of the Apply that it stands for."""
        return self.expand(program).calls(program, role)

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plans of the Apply that it stands for."""
        return self.expand(program).plans(program, role, racing=racing)


class Copy(ColumnOperator):
    """v.to = v.x, of each master v of type `over`."""

    line = "{to} = {x}"
    any_type = True

    def __init__(self, over: str, to: str, x: str) -> None:
        super().__init__(over, to, x)


class Fill(ColumnOperator):
    """v.to = number, of each master v; a number, or the name of a field of tau or a parameter."""

    line = "{to} = {number}"
    any_type = True

    def __init__(self, over: str, to: str, by: float | str) -> None:
        super().__init__(over, to, by=by)


class Axpy(ColumnOperator):
    """v.to += number * v.x, of each master v: ``Axpy("feature", "w", "d", by="alpha")``. `by`: a
    number, or the name of a field of tau or a parameter, which may have a minus sign before it.
    """

    line = "{to} += {number} * {x}"

    def __init__(self, over: str, to: str, x: str, by: float | str) -> None:
        super().__init__(over, to, x, by)


class _Arithmetic(ColumnOperator):
    """An operator that changes v.to by v.x, or by a number."""

    sign = ""

    def __init__(self, over: str, to: str, x: str | None = None, *, by: object = None) -> None:
        super().__init__(over, to, x, by)
        if (x is None) == (by is None):
            raise ProgramError(
                f"{self.label} needs either a second field or by",
                where=self.where,
                do=f'e.g. {type(self).__name__}("{over}", "{to}", "x"), or by=2.0',
            )
        self.line = "{to} " + self.sign + "= " + ("{x}" if by is None else "{number}")


class Add(_Arithmetic):
    """v.to += v.x, of each master v; with `by` instead of `x`, a number."""

    sign = "+"


class Sub(_Arithmetic):
    """v.to -= v.x, of each master v; with `by` instead of `x`, a number."""

    sign = "-"


class Mul(_Arithmetic):
    """v.to *= v.x, of each master v; with `by` instead of `x`, a number."""

    sign = "*"


class Div(_Arithmetic):
    """v.to /= v.x, of each master v; with `by` instead of `x`, a number."""

    sign = "/"


class RowOperator(GlobalSync):
    """A sum over the masters of one type, which is put into a field of tau. `term` has a place for
    each of the fields.
    """

    term = ""
    result: Callable[[float], float] = staticmethod(float)

    def __init__(self, over: str, *fields: str, into: str) -> None:
        super().__init__(over=over)
        self.fields, self.into = fields, into
        self.label = f"{type(self).__name__}({', '.join(map(str, (over, *fields)))}, into={into})"
        with self.locate_errors():
            for text in fields:
                split(text, self.label)

    def expand(self, program: BaseProgram) -> GlobalSync:
        """Return the GlobalSync that it stands for. Raise ProgramError where it does not fit the
        program.
        """
        found = [field(program, self.over, text, self.label) for text in self.fields]
        for each in found[1:]:
            if each.lengths != found[0].lengths:
                raise _lengths_error(self.label, found[0], each)
        into, total, result = self.into, self._total(program), self.result

        def line(indices: list[str]) -> str:
            return f"part += {self.term.format(*(each.at(indices) for each in found))}"

        lines = ["part = 0.0", *loops(found[0], line), f"tau.{total} += part"]
        udf = _udf(self, lines, found, tau=True)

        def put(tau):  # type: ignore[no-untyped-def]
            setattr(tau, into, result(getattr(tau, total)))

        stage = GlobalSync(put, aggregate=udf, over=self.over)
        stage.label, stage.takes = self.label, (total,)
        return stage

    def _total(self, program: BaseProgram) -> str:
        """Return the name of the total of tau that gathers `into`."""
        fields = program.context.fields
        declared = fields.get(self.into)
        if not isinstance(declared, Reduction):
            is_other = isinstance(self.into, str) and self.into in fields
            what = f"tau.{self.into} is no reduction" if is_other else f"tau has no {self.into!r}"
            raise ProgramError(
                f"{self.label}: {what}", do=f"declare it: tau = Context({self.into}=reduction())"
            )
        return declared.place(self.into, "total")

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Prepare the GlobalSync that it stands for."""
        return mark_in_order(self.expand(partition.program).prepare(partition, batch))

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return the calls of the GlobalSync that it stands for."""
        return self.expand(program).calls(program, role)

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plans of the GlobalSync that it stands for."""
        return self.expand(program).plans(program, role, racing=racing)

    def totals_after(
        self, program: BaseProgram, before: dict[str, TotalAddition], role: str = ""
    ) -> dict[str, TotalAddition]:
        """Return `before`: it gathers its own total and takes it, and others stay."""
        return before


class Dot(RowOperator):
    """tau.into = the sum over masters of v.x * v.y: ``Dot("feature", "g", "d", into="slope")``."""

    term = "float({}) * float({})"

    def __init__(self, over: str, x: str, y: str, *, into: str) -> None:
        super().__init__(over, x, y, into=into)


class Sum(RowOperator):
    """tau.into = the sum of v.x over masters."""

    term = "float({})"

    def __init__(self, over: str, x: str, *, into: str) -> None:
        super().__init__(over, x, into=into)


class Norm2(RowOperator):
    """tau.into = the Euclidean norm of v.x, the root of the sum of squares over masters."""

    term = "float({0}) * float({0})"
    result = staticmethod(math.sqrt)

    def __init__(self, over: str, x: str, *, into: str) -> None:
        super().__init__(over, x, into=into)


class Nnz(RowOperator):
    """tau.into = how many entries of v.x, over all masters, are not 0."""

    term = "1.0 if {} != 0 else 0.0"

    def __init__(self, over: str, x: str, *, into: str) -> None:
        super().__init__(over, x, into=into)


def mark_in_order(step: Step) -> Step:
    """Return the step of an operator, marked so that at any slack it sees what all operators before
    it have done.
    """
    step.in_order = True
    return step


def loops(first: Operand, line: Callable[[list[str]], str]) -> list[str]:
    """Return the lines of a UDF with `line` for each entry of the operand `first`, by its
    indices.
    """
    skipped = bool(first.first)
    indices = [f"k{d}" for d in range(len(first.lengths))]
    lines = [line(indices)]
    for d, index in reversed([*enumerate(indices, skipped)]):
        lines = [f"for {index} in range({first.name}.shape[{d}]):", *indent_lines(lines)]
    return lines


def _udf(stage: Stage, lines: list[str], used: Sequence[Operand], *, tau: bool = False) -> Udf:
    """Write a UDF on `v`, with the parameters that its lines need."""
    text = " ".join(f"{each.name} {each.first}" for each in used)
    parameters = ["v", *["tau"] * (tau or "tau." in text), *["p"] * ("p." in text)]
    made_for = Origin(stage.label, stage.where)
    return write_udf(type(stage).__name__.lower(), made_for, parameters, lines)


def _lengths_error(label: str, one: Operand, other: Operand) -> ProgramError:
    names = [each.name.removeprefix("v.") for each in (one, other)]
    shapes = [list(each.lengths) or "one number" for each in (one, other)]
    return ProgramError(
        f"{label}: {names[0]} is {shapes[0]}, and {names[1]} is {shapes[1]}",
        do='name fields of the same lengths, or an entry: "s[i]"',
    )
