"""Rows gathered into segments, the largest of rows, summaries, and the complement of the error function."""
import numpy as np

from cases.arrays import both, i32, index, usable
from suite import Case

SEGMENTS = [((4,), [0, 1, 1, 0], 2), ((4, 2), [2, 0, -1, 2], 4), ((2, 3), [[0, 1, 0], [1, 2, -2]], 3), ((3, 2), [0, 0, 0], 1), ((0, 2), np.zeros((0,)), 2), ((), 1, 2), ((2, 0), [0, 1], 2), ((3,), [-1, -1, -1], 0)]
WRONG = [((3,), [0, 1, 2], 2), ((3,), [0, 1], 2), ((3,), [[0, 1, 1]], 2), ((3,), [0, 0, 0], -1), ((3,), [0, 0, 0], [2]), ((3, 2), [0, 5, 0], 2)]


def segments():
    for op in ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"):
        for t, ti in usable(op, "T", "Tindices"):
            if ti != "int32" and t not in ("float32", "int32"):
                continue
            c = Case("%s/%s/%s" % (op, t, ti))
            how = {"low": -2, "high": 2} if "float" in t or "int" in t else {}
            for s, ids, n in SEGMENTS:
                c.run(op, c.values(s, t, **how), index(ids, ti), i32(n), scale=4.0)
            for s, ids, n in WRONG if t in ("float32", "int32") else WRONG[:1]:
                both(c, op, c.values(s, t, **how), index(ids, ti), i32(n))
            yield c


def complements():
    for t in usable("Erfc", "T"):
        c = Case("Erfc/%s" % t)
        for s in ((), (3,), (2, 0), (33,)):
            c.run("Erfc", c.values(s, t, low=-4, high=4))
        yield c


def tops():
    for t, ti in usable("TopKV2", "T", "index_type"):
        if ti != "int32" and t != "float32":
            continue
        c = Case("TopKV2/%s/%s" % (t, ti))
        for s, k in [((5,), 3), ((2, 4), 4), ((2, 2, 3), 1), ((3,), 0), ((0, 3), 2), ((2, 0), 0), ((1, 30), 7)]:
            c.run("TopKV2", c.values(s, t), i32(k), index_type=ti)
        if t in ("float32", "int32"):
            for s, k in [((3,), 4), ((3,), -1), ((), 0), ((3,), [1]), ((), 1)]:
                both(c, "TopKV2", c.values(s, t), i32(k), index_type=ti)
        yield c


def summaries():
    for t in usable("ScalarSummary", "T"):
        c = Case("ScalarSummary/%s" % t)
        for a, b in [((), ()), ((3,), (3,)), ((2, 2), (2, 2)), ((0,), (0,)), ((1,), ()), ((2,), (3,))]:
            c.run("ScalarSummary", c.values(a, "string"), c.values(b, t))
        yield c


def cases():
    yield from summaries()
    yield from tops()
    yield from segments()
    yield from complements()
