"""Sums, products, extremes and where they lie, cumulative sums, and sums of several tensors."""
import numpy as np

from cases.arrays import both, i32, index, usable
from graphs import Value
from suite import Case

AXES = [((2, 3), [0]), ((2, 3), [1]), ((2, 3), [0, 1]), ((2, 3), []), ((), []), ((4,), [-1]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [-2]), ((0, 3), [0]),
        ((0, 3), [1]), ((2, 1, 3, 1, 2), [1, 3]), ((2, 2, 2, 2, 2, 2), [0, 2, 4]), ((2, 3), 1), ((3, 40), [1]), ((40, 3), [0]), ((1, 1), [0, 1])]
WRONG = [((2, 3), [2]), ((2, 3), [-3]), ((2, 3), [0, 0]), ((), [0]), ((2, 3), [[0, 1]]), ((2, 3), [0, -2])]


def reductions():
    for op in ("Sum", "Prod", "Mean", "Max", "Min", "EuclideanNorm"):
        for t, ti in usable(op, "T", "Tidx"):
            if ti == "int64" and t not in ("float32", "int32"):
                continue
            c = Case("%s/%s/%s" % (op, t, ti))
            how = {"low": -1.4, "high": 1.4} if op == "Prod" and "float" in t else {"low": -2, "high": 3} if op == "Prod" and "int" in t else {}
            scale = 8.0 if op in ("Sum", "Mean") else 1.0
            for i, (s, axes) in enumerate(AXES if t in ("float32", "int32", "float64") else AXES[:9:2]):
                if op == "Prod" and 40 in s:
                    continue
                if op == "Mean" and "int" in t and 0 in s:
                    continue
                c.run(op, c.values(s, t, **how), index(axes, ti), keep_dims=i % 3 == 1, scale=scale, exact=op in ("Max", "Min"))
            if "float" in t and op in ("Sum", "Max", "Min"):
                c.run(op, c.values((2, 3), t, special=False), index([1], ti), keep_dims=True, scale=scale)
                inf = Value(np.array([[1, np.inf], [-np.inf, 2]]), t)
                c.run(op, inf, index([1], ti))
            for s, axes in WRONG if t == "float32" else []:
                both(c, op, c.values(s, t), index(axes, ti))
            yield c
    for op in ("All", "Any"):
        for ti in ("int32", "int64"):
            c = Case("%s/%s" % (op, ti))
            for i, (s, axes) in enumerate(AXES):
                c.run(op, c.values(s, "bool"), index(axes, ti), keep_dims=i % 2 == 1)
            for s, axes in WRONG:
                both(c, op, c.values(s, "bool"), index(axes, ti))
            yield c


def positions():
    for op in ("ArgMax", "ArgMin"):
        for t, ti, to in usable(op, "T", "Tidx", "output_type"):
            if ti == "int16":  # TensorFlow reads such an axis as if it were an int32, past its end
                continue
            if t != "float32" and (ti != "int32" or to not in ("int64", "int32")):
                continue
            c = Case("%s/%s/%s/%s" % (op, t, ti, to))
            for s, d in [((5,), 0), ((2, 3), 1), ((2, 3), 0), ((2, 3, 4), -1), ((2, 3, 4), -2), ((1, 1), 0), ((3, 0), 0), ((2, 2, 2, 2, 2), 2)]:
                v = c.values(s, t)
                c.run(op, v, index(d, ti), output_type=to)
            ties = Value(np.array([[1, 1, 0], [0, 1, 1]]), t)
            c.run(op, ties, index(1, ti), output_type=to)
            if "float" in t:
                c.run(op, Value(np.array([[np.inf, 1, np.inf], [-np.inf, 0, -np.inf]]), t), index(1, ti), output_type=to)
            if t == "float32":
                for s, d in [((2, 3), 2), ((2, 3), -3), ((), 0), ((2, 0), 1), ((2, 3), [0, 1]), ((0,), 0)]:
                    both(c, op, c.values(s, t), index(d, ti), output_type=to)
            yield c


def cumulative():
    for op in ("Cumsum", "Cumprod"):
        for t, ti in usable(op, "T", "Tidx"):
            if ti == "int64" and t != "float32":
                continue
            c = Case("%s/%s/%s" % (op, t, ti))
            how = {"low": -2, "high": 2} if op == "Cumprod" and not t.startswith(("c", "b", "q")) else {}
            for i, (s, axis) in enumerate([((5,), 0), ((2, 3), 1), ((2, 3), 0), ((2, 3, 2), -2), ((0, 3), 0), ((1,), 0), ((2, 4), -1), ((3, 2), 1)]):
                c.run(op, c.values(s, t, **how), index(axis, ti), exclusive=i % 2 == 1, reverse=i % 4 > 1, scale=8.0)
            c.run(op, c.values((), t, **how), index(0, ti))
            for s, axis in [((2, 3), 2), ((2, 3), -3), ((2,), [0])] if t == "float32" else []:
                both(c, op, c.values(s, t, **how), index(axis, ti))
            yield c


def sums():
    for t in usable("AddN", "T"):
        c = Case("AddN/%s" % t)
        for s, n in [((3,), 1), ((2, 3), 2), ((), 3), ((0,), 2), ((2, 2), 9), ((4,), 12)]:
            c.run("AddN", [c.values(s, t) for _ in range(n)], scale=8.0)
        if t == "float32":
            both(c, "AddN", [c.values((2,), t), c.values((3,), t)])
            both(c, "AddN", [c.values((2,), t), c.values((), t)])
        yield c
    for t in usable("L2Loss", "T"):
        c = Case("L2Loss/%s" % t)
        for s in [(3,), (2, 3), (), (0,), (2, 2, 2, 2)]:
            c.run("L2Loss", c.values(s, t), scale=10.0)
        yield c


def cases():
    for family in (reductions, positions, cumulative, sums):
        yield from family()
