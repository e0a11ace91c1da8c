"""Moving and shaping data: no arithmetic, so every result is exact."""
import numpy as np

from graphs import Value, declared, op_def, signatures
from suite import Case

WIDE = ("float32", "int32", "string")  # dtypes that get the long list of shapes; the others get a short one
SHAPES = [(), (3,), (2, 3), (0,), (2, 0, 3), (1, 2, 1, 2, 2, 1)]


def i32(x):
    return Value(np.array(x, np.int32), "int32")


def i64(x):
    return Value(np.array(x, np.int64), "int64")


def index(x, dtype):
    return Value(np.array(x, np.int64), dtype)


def usable(op, *attrs):
    """Signatures with a CPU kernel that the declaration allows and whose values can be fed and fetched."""
    out = []
    for s in signatures(op, *attrs):
        if not any(t in ("resource", "variant") for t in s) and all(t in declared_or_any(op, a, t) for t, a in zip(s, attrs)):
            out.append(s if len(s) > 1 else s[0])
    return out


def declared_or_any(op, attr, dtype):
    limited = next(a for a in op_def(op).attr if a.name == attr).allowed_values.list.type
    return declared(op, attr) if limited else [dtype]


def both(c, op, *args, **attrs):
    """As fed values and as constants: for misuse, which must fail alike."""
    c.run(op, *args, mode="feed", **attrs)
    c.run(op, *args, mode="const", **attrs)


def shapes(dtype):
    return SHAPES if dtype in WIDE else SHAPES[:3]


def identities():
    for op in ("Identity", "StopGradient", "PreventGradient", "ZerosLike", "OnesLike"):
        for t in usable(op, "T"):
            c = Case("%s/%s" % (op, t))
            for s in shapes(t):
                c.run(op, c.values(s, t), exact=True)
            yield c
    c = Case("IdentityN/mixed")
    c.run("IdentityN", [c.values((2, 3), "float32"), c.values((), "string"), c.values((0,), "int64")], exact=True)
    c.run("IdentityN", [c.values((2,), "bool")], mode="const", exact=True)
    yield c


def shape_ops():
    for op in ("Shape", "Size", "Rank"):
        for t in usable(op, "T"):
            c = Case("%s/%s" % (op, t))
            for s in shapes(t):
                if op == "Rank":
                    c.run(op, c.values(s, t))
                else:
                    c.run(op, c.values(s, t))
                    c.run(op, c.values(s, t), out_type="int64")
            yield c
    for t in usable("ShapeN", "T"):
        c = Case("ShapeN/%s" % t)
        c.run("ShapeN", [c.values((2, 3), t), c.values((), t), c.values((0, 4), t)])
        c.run("ShapeN", [c.values((5,), t)], out_type="int64")
        yield c
    for t, ti in usable("Reshape", "T", "Tshape"):
        c = Case("Reshape/%s/%s" % (t, ti))
        for a, b in [((2, 3), [3, 2]), ((), []), ((4,), [2, -1]), ((0, 3), [0, 5]), ((2, 0), [3, -1]), ((1,), []),
                     ((2, 3, 4), [-1]), ((2, 2, 2, 2), [1, 2, 1, 4, 2])][: None if t in WIDE else 3]:
            c.run("Reshape", c.values(a, t), index(b, ti), exact=True)
        if t in WIDE:
            for a, b in [((2, 3), [4]), ((2, 3), [-1, -1]), ((2, 3), [-2, 3]), ((2, 3), [-1, 4]), ((2, 3), [0, -1]),
                         ((2,), [[2]]), ((0,), [0, -1]), ((6,), 6), ((2, 3), [])]:
                both(c, "Reshape", c.values(a, t), index(b, ti))
        yield c
    for t, ti in usable("ExpandDims", "T", "Tdim"):
        c = Case("ExpandDims/%s/%s" % (t, ti))
        for s, d in [((), 0), ((2, 3), 1), ((2, 3), -1), ((2, 3), 2), ((2, 3), -3), ((0,), 0)][: None if t in WIDE else 3]:
            c.run("ExpandDims", c.values(s, t), index(d, ti), exact=True)
        if t in WIDE:
            c.run("ExpandDims", c.values((2,), t), index([1], ti), exact=True)
            for s, d in [((2, 3), 3), ((2, 3), -4), ((), 1), ((2,), [0, 1]), ((2,), np.zeros((0,)))]:
                both(c, "ExpandDims", c.values(s, t), index(d, ti))
        yield c
    for t in usable("Squeeze", "T"):
        c = Case("Squeeze/%s" % t)
        for s, d in [((1, 3, 1), []), ((1, 3, 1), [0]), ((1, 3, 1), [-1]), ((1, 1, 1), []), ((), []), ((2, 1, 3, 1), [1, 3]),
                     ((1, 0), [0])]:
            c.run("Squeeze", c.values(s, t), squeeze_dims=d, exact=True)
        if t in WIDE:
            for s, d in [((1, 3), [1]), ((1, 3), [2]), ((1, 3), [-3]), ((), [0])]:
                c.run("Squeeze", c.values(s, t), squeeze_dims=d)
        yield c


def joins():
    for t in usable("Pack", "T"):
        c = Case("Pack/%s" % t)
        for s, n, axis in [((2, 3), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, -1), ((), 3, 0), ((0, 2), 2, 1), ((2,), 1, -2)]:
            c.run("Pack", [c.values(s, t) for _ in range(n)], axis=axis, exact=True)
        if t in WIDE:
            both(c, "Pack", [c.values((2,), t), c.values((3,), t)], axis=0)
            both(c, "Pack", [c.values((2,), t)] * 2, axis=2)
            both(c, "Pack", [c.values((2,), t)] * 2, axis=-3)
        yield c
    for t in usable("Unpack", "T"):
        c = Case("Unpack/%s" % t)
        for s, axis in [((2, 3), 0), ((2, 3), 1), ((3,), -1), ((2, 3, 1), -3), ((2, 0), 0)]:
            c.run("Unpack", c.values(s, t), num=s[axis], axis=axis, exact=True)
        if t in WIDE:
            c.run("Unpack", c.values((0, 2), t), num=0, axis=0)
            both(c, "Unpack", c.values((2, 3), t), num=3, axis=0)
            both(c, "Unpack", c.values((2, 3), t), num=2, axis=2)
            both(c, "Unpack", c.values((), t), num=1, axis=0)
        yield c
    for t, ti in usable("ConcatV2", "T", "Tidx"):
        c = Case("ConcatV2/%s/%s" % (t, ti))
        rows = [([(2, 3), (1, 3)], 0), ([(2, 3), (2, 1)], 1), ([(2, 3), (2, 0)], -1), ([(2,), (0,), (3,)], 0),
                ([(2, 1, 2), (2, 4, 2), (2, 1, 2)], -2), ([(0, 3), (0, 3)], 1)]
        for ss, axis in rows[: None if t in WIDE else 3]:
            c.run("ConcatV2", [c.values(s, t) for s in ss], index(axis, ti), exact=True)
        if t in WIDE:
            for ss, axis in [([(2,), (3,)], 1), ([(2,), (3,)], -2), ([(2, 3), (3, 3)], 1), ([(2, 3), (3,)], 0), ([(), ()], 0),
                             ([(2,), (3,)], [0]), ([(2,), (3,)], [0, 0])]:
                both(c, "ConcatV2", [c.values(s, t) for s in ss], index(axis, ti))
            c.run("ConcatV2", [c.values((2,), t)] * 2, index(0xB500005B - 2**32, "int32"), mode="feed")
        yield c
    for t in usable("Concat", "T"):
        c = Case("Concat/%s" % t)
        for ss, axis in [([(2, 3), (1, 3)], 0), ([(2, 3), (2, 1)], 1), ([(2, 3), (2, 0)], -1)]:
            c.run("Concat", i32(axis), [c.values(s, t) for s in ss], exact=True)
        if t in WIDE:
            both(c, "Concat", i32(2), [c.values((2, 3), t)] * 2)
        yield c
    for t in ("int32", "int64"):
        c = Case("ConcatOffset/%s" % t)
        for axis, ss in [(1, [[2, 2, 7], [2, 3, 7], [2, 5, 7]]), (0, [[1], [4]]), (-1, [[2, 2], [2, 3]]), (2, [[2], [3]]),
                         (0, [[2, 2], [2, 3]]), (0, [[2], [2, 3]]), (-4, [[1], [2]])]:
            c.run("ConcatOffset", i32(axis), [index(s, t) for s in ss], **({} if t == "int32" else {"shape_type": t}))
        yield c


def parts():
    for t in usable("Split", "T"):
        c = Case("Split/%s" % t)
        for axis, s, n in [(0, (4, 3), 2), (1, (2, 6), 3), (-1, (2, 4), 4), (0, (0, 2), 2), (1, (2, 3, 2), 1), (0, (6,), 3)]:
            c.run("Split", i32(axis), c.values(s, t), num_split=n, exact=True)
        if t in WIDE:
            for axis, s, n in [(0, (5,), 2), (2, (2, 2), 2), (-3, (2, 2), 2), ([0], (4,), 2), (0, (), 1)]:
                both(c, "Split", i32(axis), c.values(s, t), num_split=n)
            c.run("Split", i32(0), c.values((4,), t), num_split=0, mode="feed")
        yield c
    for t, tl in usable("SplitV", "T", "Tlen"):
        if t not in WIDE and tl != "int64":
            continue
        c = Case("SplitV/%s/%s" % (t, tl))
        for s, sizes, axis in [((6,), [1, 2, 3], 0), ((2, 5), [2, -1], 1), ((4, 2), [0, 4], -2), ((3,), [3], 0), ((0, 3), [1, 2], 1)]:
            c.run("SplitV", c.values(s, t), index(sizes, tl), i32(axis), num_split=len(sizes), exact=True)
        if t in WIDE:
            for s, sizes, axis in [((6,), [1, 2], 0), ((6,), [-1, -1], 0), ((6,), [7, -1], 0), ((6,), [-2, 8], 0), ((6,), [3, 3], 1)]:
                both(c, "SplitV", c.values(s, t), index(sizes, tl), i32(axis), num_split=2)
            both(c, "SplitV", c.values((6,), t), index([6], tl), i32(0), num_split=2)
        yield c
    for t, ti in usable("Slice", "T", "Index"):
        c = Case("Slice/%s/%s" % (t, ti))
        rows = [((4,), [1], [2]), ((3, 4), [1, 0], [-1, 2]), ((2, 3, 4), [0, 1, 2], [2, -1, 1]), ((4,), [4], [0]), ((4,), [2], [-1]),
                ((), [], []), ((0, 3), [0, 1], [0, 2]), ((2, 2, 2, 2, 2), [0, 1, 0, 1, 0], [1, 1, 2, 1, -1])]
        for s, b, n in rows[: None if t in WIDE else 3]:
            c.run("Slice", c.values(s, t), index(b, ti), index(n, ti), exact=True)
        if t in WIDE:
            for s, b, n in [((4,), [3], [2]), ((4,), [-1], [1]), ((4,), [5], [0]), ((4,), [0], [-2]), ((4,), [0, 0], [1, 1]), ((2, 2), [0], [1]),
                            ((4,), [[0]], [[1]])]:
                both(c, "Slice", c.values(s, t), index(b, ti), index(n, ti))
        yield c


MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def strided_slices():
    fixed = [((5,), [1], [4], [2], {}), ((5,), [4], [0], [-1], {}), ((5,), [0], [0], [-2], {"end_mask": 1}), ((5,), [-2], [9], [1], {}),
             ((3, 4), [1], [2], [1], {"shrink_axis_mask": 1}), ((3, 4), [-1, 0], [0, 3], [1, 1], {"shrink_axis_mask": 1}),
             ((2, 3, 4), [0, 1], [0, 2], [1, 1], {"ellipsis_mask": 1}), ((2, 3), [0, 0, 0], [0, 2, 3], [1, 1, 2], {"new_axis_mask": 1}),
             ((4,), [3], [1], [1], {}), ((0, 2), [0], [5], [1], {}), ((), [], [], [], {}), ((2, 3, 4), [0, 0], [1, 1], [1, 1], {"begin_mask": 3, "end_mask": 3}),
             ((2, 3), [0, 0, 1], [0, 0, 2], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}), ((6,), [5], [-7], [-2], {"begin_mask": 1})]
    wrong = [((5,), [0], [5], [0], {}), ((3, 4), [3], [4], [1], {"shrink_axis_mask": 1}), ((3,), [0, 0], [1, 1], [1, 1], {}),
             ((3, 3), [0, 0], [1, 1], [1, 1], {"ellipsis_mask": 3}), ((3,), [0], [1], [-1], {"shrink_axis_mask": 1}), ((3,), [0], [1, 2], [1], {}),
             ((3,), [[0]], [[1]], [[1]], {}), ((3,), [-4], [0], [1], {"shrink_axis_mask": 1})]
    for t, ti in usable("StridedSlice", "T", "Index"):
        if t not in WIDE and ti == "int16":
            continue
        c = Case("StridedSlice/%s/%s" % (t, ti))
        rows = list(fixed[: None if t in WIDE else 5])
        for _ in range(14 if t in WIDE else 2):
            rank = int(c.rng.integers(1, 6))
            n = int(c.rng.integers(1, rank + 1))
            strides = [int(x) for x in c.rng.choice([1, 1, 2, -1, -2, 3], n)]
            masks = {m: int(c.rng.integers(0, 1 << n)) for m in ("begin_mask", "end_mask")}
            if c.rng.random() < 0.4:
                masks["ellipsis_mask"] = 1 << int(c.rng.integers(0, n))
            if c.rng.random() < 0.4:
                masks["new_axis_mask"] = 1 << int(c.rng.integers(0, n))
            s = [int(x) for x in c.rng.integers(1, 4, rank)]
            rows.append((s, [int(x) for x in c.rng.integers(-3, 3, n)], [int(x) for x in c.rng.integers(-3, 5, n)], strides, masks))
        for s, b, e, st, masks in rows:
            c.run("StridedSlice", c.values(s, t), index(b, ti), index(e, ti), index(st, ti), exact=True, **masks)
        if t in WIDE:
            for s, b, e, st, masks in wrong:
                both(c, "StridedSlice", c.values(s, t), index(b, ti), index(e, ti), index(st, ti), **masks)
        yield c
    for t, ti in usable("StridedSliceGrad", "T", "Index"):
        if t not in WIDE and ti == "int64":
            continue
        c = Case("StridedSliceGrad/%s/%s" % (t, ti))
        c.run("StridedSliceGrad", index([5], ti), index([1], ti), index([4], ti), index([2], ti), c.values((2,), t), exact=True)
        c.run("StridedSliceGrad", index([3, 4], ti), index([1], ti), index([2], ti), index([1], ti), c.values((4,), t), shrink_axis_mask=1, exact=True)
        c.run("StridedSliceGrad", index([3, 4], ti), index([0, 3], ti), index([3, 0], ti), index([1, -2], ti), c.values((3, 2), t), exact=True)
        both(c, "StridedSliceGrad", index([5], ti), index([1], ti), index([4], ti), index([1], ti), c.values((2,), t))
        yield c


def gathers():
    for t, ti in usable("GatherV2", "Tparams", "Tindices"):
        if t not in WIDE and ti != "int32":
            continue
        c = Case("GatherV2/%s/%s" % (t, ti))
        rows = [((5,), [0, 4, 2], 0, 0), ((3, 4), [[2, 0], [1, 1]], 1, 0), ((3, 4), 1, 0, 0), ((2, 3, 2), [2], -2, 0), ((3, 0), [1], 0, 0),
                ((3,), np.zeros((0,)), 0, 0), ((2, 3, 4), [[1, 0], [3, 2]], 2, 1), ((2, 4), [[0, 3, 3], [1, 1, 2]], 1, 1), ((2, 3, 4), [[0], [2]], 1, -1)]
        for s, i, axis, batch in rows[: None if t in WIDE else 3]:
            c.run("GatherV2", c.values(s, t), index(i, ti), i32(axis), batch_dims=batch, exact=True)
        if t in WIDE:
            for s, i, axis, batch in [((5,), [5], 0, 0), ((5,), [-1], 0, 0), ((3, 4), [0], 2, 0), ((3, 4), [0], -3, 0), ((), [0], 0, 0), ((2, 3), [[0]], 1, 1),
                                      ((2, 3), [0, 1], 0, 1), ((2, 3), [[0], [1]], 1, 3), ((0,), [0], 0, 0)]:
                both(c, "GatherV2", c.values(s, t), index(i, ti), i32(axis), batch_dims=batch)
            both(c, "GatherV2", c.values((3,), t), index([0], ti), i32([0]))
        yield c
    for t, ti in usable("Gather", "Tparams", "Tindices"):
        if t not in WIDE and ti != "int64":
            continue
        c = Case("Gather/%s/%s" % (t, ti))
        for s, i in [((5,), [0, 4, 2]), ((3, 4), [[2, 0], [1, 1]]), ((3, 2), 1)]:
            c.run("Gather", c.values(s, t), index(i, ti), exact=True)
        if t in WIDE:
            both(c, "Gather", c.values((3,), t), index([3], ti))
            both(c, "Gather", c.values((3,), t), index([0, -1], ti))
        yield c


def repeats():
    for t, ti in usable("Tile", "T", "Tmultiples"):
        c = Case("Tile/%s/%s" % (t, ti))
        rows = [((2,), [3]), ((2, 3), [2, 1]), ((1, 2), [3, 2]), ((), []), ((2, 3), [0, 2]), ((2, 1, 3), [1, 2, 2]), ((0, 2), [2, 2])]
        for s, m in rows[: None if t in WIDE else 3]:
            c.run("Tile", c.values(s, t), index(m, ti), exact=True)
        if t in WIDE:
            for s, m in [((2,), [-1]), ((2,), [1, 1]), ((2, 3), [2]), ((2,), [[2]])]:
                both(c, "Tile", c.values(s, t), index(m, ti))
        yield c
    for t, ti in usable("Fill", "T", "index_type"):
        c = Case("Fill/%s/%s" % (t, ti))
        for s in [[2, 3], [], [0], [4]][: None if t in WIDE else 2]:
            c.run("Fill", index(s, ti), c.values((), t), exact=True)
        if t in WIDE:
            both(c, "Fill", index([-1], ti), c.values((), t))
            both(c, "Fill", index([2], ti), c.values((2,), t))
            both(c, "Fill", index([[2]], ti), c.values((), t))
            both(c, "Fill", index(2, ti), c.values((), t))
        yield c
    for t, ti in usable("BroadcastTo", "T", "Tidx"):
        if t not in WIDE and ti == "int64":
            continue
        c = Case("BroadcastTo/%s/%s" % (t, ti))
        rows = [((3,), [2, 3]), ((), [2, 2]), ((2, 1), [2, 4]), ((1, 3), [0, 3]), ((2, 1, 2), [3, 2, 4, 2]), ((2,), [2])]
        for s, b in rows[: None if t in WIDE else 3]:
            c.run("BroadcastTo", c.values(s, t), index(b, ti), exact=True)
        if t in WIDE:
            for s, b in [((3,), [2]), ((2, 3), [3]), ((3,), [3, 2]), ((2,), [-1])]:
                both(c, "BroadcastTo", c.values(s, t), index(b, ti))
        yield c
    for ti in ("int32", "int64"):
        c = Case("BroadcastArgs/%s" % ti)
        g = Case("BroadcastGradientArgs/%s" % ti)
        for a, b in [([2, 3], [3]), ([], [4]), ([2, 1], [1, 3]), ([1, 1], [1]), ([2, 3, 4], [3, 1]), ([0, 1], [3]), ([2], [3]), ([[2]], [2]), (2, [2])]:
            c.run("BroadcastArgs", index(a, ti), index(b, ti))
            g.run("BroadcastGradientArgs", index(a, ti), index(b, ti))
        yield c
        yield g


def pads():
    for op in ("Pad", "PadV2"):
        for t, ti in usable(op, "T", "Tpaddings"):
            if t not in WIDE and ti == "int64":
                continue
            c = Case("%s/%s/%s" % (op, t, ti))

            def pad(s, p, run=c.run, fill=()):
                run(op, c.values(s, t), index(np.array(p).reshape(-1, 2) if len(np.shape(p)) < 2 else p, ti),
                    *([c.values(fill, t)] if op == "PadV2" else []), exact=True)

            rows = [((3,), [[1, 2]]), ((2, 3), [[0, 1], [2, 0]]), ((2, 1, 2), [[1, 1], [0, 0], [0, 2]]), ((), []), ((0, 2), [[1, 0], [0, 1]]),
                    ((2, 2, 2, 2), [[0, 1], [1, 0], [0, 0], [2, 1]]), ((2, 2), [[0, 0], [0, 0]])]
            for s, p in rows[: None if t in WIDE else 3]:
                pad(s, p)
            if t in WIDE:
                for s, p in [((3,), [[-1, 2]]), ((3,), [[1, 2], [0, 0]]), ((2, 3), [[1, 2]]), ((2,), [[1, 2, 3]])]:
                    both(c, op, c.values(s, t), index(p, ti), *([c.values((), t)] if op == "PadV2" else []))
                if op == "PadV2":
                    both(c, op, c.values((2,), t), index([[1, 1]], ti), c.values((1,), t))
            yield c
    for op in ("MirrorPad", "MirrorPadGrad"):
        for t, ti in usable(op, "T", "Tpaddings"):
            if t not in WIDE and ti == "int64":
                continue
            c = Case("%s/%s/%s" % (op, t, ti))
            grow = 0 if op == "MirrorPad" else 1
            for mode in ("REFLECT", "SYMMETRIC"):
                for s, p in [((4,), [[1, 2]]), ((3, 4), [[1, 2], [2, 0]]), ((2, 3, 2), [[0, 1], [2, 2], [1, 1]]), ((3, 3), [[0, 0], [0, 0]])]:
                    s2 = tuple(n + grow * sum(q) for n, q in zip(s, p))
                    run_mode(c, op, s2, p, t, ti, mode)
                if t in WIDE:
                    for s, p in [((3,), [[3, 0]]), ((3,), [[0, 4]]), ((3,), [[-1, 0]]), ((3,), [[1, 1], [0, 0]])]:
                        run_mode(c, op, s, p, t, ti, mode)
            yield c


def run_mode(c, op, shape, paddings, t, ti, mode):
    """`mode` is an attribute here as well as an argument of Case.run."""
    c.run(op, c.values(shape, t), index(paddings, ti), exact=op == "MirrorPad", attrs={"mode": mode})


def transposes():
    for t, ti in usable("Transpose", "T", "Tperm"):
        c = Case("Transpose/%s/%s" % (t, ti))
        rows = [((2, 3), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [0, 2, 1]), ((), []), ((3,), [0]), ((1, 3, 1), [2, 1, 0]), ((0, 3), [1, 0]),
                ((2, 3, 2, 3), [3, 2, 1, 0]), ((1, 2, 3, 2, 1, 2), [5, 3, 1, 0, 2, 4]), ((2, 3, 4), [-1, 0, 1]), ((5, 7), [1, 0]), ((2, 2, 2, 2, 2), [4, 0, 3, 1, 2])]
        for s, p in rows[: None if t in WIDE else 3]:
            c.run("Transpose", c.values(s, t), index(p, ti), exact=True)
        if t in WIDE:
            for s, p in [((2, 3), [0, 0]), ((2, 3), [0]), ((2, 3), [0, 2]), ((2, 3), [0, -10]), ((2, 3), [[0, 1]]), ((), [0])]:
                both(c, "Transpose", c.values(s, t), index(p, ti))
        yield c
    for t in ("complex64", "float32"):
        c = Case("ConjugateTranspose/%s" % t)
        c.run("ConjugateTranspose", c.values((2, 3), t), i32([1, 0]), exact=True)
        c.run("ConjugateTranspose", c.values((), t), i32(np.zeros(0)), exact=True)
        yield c
    for ti in usable("InvertPermutation", "T"):
        c = Case("InvertPermutation/%s" % ti)
        for p in ([2, 0, 1], [0], np.zeros((0,)), [3, 2, 1, 0]):
            c.run("InvertPermutation", index(p, ti))
        for p in ([0, 0], [0, 2], [-1, 0], [[0, 1]], 0):
            both(c, "InvertPermutation", index(p, ti))
        yield c


def selections():
    for op in ("Select", "SelectV2"):
        for t in usable(op, "T"):
            c = Case("%s/%s" % (op, t))
            rows = [((3,), (3,), (3,)), ((), (2, 2), (2, 2)), ((2, 3), (2, 3), (2, 3)), ((0,), (0,), (0,))]
            if op == "Select":
                rows += [((2,), (2, 3), (2, 3))]
                wrong = [((2,), (3, 2), (3, 2)), ((3,), (3,), (2,)), ((2, 3), (3,), (3,)), ((2,), (), ())]
            else:
                rows += [((2, 1), (3,), (2, 3)), ((3,), (), (2, 3)), ((), (2,), ()), ((2, 1, 1), (1, 2, 1), (1, 1, 2)), ((1, 3), (0, 3), ())]
                wrong = [((2,), (3,), (3,)), ((2, 3), (2,), ())]
            for p, a, b in rows:
                c.run(op, c.values(p, "bool"), c.values(a, t), c.values(b, t), exact=True)
            if t in WIDE:
                for p, a, b in wrong:
                    both(c, op, c.values(p, "bool"), c.values(a, t), c.values(b, t))
            yield c
    for t in usable("Where", "T"):
        c = Case("Where/%s" % t)
        for s in [(5,), (2, 3), (0,), (2, 2, 2), (), (2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 2)]:
            c.run("Where", c.values(s, t, **({"low": 0, "high": 2} if "int" in t else {})))
        yield c
    for t, ti in usable("OneHot", "T", "TI"):
        if t not in WIDE and ti != "int32":
            continue
        c = Case("OneHot/%s/%s" % (t, ti))
        for i, depth, axis in [([0, 2, 1], 3, -1), ([[0, 1], [2, 5]], 3, 1), (1, 4, -1), ([0, 1], 2, 0), (np.zeros((0,)), 3, -1), ([0], 0, -1)]:
            c.run("OneHot", index(i, ti), i32(depth), c.values((), t), c.values((), t), axis=axis, exact=True)
        if ti != "uint8":
            c.run("OneHot", index([-1, 1], ti), i32(3), c.values((), t), c.values((), t), exact=True)
        if t in WIDE:
            both(c, "OneHot", index([0], ti), i32(-1), c.values((), t), c.values((), t))
            both(c, "OneHot", index([0], ti), i32([2]), c.values((), t), c.values((), t))
            both(c, "OneHot", index([0], ti), i32(2), c.values((2,), t), c.values((), t))
            both(c, "OneHot", index([0], ti), i32(2), c.values((), t), c.values((), t), axis=3)
        yield c


def stitches():
    for t in usable("DynamicStitch", "T"):
        c = Case("DynamicStitch/%s" % t)
        c.run("DynamicStitch", [i32([0, 2]), i32([1, 3])], [c.values((2,), t), c.values((2,), t)], exact=True)
        c.run("DynamicStitch", [i32(1), i32([[0, 2], [3, 1]])], [c.values((2,), t), c.values((2, 2, 2), t)], exact=True)
        c.run("DynamicStitch", [i32(np.zeros(0))], [c.values((0, 2), t)], exact=True)
        if t in WIDE:
            both(c, "DynamicStitch", [i32([0, 1])], [c.values((3,), t)])
            both(c, "DynamicStitch", [i32([-1, 1])], [c.values((2,), t)])
            both(c, "DynamicStitch", [i32([0]), i32([1])], [c.values((1, 2), t), c.values((1, 3), t)])
        yield c


def ranges():
    for t in usable("Range", "Tidx"):
        c = Case("Range/%s" % t)
        rows = [(0, 5, 1), (2, 10, 3), (5, 0, -2), (3, 3, 1), (0, 1, 4)]
        if "float" in t:
            rows += [(0, 1, 0.25), (1, -1, -0.5), (0.1, 0.9, 0.2)]
        for a, b, d in rows:
            c.run("Range", *(Value(np.array(x), t) for x in (a, b, d)))
        for a, b, d in [(0, 5, 0), (0, 5, -1), (5, 0, 1)]:
            both(c, "Range", *(Value(np.array(x), t) for x in (a, b, d)))
        both(c, "Range", Value([0], t), Value([1, 2], t), Value(1, t))
        if t in ("float32", "float64"):
            both(c, "Range", Value(-1e38, t), Value(1, t), Value(1e-30, t))
            both(c, "Range", Value(0, t), Value(np.nan, t), Value(1, t))
        if t == "int64":
            both(c, "Range", Value(-(2**63), t), Value(2**63 - 1, t), Value(1, t))
        yield c


def cases():
    for family in (identities, shape_ops, joins, parts, strided_slices, gathers, repeats, pads, transposes, selections, stitches, ranges):
        yield from family()
