"""Switch, Merge and loops node by node: what lives, what is dead, and what a master refuses."""
from flow import Flow, boolean, f32, i32
from graphs import Value


def dead_values():
    c = Flow("switch/both sides")
    c.graph.placeholder("p", "bool")
    c.graph.placeholder("x", "float32")
    f, t = c.switch("x", "p", t="float32", name="sw")
    c.op("Neg", f, t="float32", name="no")
    c.op("Square", t, t="float32", name="yes")
    c.merge("no", "yes", t="float32", name="m")
    c.op("Identity", "no", t="float32", name="no2")
    c.plain("NoOp", "^no", name="no/after")
    c.const(f32(5), "^no", name="no/const")
    c.graph.const("live", f32(6))
    for p in (True, False):
        feeds = [("p:0", boolean(p)), ("x:0", f32([1.5, -2]))]
        c.fetch("m:0", "m:1", feeds=feeds)
        for n in ("sw:0", "sw:1", "no:0", "yes:0", "no2:0", "no/const:0"):
            c.fetch(n, feeds=feeds)
        c.fetch("live", "yes", feeds=feeds)
        c.step(feeds, [], ["no", "yes", "no2", "no/after"])
        c.step(feeds, ["m:0"], ["no/after"], exact=True)
    c.fetch("m:0", feeds=[("p:0", boolean([True])), ("x:0", f32([1]))])
    c.fetch("m:0", feeds=[("p:0", boolean([True, False])), ("x:0", f32([1]))])
    c.fetch("m:0", feeds=[("p:0", boolean(True)), ("x:0", f32(1)), ("sw:1", f32(9))])
    c.fetch("yes:0", feeds=[("p:0", boolean(False)), ("x:0", f32(1)), ("sw:1", f32(9))])
    yield c

    c = Flow("merge/many inputs and both dead")
    c.graph.placeholder("p", "bool")
    c.graph.placeholder("q", "bool")
    c.const(1, name="one"), c.const(2, name="two")
    f, t = c.switch("one", "p")
    ff, ft = c.switch(f, "q")
    c.op("Identity", t, name="a"), c.op("Identity", ff, name="b"), c.op("Identity", ft, name="c")
    c.merge("a", "b", "c", name="abc")
    c.merge("b", "c", name="bc")
    c.merge("a", "b", name="ab")
    c.op("Identity", "bc", name="bc2")
    c.op("Identity", "bc:1", name="index")
    c.merge("bc2", "a", name="revived")
    for p in (True, False):
        for q in (True, False):
            feeds = [("p:0", boolean(p)), ("q:0", boolean(q))]
            c.fetch("abc:0", "abc:1", feeds=feeds)
            c.fetch("revived:0", "revived:1", feeds=feeds)
            for n in ("bc:0", "ab:1", "index:0"):
                c.fetch(n, feeds=feeds)
    yield c

    c = Flow("control edges/from dead and live nodes")
    c.graph.placeholder("p", "bool")
    c.const(1, name="one")
    f, t = c.switch("one", "p")
    c.op("Identity", t, name="pivot")
    c.const(7, "^pivot", name="seven")
    c.op("AddV2", "seven", "one", name="eight")
    c.plain("ControlTrigger", "^pivot", name="trigger")
    c.const(9, "^trigger", name="nine")
    c.plain("NoOp", "^pivot", name="nothing")
    c.const(3, "^nothing", name="three")
    c.op("Identity", f, name="other")
    c.graph.node("m", "Merge", ["pivot", "other", "^one"], T="int32", N=2)
    c.graph.node("m2", "Merge", ["pivot", "other", "^nothing"], T="int32", N=2)
    c.graph.node("id", "Identity", ["m", "^trigger"], T="int32")
    for p in (True, False):
        for n in ("seven", "eight", "nine", "three", "m", "m2", "m2:1", "id"):
            c.fetch(n, feeds=[("p:0", boolean(p))])
        c.step([("p:0", boolean(p))], [], ["trigger", "nothing"])
    yield c

    c = Flow("switch/constant predicate and shared constant")
    c.graph.const("p", boolean(True))
    f, t = c.switch("p", "p", t="bool")
    c.graph.node("not", "LogicalNot", [f])
    c.graph.node("same", "Identity", [t], T="bool")
    c.merge("not", "same", t="bool", name="m")
    c.fetch("m", "m:1")
    c.fetch("not")
    yield c

    c = Flow("RefSwitch and RefMerge on variables")
    c.graph.placeholder("p", "bool")
    c.graph.placeholder("which", "int32")
    c.graph.node("v", "VariableV2", dtype="float32", shape=[2])
    c.graph.node("w", "VariableV2", dtype="float32", shape=[2])
    c.graph.const("start", f32([1, 2]))
    c.graph.const("ten", f32([10, 20]))
    c.op("Assign", "v", "start", t="float32", name="v/set"), c.op("Assign", "w", "ten", t="float32", name="w/set")
    c.op("RefSwitch", "v", "p", t="float32", name="sw")
    c.op("AssignAdd", "sw:1", "ten", t="float32", name="grow")
    c.op("AssignSub", "sw:0", "start", t="float32", name="shrink")
    c.op("RefMerge", "grow", "shrink", t="float32", N=2, name="m")
    c.op("Identity", "m", t="float32", name="out")
    c.op("RefIdentity", "v", t="float32", name="ref")
    c.op("AssignAdd", "ref", "start", t="float32", name="through")
    c.op("RefSelect", "which", "v", "w", t="float32", N=2, name="select")
    c.op("AssignAdd", "select", "start", t="float32", name="pick")
    on, off = [("p:0", boolean(True))], [("p:0", boolean(False))]
    c.fetch("out", feeds=on)
    c.step([], [], ["v/set", "w/set"])
    for feeds in (on, off, on):
        c.fetch("out", feeds=feeds)
        c.fetch("v", feeds=feeds)
    c.fetch("shrink", feeds=on)
    c.fetch("v")
    c.fetch("through")
    for i in (0, 1, 2, -1):
        c.fetch("pick", feeds=[("which:0", i32(i))])
    c.fetch("v", "w")
    yield c


def counting(c, name, limit, parallel=10, start="zero"):
    return c.loop(name, [start], lambda v, k: c.less(v[0], k[0]), lambda v, k: [c.add(v[0], c.const(1, "^" + v[0]))], parallel=parallel, constants=[limit])


def loops():
    for parallel in (1, 2, 10, 32):
        c = Flow("loop/counting, parallel_iterations %d" % parallel)
        c.graph.placeholder("limit", "int32")
        c.const(0, name="zero")
        counting(c, "loop", "limit", parallel)
        for n in (0, 1, 2, 10, 11, 100, 1000, -5):
            c.fetch("loop/exit0", feeds=[("limit:0", i32(n))])
        c.step([("limit:0", i32(5))], [], ["loop/exit0"])
        c.step([("limit:0", i32(5))], [], ["loop/next0"])
        yield c

        c = Flow("loop/several variables, parallel_iterations %d" % parallel)
        c.graph.placeholder("limit", "int32")
        c.const(0, name="zero"), c.const(1, name="one"), c.graph.const("x", f32([1, 2])), c.graph.const("s", Value("never changed", "string"))

        def body(v, k):
            return [c.add(v[0], c.const(1, "^" + v[0])), v[2], c.add(v[1], v[2]), c.mul(v[3], c.const(f32(0.5), "^" + v[3]), t="float32"), v[4]]

        c.loop("loop", ["zero", "zero", "one", "x", "s"], lambda v, k: c.less(v[0], k[0]), body, types=["int32"] * 3 + ["float32", "string"], parallel=parallel,
               constants=["limit"])
        for n in (0, 1, 10, 20):
            c.fetch(*["loop/exit%d" % i for i in range(5)], feeds=[("limit:0", i32(n))])
            c.fetch("loop/exit2", feeds=[("limit:0", i32(n))])
        yield c

        for inner in (1, 10):
            yield nested(parallel, inner)

    c = Flow("loop/one feeds another")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero"), c.const(20, name="twenty")
    first, = counting(c, "first", "limit")
    second, = counting(c, "second", "twenty", start=first)
    c.op("Neg", second, name="out")
    for n in (0, 3, 20, 25):
        c.fetch("out", feeds=[("limit:0", i32(n))])
        c.fetch("first/exit0", "out", feeds=[("limit:0", i32(n))])
    yield c

    c = Flow("loop/invariants and a matrix power")
    c.graph.placeholder("limit", "int32")
    c.graph.placeholder("m", "float32")
    c.const(0, name="zero"), c.graph.const("eye", f32([[1, 0], [0, 1]]))

    def multiply(v, k):
        return [c.add(v[0], c.const(1, "^" + v[0])), c.op("MatMul", v[1], k[1], t="float32")]

    c.loop("loop", ["zero", "eye"], lambda v, k: c.less(v[0], k[0]), multiply, types=["int32", "float32"], constants=["limit", "m"], constant_types=["int32", "float32"])
    for n in (0, 1, 5):
        c.fetch("loop/exit1", feeds=[("limit:0", i32(n)), ("m:0", f32([[1, 1], [0, 1]]))])
    yield c

    c = Flow("loop/growing shape")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero"), c.graph.const("empty", i32([])), c.const(0, name="axis")

    def append(v, k):
        one = c.plain("ExpandDims", v[0], k[1], T="int32", Tdim="int32")
        return [c.add(v[0], c.const(1, "^" + v[0])), c.plain("ConcatV2", v[1], one, k[1], N=2, T="int32", Tidx="int32")]

    c.loop("loop", ["zero", "empty"], lambda v, k: c.less(v[0], k[0]), append, constants=["limit", "axis"])
    for n in (0, 1, 6):
        c.fetch("loop/exit1", feeds=[("limit:0", i32(n))])
    yield c

    c = Flow("loop/conditional inside")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero")

    def body(v, k):
        three = c.const(3, "^" + v[0])
        odd = c.op("Equal", c.op("FloorMod", v[0], three), c.const(1, "^" + v[0]))
        f, t = c.switch(v[1], odd)
        return [c.add(v[0], c.const(1, "^" + v[0])), c.merge(c.add(f, c.const(1, "^" + v[0])), c.mul(t, c.const(2, "^" + v[0])))]

    c.loop("loop", ["zero", "zero"], lambda v, k: c.less(v[0], k[0]), body, constants=["limit"])
    for n in (0, 1, 2, 5, 12):
        c.fetch("loop/exit1", feeds=[("limit:0", i32(n))])
    yield c

    c = Flow("loop/error in the fifth iteration")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero")

    def divide(v, k):
        return [c.add(v[0], c.const(1, "^" + v[0])), c.op("FloorDiv", c.const(12, "^" + v[0]), c.op("Sub", v[0], c.const(4, "^" + v[0])), name="divide")]

    c.loop("loop", ["zero", "zero"], lambda v, k: c.less(v[0], k[0]), divide, constants=["limit"])
    for n in (4, 5, 9, 4):
        c.fetch("loop/exit1", feeds=[("limit:0", i32(n))])
    yield c


def nested(outer, inner):
    c = Flow("loop/nested, parallel_iterations %d and %d" % (outer, inner))
    c.graph.placeholder("n", "int32")
    c.graph.placeholder("m", "int32")
    c.const(0, name="zero")

    def body(v, k):
        def inner_body(w, l):
            return [c.add(w[0], c.const(1, "^" + w[0])), c.add(w[1], c.mul(w[0], l[1]))]

        start = c.const(0, "^" + v[0])
        exits = c.loop("inner", [start, v[1]], lambda w, l: c.less(w[0], l[0]), inner_body, parallel=inner, constants=[k[1], v[0]])
        return [c.add(v[0], c.const(1, "^" + v[0])), exits[1]]

    c.loop("outer", ["zero", "zero"], lambda v, k: c.less(v[0], k[0]), body, parallel=outer, constants=["n", "m"])
    for n, m in [(10, 10), (0, 5), (5, 0), (1, 1), (3, 12), (12, 3)]:
        c.fetch("outer/exit0", "outer/exit1", feeds=[("n:0", i32(n)), ("m:0", i32(m))])
    return c


def dead_loops():
    c = Flow("loop/in an untaken branch")
    c.graph.placeholder("p", "bool")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero")
    f, t = c.switch("zero", "p")
    lf, lt = c.switch("limit", "p")
    c.op("Identity", t, name="start"), c.op("Identity", lt, name="bound")
    exit, = counting(c, "loop", "bound", start="start")
    c.op("Neg", f, name="other")
    c.merge(exit, "other", name="m")
    for p in (True, False, True):
        feeds = [("p:0", boolean(p)), ("limit:0", i32(4))]
        c.fetch("m:0", "m:1", feeds=feeds)
        c.fetch("loop/exit0", feeds=feeds)
        c.step(feeds, [], ["loop/exit0"])
    yield c

    c = Flow("loop/nested with an inner one in an untaken branch")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero")

    def body(v, k):
        even = c.op("Equal", c.op("FloorMod", v[0], c.const(2, "^" + v[0])), c.const(0, "^" + v[0]))
        f, t = c.switch(v[1], even)
        bf, bt = c.switch(v[0], even)
        exits = c.loop("inner", [c.op("Identity", t), bt], lambda w, l: c.less(c.const(0, "^" + w[0]), w[1]),
                       lambda w, l: [c.add(w[0], c.const(1, "^" + w[0])), c.op("Sub", w[1], c.const(1, "^" + w[0]))])
        return [c.add(v[0], c.const(1, "^" + v[0])), c.merge(exits[0], c.mul(f, c.const(3, "^" + v[0])))]

    c.loop("outer", ["zero", "zero"], lambda v, k: c.less(v[0], k[0]), body, constants=["limit"])
    for n in (0, 1, 2, 3, 8):
        c.fetch("outer/exit1", feeds=[("limit:0", i32(n))])
    yield c

    c = Flow("loop/an exit that is dead in every iteration")
    c.graph.placeholder("limit", "int32")
    c.graph.placeholder("bar", "int32")
    c.const(0, name="zero"), c.const(-1, name="none")

    def cond(v, k):
        return c.less(v[0], k[0])

    def body(v, k):
        f, t = c.switch(v[0], c.op("Greater", v[0], k[1]))
        c.op("Exit", t, name="found")
        return [c.add(v[0], c.const(1, "^" + v[0]))]

    c.loop("loop", ["zero"], cond, body, constants=["limit", "bar"])
    c.op("Identity", "found", name="found2")
    c.merge("found2", "none", name="m")
    for n in (3, 0):
        feeds = [("limit:0", i32(n)), ("bar:0", i32(100))]
        c.fetch("found2", feeds=feeds)
        c.fetch("loop/exit0", feeds=feeds)
        c.step(feeds, ["loop/exit0:0"], ["found2"], exact=True)
    yield c

    c = Flow("loop/control edge from an exit and into an iteration")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero"), c.const(5, name="five")
    counting(c, "loop", "limit")
    c.const(42, "^loop/exit0", name="after")
    c.graph.node("late", "Identity", ["five", "^after"], T="int32")
    for n in (0, 3):
        c.fetch("after", feeds=[("limit:0", i32(n))])
        c.fetch("late", "loop/exit0", feeds=[("limit:0", i32(n))])
    yield c


def stateful_loops():
    c = Flow("loop/assign_add on a reference variable in the body")
    c.graph.placeholder("limit", "int32")
    c.graph.node("v", "VariableV2", dtype="int32", shape=[])
    c.const(0, name="zero")
    c.op("Assign", "v", "zero", name="reset")
    c.op("RefEnter", "v", name="v/enter", frame_name="loop", is_constant=True, parallel_iterations=1)

    def body(v, k):
        add = c.op("AssignAdd", "v/enter", v[0], name="grow")
        return [c.graph.node("next", "AddV2", [v[0], c.const(1, "^" + v[0]), "^" + add], T="int32")]

    c.loop("loop", ["zero"], lambda v, k: c.less(v[0], k[0]), body, constants=["limit"], parallel=1)
    c.graph.node("end", "Identity", ["v", "^loop/exit0"], T="int32")
    c.fetch("end", feeds=[("limit:0", i32(3))])
    c.step([], [], ["reset"])
    for n in (0, 5, 5):
        c.fetch("end", feeds=[("limit:0", i32(n))])
    yield c

    c = Flow("loop/assign_add on a resource variable in the body")
    c.graph.placeholder("limit", "int32")
    c.graph.node("v", "VarHandleOp", dtype="int32", shape=[], shared_name="v")
    c.const(0, name="zero")
    c.graph.node("reset", "AssignVariableOp", ["v", "zero"], dtype="int32")

    def body(v, k):
        add = c.plain("AssignAddVariableOp", k[1], v[0], dtype="int32")
        return [c.graph.node("next", "AddV2", [v[0], c.const(1, "^" + v[0]), "^" + add], T="int32"), c.plain("ReadVariableOp", k[1], "^" + add, dtype="int32")]

    c.loop("loop", ["zero", "zero"], lambda v, k: c.less(v[0], k[0]), body, constants=["limit", "v"], constant_types=["int32", "resource"], parallel=1)
    c.graph.node("end", "ReadVariableOp", ["v", "^loop/exit0"], dtype="int32")
    c.fetch("end", feeds=[("limit:0", i32(3))])
    c.step([], [], ["reset"])
    for n in (0, 5, 5):
        c.fetch("end", "loop/exit1", feeds=[("limit:0", i32(n))])
    yield c

    c = Flow("loop/a random stream goes through iterations and steps")
    c.graph.placeholder("limit", "int32")
    c.const(0, name="zero"), c.graph.const("none", f32(0)), c.graph.const("shape", i32([]))

    def body(v, k):
        r = c.plain("RandomUniform", k[1], "^" + v[1], T="int32", dtype="float32", seed=3, seed2=4)
        return [c.add(v[0], c.const(1, "^" + v[1])), c.add(c.mul(v[1], c.const(f32(0.5), "^" + v[1]), t="float32"), r, t="float32")]

    c.loop("loop", ["zero", "none"], lambda v, k: c.less(v[0], k[0]), body, types=["int32", "float32"], constants=["limit", "shape"], parallel=1)
    for n in (0, 1, 3, 3):
        c.step([("limit:0", i32(n))], ["loop/exit1:0"], tolerance=(1e-6, 0))
    yield c


def malformed():
    """Each is asked at creation; what a master accepts is then run."""
    def case(name):
        c = Flow("malformed/" + name)
        c.refused = True
        c.const(1, name="one")
        c.graph.const("yes", boolean(True))
        return c

    frame = dict(frame_name="f", parallel_iterations=10)

    c = case("Exit without Enter")
    c.op("Exit", "one", name="out")
    c.fetch("out"), c.fetch("one")
    yield c
    c = case("NextIteration without a frame")
    c.op("NextIteration", "one", name="out")
    c.fetch("out"), c.step([], [], ["out"]), c.fetch("one")
    yield c
    c = case("cycle without NextIteration")
    c.merge("one", "a", name="m"), c.op("Identity", "m", name="a")
    c.fetch("a")
    yield c
    c = case("cycle of plain nodes")
    c.op("Identity", "b", name="a"), c.op("Identity", "a", name="b")
    c.fetch("a")
    yield c
    c = case("control cycle")
    c.graph.node("a", "NoOp", ["^b"]), c.graph.node("b", "NoOp", ["^a"])
    c.step([], [], ["a"])
    yield c
    c = case("self loop")
    c.op("Identity", "a", name="a")
    c.fetch("a")
    yield c
    c = case("NextIteration into an AddV2")
    c.op("Enter", "one", name="e", **frame), c.op("AddV2", "e", "n", name="s"), c.op("NextIteration", "s", name="n")
    c.fetch("s")
    yield c
    c = case("inputs of two frames")
    c.op("Enter", "one", name="e", **frame), c.op("Enter", "one", name="g", frame_name="g", parallel_iterations=10)
    c.op("AddV2", "e", "g", name="s"), c.op("Exit", "s", name="x")
    c.fetch("x"), c.fetch("one")
    yield c
    c = case("a frame's value and an outside one")
    c.op("Enter", "one", name="e", **frame), c.op("AddV2", "e", "one", name="s"), c.op("Exit", "s", name="x")
    c.fetch("x"), c.fetch("one")
    yield c
    c = case("Exit of one frame twice")
    c.op("Enter", "one", name="e", **frame), c.op("Exit", "e", name="x"), c.op("Exit", "x", name="y")
    c.fetch("x"), c.fetch("y")
    yield c
    c = case("Enter straight to Exit")
    c.op("Enter", "one", name="e", **frame), c.op("Exit", "e", name="x")
    c.fetch("x")
    yield c
    c = case("fetch inside a frame")
    c.op("Enter", "one", name="e", **frame), c.op("Neg", "e", name="n")
    c.step([], [], ["n"])
    yield c
    c = case("two Enters of one frame with different parallel_iterations")
    c.op("Enter", "one", name="e", **frame), c.op("Enter", "one", name="g", frame_name="f", parallel_iterations=3)
    c.op("AddV2", "e", "g", name="s"), c.op("Exit", "s", name="x")
    c.fetch("x")
    yield c
    c = case("parallel_iterations 0")
    c.op("Enter", "one", name="e", frame_name="f", parallel_iterations=0), c.op("Exit", "e", name="x")
    c.fetch("x")
    yield c
    c = case("Merge of one input")
    c.merge("one", name="m")
    c.fetch("m", "m:1")
    yield c
    c = case("Merge of none")
    c.graph.node("m", "Merge", T="int32", N=0)
    c.fetch("m")
    yield c
    c = case("Merge with two live inputs of one value")
    c.const(1, name="uno"), c.merge("one", "uno", name="m")
    c.fetch("m")
    yield c
    c = case("predicate of a wrong type")
    c.op("Switch", "one", "one", name="s")
    c.fetch("s:1")
    yield c
    c = case("LoopCond outside a loop")
    c.plain("LoopCond", "yes", name="l")
    c.fetch("l")
    yield c
    c = case("LoopCond of a vector in a loop")
    c.graph.const("pair", boolean([True, False]))
    c.plain("LoopCond", "pair", name="l"), c.op("Switch", "one", "l", name="s"), c.op("Identity", "s:1", name="i")
    c.fetch("i")
    yield c


def cases():
    for family in (dead_values, loops, dead_loops, stateful_loops, malformed):
        yield from family()
