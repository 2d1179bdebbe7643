"""The rare parts of random UDFs (`random_udfs`): code that is seldom, or that numba refuses."""

from textwrap import indent


class Unusual:
    """The unusual options of `random_udfs.Writer`, which has the methods that are called here."""

    def unusual_rows(self):
        row = self.row
        return [
            lambda: f"(r := {row()})",
            lambda: f"(n and (s := {row()}) or r)",
            lambda: f"again({row()}, 2)",
            lambda: f"[{row()}][0]",
            lambda: f"({row()} or {row()})",
            lambda: f"((0, {row()}) + (n,))[1]",
            lambda: f"(({row()},) * 2)[n % 2]",
            lambda: f"max(({row()},))",
            lambda: f"q({row()})",
            lambda: f"max((0, {row()}), (0,), key=len)[1]",
            lambda: f"(lambda: {row()})()",
            lambda: f"{{0: {row()}}}[0]",
            lambda: f"next(i for i in ({row()},))",
        ]

    def unusual_arrays(self):
        row, array, number = self.row, self.array, self.number
        return [
            lambda: f"(x := {array()})",
            lambda: f"(n > 2 and (y := {array()})[0] and y or x)",
            lambda: (
                f"{array()}[{self.choose('w', 'PART', 'None, :', '...', 'NEW, :', 'slice(0, 2)')}]"
            ),
            lambda: f"{self.matrix()}[{self.choose('w, 0', '*(PART, 0)', '(PART, 0)')}]",
            lambda: f"{row()}.f[{self.choose('NEW', 'None', 'w, NEW', 'NEW, PART')}][0]",
            lambda: f"{row()}.g[{array()} % 2, 0]",
            lambda: f"{row()}.f[np.array([1, 0])]",
            lambda: f"{row()}.f[{row()}.f > 2]",
            lambda: f"np.int64({array()})",
            lambda: f"{array()}.astype(np.int64, copy=False)",
            lambda: f"{array()}.astype(np.int64)",
            lambda: f"max(({array()},))",
            lambda: f"max({row()}.h, {row()}.h)",
            lambda: f"min({row()}.g, key=len)",
            lambda: f"((0, {array()}) + (n,))[1]",
            lambda: f"(({array()},) * 2)[n % 2]",
            lambda: f"([{array()} for i in range(2)] + [x])[k]",
            lambda: f"({array()}, {array()})[0:2][{self.index()}]",
            lambda: f"({array()}, {array()})[PART][{self.index()}]",
            lambda: f"[{array()} for i in range(2)][PART][0]",
            lambda: f"np.asarray({array()})",
            lambda: f"{array()}.reshape({self.choose('2', '-1')})",
            lambda: f"{array()}.T",
            lambda: f"{array()}.real",
            lambda: f"[(((0, {array()}),),) for i in range(2)][0][0][0][1]",
            lambda: f"keep({array()})[-1]",
            lambda: f"closed({array()})",
            lambda: f"closed({array()}, k={number()})",
            lambda: f"np.sort({array()})",
            lambda: f"np.array(({array()}, 3), dtype=object)[0]",
            lambda: f"{row()}.__getattribute__('f')",
            lambda: f"getattr({row()}, 'f')",
            lambda: "eval('x')",
            lambda: f"(PAIR[1], {array()})[1]",
        ]

    def unusual_numbers(self):
        row, array, number = self.row, self.array, self.number
        return [
            lambda: f"(n := {number()})",
            lambda: f"len(f'{{n:{{{row()}.a % 9}}}}{{{row()}.b!r}}')",
            lambda: f"[i for i in {array()}][0]",
            lambda: f"len([0 for {row()}.a in range(2)])",
            lambda: f"len([0 for {array()}[0] in {array()}])",
            lambda: f"len([i for i, j in enumerate({array()}, 1)])",
            lambda: f"len([(x[0], x := {array()}) for i in range(2)])",
            lambda: f"sum({self.matrix()})[0]",
            lambda: f"np.linalg.norm({array()}) % 5",
            lambda: f"np.add.reduce({array()})",
            lambda: f"({array()} @ {array()})",
            lambda: f"-{array()}[0]",
            lambda: f"q({row()})",
            lambda: f"len({{i: {number()} for i in {array()}}})",
        ]

    def unusual_statements(self):
        row, array, number = self.row, self.array, self.number
        return [
            lambda: f"return {self.result()}",
            lambda: f"np.add.at({array()}, 0, {number()})",
            lambda: f"np.copyto({array()}, {number()})",
            lambda: f"x[1] = (x := {array()})[0] + x[1]",
            lambda: f"x[0] += (x := {array()})[1]",
            lambda: f"(x := {array()})[0] += x[1]",
            lambda: f"n = (x := {array()}).sum() + x[1]",
            lambda: f"(y := {array()}).fill(y[1])",
            lambda: f"q = {self.choose('same', 'look', 'raised', 'again', 'bump')}",
            lambda: f"q, n = ({self.choose('same', 'look')} if {self.test()} else same), 1",
            lambda: (
                f"w = {self.choose('PART', 'NEW', 'None', 'slice(0, 1)', '0', '(0,)', 'nothing()')}"
            ),
            lambda: f"{array()}[w][0] = {number()}",
            lambda: f"a, *b = {array()}, {row()}, {array()}\nb[0].a = 1\na[0] = 2",
            lambda: f"l = [{array()} for i in range(2)]\nl[k % 2][0] = {number()}",
            lambda: f"l = [same for i in range(2)]\nl[0] = raised\nl[0]({row()})",
            lambda: f"l = [i for i in ()]\nl.append(again)\nl[0]({row()}, 1)",
            lambda: f"l = [0]\nl[0] = {array()}\nl[0][0] = {number()}",
            lambda: f"l = [0]\nl += ({array()}, {row()})\nl[1][0] = 2\nl[2].b = 3",
            lambda: f"l = (0,)\nl += ({array()},)\nl[1][0] = 2",
            lambda: f"for i in zip(((({array()},),),)): i[0][0][0][0] = 7",
            lambda: f"for i, (o, j) in enumerate(zip(({row()},), {array()})): o.a += j",
            lambda: f"for i in ({array()}, {array()}): i[0] = 1",
            lambda: f"for {self.place()} in range(2): n += 1",
            lambda: f"for i in {self.matrix()}: i[0] += {number()}",
            lambda: f"t = (t, {array()}, n)\nn = 1",
            lambda: f"assert {self.test()}, {row()}.a",
            lambda: f"{row()}.f[bump({array()}, 0)[0] % 2]: int",
            lambda: f"if {number()} > 1: raise ValueError({row()}.a) from raised({row()})",
            lambda: f"setattr({row()}, 'a', {number()})",
            lambda: f"{row()}.__setattr__('b', 3)",
            lambda: f"q = {row()}.__setattr__\nq('b', 3)",
            lambda: "exec('r.a = 1')",
            lambda: f"look.kept = {row()}\nlook.kept.a = 1",
            lambda: f"import math as m\nn = m.floor({number()})",
            lambda: f"del x\nx = {array()}",
            lambda: f"def inner(): return {row()}\ninner().a = 2",
            lambda: f"class Odd: {row()}.a = 4",
            lambda: f"{row()}.f += 1",
            lambda: f"global G\nG = {array()}\nG[0] = 1",
            "k = (w, *t)[0]",
            "nothing()",
        ]

    def unusual_compounds(self):
        return [
            lambda: f"try:\n{self.body()}\nfinally:\n{self.body()}",
            lambda: f"try:\n{self.body()}\nexcept ValueError:\n{self.body()}",
            lambda: (
                f"match {self.number()}:\n    case 1:\n{indent(self.body(), '    ')}\n"
                f"    case n:\n{indent(self.body(), '    ')}"
            ),
            lambda: f"with np.errstate():\n{self.body()}",
        ]
