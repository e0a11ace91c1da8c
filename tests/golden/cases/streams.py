"""Random ops with seeds: streams that go on from step to step, bit for bit where no function is evaluated."""
import numpy as np

from cases.arrays import both, index
from graphs import Value
from suite import TOLERANCE, Case

SEEDS = [(1, 2), (0, 7), (12345, 0), (-3, 2**40 + 5), (2**62, -(2**61))]
SHAPES = [[3], [2, 5], [], [0], [7, 3, 2]]


def floats():
    for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        exact = op == "RandomUniform"
        for t in ("float32", "float64", "float16", "bfloat16"):
            for i, (seed, seed2) in enumerate(SEEDS if t == "float32" else SEEDS[:2]):
                c = Case("%s/%s/seeds%d" % (op, t, i))
                c.graph.placeholder("shape", "int32" if i % 2 == 0 else "int64")
                c.graph.node("r", op, ["shape"], dtype=t, T="int32" if i % 2 == 0 else "int64", seed=seed, seed2=seed2)
                c.graph.node("copy", "Identity", ["r"], T=t)
                for s in SHAPES + [[300]] * (t == "float32") + [[2]]:
                    c.step([("shape:0", index(np.array(s), "int32" if i % 2 == 0 else "int64"))], ["r:0"], exact=exact, tolerance=TOLERANCE[t])
                c.step([("shape:0", index([4], "int32" if i % 2 == 0 else "int64"))], ["copy:0"], exact=exact, tolerance=TOLERANCE[t])
                c.step([("shape:0", index([4], "int32" if i % 2 == 0 else "int64"))], ["copy:0", "r:0"], exact=exact, tolerance=TOLERANCE[t])
                yield c
        c = Case("%s/misuse" % op)
        for s in ([-1], [[2]], 3):
            both(c, op, index(np.array(s), "int32"), attrs={"dtype": "float32", "seed": 1}, fetch=[0])
        both(c, op, index(np.array([2**40, 2**40]), "int64"), attrs={"dtype": "float32", "seed": 1}, fetch=[0])
        yield c


def integers():
    for t in ("int32", "int64"):
        for i, (seed, seed2) in enumerate(SEEDS):
            c = Case("RandomUniformInt/%s/seeds%d" % (t, i))
            for n, dtype in (("shape", "int32"), ("low", t), ("high", t)):
                c.graph.placeholder(n, dtype)
            c.graph.node("r", "RandomUniformInt", ["shape", "low", "high"], T="int32", Tout=t, seed=seed, seed2=seed2)
            big = 2**31 - 1 if t == "int32" else 2**63 - 1
            for s, low, high in [([3], 0, 10), ([2, 5], -5, 6), ([], 0, 1), ([9], -big - 1, big), ([4], 0, 7), ([0], 0, 3), ([3], 5, 5), ([3], 6, 5), ([4], 0, 1000), ([0], 3, 3)]:
                c.step([("shape:0", index(np.array(s), "int32")), ("low:0", Value(low, t)), ("high:0", Value(high, t))], ["r:0"])
            c.step([("shape:0", index(np.array([2]), "int32")), ("low:0", Value([0], t)), ("high:0", Value(5, t))], ["r:0"])
            c.step([("shape:0", index(np.array([2]), "int32")), ("low:0", Value(0, t)), ("high:0", Value([5, 6], t))], ["r:0"])
            yield c


def sharing():
    """A node has one stream in a session, whichever signature runs it; two nodes with equal seeds have two."""
    c = Case("RandomUniform/one stream, several signatures")
    c.graph.const("shape", index([2], "int32"))
    for n in ("a", "b"):
        c.graph.node(n, "RandomUniform", ["shape"], dtype="float32", T="int32", seed=5, seed2=6)
    c.graph.node("sum", "AddV2", ["a", "b"], T="float32")
    c.graph.node("twice", "AddV2", ["a", "a"], T="float32")
    for fetch in (["a:0"], ["b:0"], ["sum:0"], ["a:0", "b:0"], ["twice:0"], ["a:0", "twice:0"], ["a:0"], ["b:0"]):
        c.step([], fetch, exact=True)
    c.step([], [], ["a"])
    c.step([], ["a:0"], exact=True)
    c.step([("a:0", Value([1, 2], "float32"))], ["sum:0"], exact=True)
    c.step([], ["a:0", "b:0"], exact=True)
    yield c

    c = Case("TruncatedNormal/initialiser of a variable")
    c.graph.const("shape", index([3, 4], "int32"))
    c.graph.node("r", "TruncatedNormal", ["shape"], dtype="float32", T="int32", seed=2, seed2=11)
    c.graph.const("stddev", Value(0.1, "float32"))
    c.graph.node("scaled", "Mul", ["r", "stddev"], T="float32")
    c.graph.node("v", "VariableV2", dtype="float32", shape=[3, 4])
    c.graph.node("init", "Assign", ["v", "scaled"], T="float32")
    for _ in range(2):
        c.step([], [], ["init"])
        c.step([], ["v:0"], tolerance=TOLERANCE["float32"])
    yield c

    c = Case("RandomStandardNormal/after an extension")
    c.graph.const("shape", index([3], "int32"))
    c.graph.node("r", "RandomStandardNormal", ["shape"], dtype="float32", T="int32", seed=9, seed2=1)
    c.step([], ["r:0"], tolerance=TOLERANCE["float32"])
    more = Case("more").graph
    more.node("n", "Neg", ["r"], T="float32")
    c.step(extend=more.bytes(), version=0)
    c.step([], ["n:0"], tolerance=TOLERANCE["float32"])
    c.step([], ["r:0"], tolerance=TOLERANCE["float32"])
    yield c


def cases():
    for family in (floats, integers, sharing):
        yield from family()
