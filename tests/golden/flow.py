"""Control flow node by node: switches, merges and loops with names one can fetch."""
from graphs import Value
from suite import Case


def i32(x):
    return Value(x, "int32")


def f32(x):
    return Value(x, "float32")


def boolean(x):
    return Value(x, "bool")


class Flow(Case):
    def __init__(self, name):
        super().__init__(name)
        self.count = 0

    def op(self, op, *inputs, t="int32", name=None, **attrs):
        """A node of one type attribute `T`; the name is made up unless given."""
        self.count += 1
        name = name or "n%d" % self.count
        return self.graph.node(name, op, inputs, T=t, **attrs)

    def const(self, value, *control, name=None):
        self.count += 1
        return self.graph.const(name or "n%d" % self.count, value if isinstance(value, Value) else i32(value), control)

    def plain(self, op, *inputs, name=None, **attrs):
        self.count += 1
        return self.graph.node(name or "n%d" % self.count, op, inputs, **attrs)

    def less(self, a, b, t="int32"):
        return self.op("Less", a, b, t=t)

    def add(self, a, b, t="int32"):
        return self.op("AddV2", a, b, t=t)

    def mul(self, a, b, t="int32"):
        return self.op("Mul", a, b, t=t)

    def switch(self, data, pred, t="int32", name=None):
        """Returns (false side, true side)."""
        s = self.op("Switch", data, pred, t=t, name=name)
        return s, s + ":1"

    def merge(self, *inputs, t="int32", name=None):
        return self.op("Merge", *inputs, t=t, N=len(inputs), name=name)

    def loop(self, name, starts, cond, body, types=None, parallel=10, constants=(), constant_types=(), frame=None):
        """Starts are nodes; cond and body get the loop's values and its constants.  Returns the exits."""
        types = types or ["int32"] * len(starts)
        frame = dict(frame_name=frame or name, parallel_iterations=parallel)
        enters = [self.op("Enter", s, t=t, name="%s/enter%d" % (name, i), **frame) for i, (s, t) in enumerate(zip(starts, types))]
        fixed = [self.op("Enter", s, t=t, name="%s/const%d" % (name, i), is_constant=True, **frame)
                 for i, (s, t) in enumerate(zip(constants, constant_types or ["int32"] * len(constants)))]
        merges = [self.merge(e, "%s/next%d" % (name, i), t=t, name="%s/merge%d" % (name, i)) for i, (e, t) in enumerate(zip(enters, types))]
        pred = self.plain("LoopCond", cond(merges, fixed), name=name + "/cond")
        sides = [self.switch(m, pred, t=t, name="%s/switch%d" % (name, i)) for i, (m, t) in enumerate(zip(merges, types))]
        # An Identity a value makes what the body needs without a value (a constant) a node of the iteration.
        inside = [self.op("Identity", s[1], t=t, name="%s/in%d" % (name, i)) for i, (s, t) in enumerate(zip(sides, types))]
        for i, (value, t) in enumerate(zip(body(inside, fixed), types)):
            self.op("NextIteration", value, t=t, name="%s/next%d" % (name, i))
        return [self.op("Exit", s[0], t=t, name="%s/exit%d" % (name, i)) for i, (s, t) in enumerate(zip(sides, types))]

    def fetch(self, *names, feeds=(), **how):
        self.step(list(feeds), [n if ":" in n else n + ":0" for n in names], exact=True, **how)
