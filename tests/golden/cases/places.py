"""Places in tensors: blocks moved, slices named by coordinates, rows of variables, sequences turned round."""
import numpy as np

from cases.arrays import WIDE, both, i32, i64, index, usable
from cases.state import Life
from graphs import Value, signatures
from suite import Case

BLOCKS = [((1, 4, 2, 1), [2, 2], [[0, 0], [0, 0]]), ((2, 3, 2), [2], [[1, 0]]), ((2, 4), [2], [[0, 0]]), ((1, 2, 3, 2), [1, 3], [[0, 0], [2, 1]]),
          ((3, 2), [1], [[0, 0]]), ((2, 1, 5), [1, 2], [[1, 1], [0, 1]]), ((0, 4), [2], [[0, 0]]), ((1, 0, 2), [2], [[1, 1]]), ((2, 3), [], np.zeros((0, 2)))]
WRONG_BLOCKS = [((1, 3), [2], [[0, 0]]), ((1, 4), [0], [[0, 0]]), ((1, 4), [-2], [[0, 0]]), ((1, 4), [2], [[-1, 1]]), ((1, 4), [2, 2], [[0, 0], [0, 0]]),
                ((1, 4), [2], [[0, 0], [0, 0]]), ((1, 4), [2], [0, 0]), ((1, 4), [[2]], [[0, 0]]), ((4,), [2], [[0, 0]]), ((1, 4), [-1], [[0, 0]]),
                ((1, 2, 2, 2, 2, 2), [2] * 5, [[0, 0]] * 5), ((2, 2, 2), [-1, -1], [[0, 0]] * 2)]


def into_batch(shape, blocks, margins):
    """The shape on the side with many batches."""
    out = list(shape)
    for i, (b, m) in enumerate(zip(np.ravel(blocks), np.reshape(margins, (-1, 2)))):
        if b > 0 and i + 1 < len(out):
            out[i + 1] = int((out[i + 1] + m[0] + m[1]) // b)
            out[0] = int(out[0] * b)
    return tuple(max(n, 0) for n in out)


def block_moves():
    for op in ("SpaceToBatchND", "BatchToSpaceND"):
        margin = "Tpaddings" if op == "SpaceToBatchND" else "Tcrops"
        for t, tb, tm in usable(op, "T", "Tblock_shape", margin):
            if (tb, tm) != ("int32", "int32") and t != "float32":
                continue
            c = Case("%s/%s/%s/%s" % (op, t, tb, tm))
            for s, b, m in BLOCKS[: None if t in WIDE else 4]:
                c.run(op, c.values(s if op == "SpaceToBatchND" else into_batch(s, b, m), t), index(b, tb), index(np.reshape(m, (-1, 2)), tm), exact=True)
            if t in WIDE and tb == tm == "int32":
                for s, b, m in WRONG_BLOCKS:
                    both(c, op, c.values(s, t), index(b, tb), index(m, tm))
                if op == "BatchToSpaceND":
                    for s, b, m in [((3, 2), [2], [[0, 0]]), ((2, 2), [2], [[3, 2]]), ((2, 2), [2], [[2, 2]])]:
                        both(c, op, c.values(s, t), index(b, tb), index(m, tm))
            yield c
    for op in ("SpaceToBatch", "BatchToSpace"):
        margin = "Tpaddings" if op == "SpaceToBatch" else "Tidx"
        for t, tm in usable(op, "T", margin):
            if t not in ("float32", "int8") or (tm == "int64" and t != "float32"):
                continue
            c = Case("%s/%s/%s" % (op, t, tm))
            for s, b, m in [((1, 4, 2, 1), 2, [[0, 0], [0, 0]]), ((2, 3, 5, 2), 3, [[0, 0], [1, 0]]), ((0, 2, 2, 1), 2, [[0, 0], [0, 0]])]:
                c.run(op, c.values(s if op == "SpaceToBatch" else into_batch(s, [b, b], m), t), index(m, tm), block_size=b, exact=True)
            for s, m in [((1, 3, 2, 1), [[0, 0], [0, 0]]), ((4, 2, 2), [[0, 0], [0, 0]]), ((4, 1, 1, 1), [[2, 2], [0, 0]]), ((1, 2, 2, 1), [[-2, 2], [0, 0]]), ((4, 2, 2, 1), [[0, 0]])]:
                both(c, op, c.values(s, t), index(m, tm), block_size=2)
            yield c
    for op in ("SpaceToDepth", "DepthToSpace"):
        for t in usable(op, "T"):
            c = Case("%s/%s" % (op, t))
            for s, b in [((1, 2, 4, 4), 2), ((2, 4, 2, 4), 2), ((1, 3, 3, 9), 3), ((0, 2, 2, 4), 2), ((1, 0, 2, 4), 2)][: None if t in WIDE else 2]:
                c.run(op, c.values(s, t), block_size=b, exact=True)
            if t in WIDE:
                for s, b in [((1, 3, 2, 3), 2), ((2, 2, 4), 2), ((1, 2, 3, 2), 2), ((1, 2, 2, 4, 1), 2)]:
                    c.run(op, c.values(s, t), block_size=b)
                c.run(op, c.values((1, 2, 2, 4), t), block_size=1, mode="feed")
            yield c


GATHERS = [((3, 4), [[2, 3], [0, 0]]), ((3, 4), [[1], [1]]), ((3, 4), [2]), ((3, 4), [2, 1]), ((2, 3, 2), [[[0, 1]], [[1, 2]]]), ((3, 4), np.zeros((2, 0))),
           ((3,), np.zeros((0, 1))), ((0, 3), np.zeros((0, 1))), ((2, 2, 2, 2, 2), [[0, 1, 0, 1, 1]]), ((3, 0), np.zeros((0, 1))), ((2, 0), np.zeros((0,)))]
WRONG_GATHERS = [((3, 4), [[3, 0]]), ((3, 4), [[0, -1]]), ((3,), [[0, 0]]), ((), [[0]]), ((3,), 0), ((3, 0), [[1]]), ((0,), [[0]])]


def gathers():
    for t, ti in usable("GatherNd", "Tparams", "Tindices"):
        if t not in WIDE and ti != "int32" or t.startswith(("q", "float8")):
            continue
        c = Case("GatherNd/%s/%s" % (t, ti))
        for s, i in GATHERS[: None if t in WIDE else 3]:
            c.run("GatherNd", c.values(s, t), index(i, ti), exact=True)
        if t in WIDE:
            for s, i in WRONG_GATHERS:
                both(c, "GatherNd", c.values(s, t), index(i, ti))
            for policy in ("IGNORE", "ERROR", "DEFAULT"):
                c.run("GatherNd", c.values((3, 2), t), index([[1], [5], [-1]], ti), bad_indices_policy=policy, mode="feed", exact=True)
        yield c


# (shape, indices, shape of updates)
SCATTERS = [((4,), [[1], [3], [1]], (3,)), ((3, 2), [[2], [0]], (2, 2)), ((3, 2), [[2, 1], [0, 0], [2, 1]], (3,)), ((2, 2, 3), [[[1, 0]], [[1, 1]]], (2, 1, 3)),
            ((4,), np.zeros((0, 1)), (0,)), ((0, 2), np.zeros((0, 1)), (0, 2)), ((2, 3), [[[1]]], (1, 1, 3))]
WRONG_SCATTERS = [((4,), [[4]], (1,)), ((4,), [[-1]], (1,)), ((4,), [[0]], (2,)), ((4,), [[0]], ()), ((4, 2), [[0]], (1, 3)), ((4,), [[0, 0]], (1,)), ((4,), 0, ()), ((4,), [1], (1,)),
                  ((4, 2), [1, 2], (2, 2)), ((4,), [1, 2], (2,)), ((0, 2), [[0]], (1, 2)), ((3, 0), [[0]], (1, 0)), ((2,), np.zeros((3, 0)), (3, 2)), ((2, 3), [1], (3,)), ((4,), 0, (1,))]


def scatters():
    for t, ti in usable("ScatterNd", "T", "Tindices"):
        if t not in WIDE and ti != "int32":
            continue
        c = Case("ScatterNd/%s/%s" % (t, ti))
        for s, i, u in SCATTERS[: None if t in WIDE else 3]:
            c.run("ScatterNd", index(i, ti), c.values(u, t), index(s, ti))
        if t in WIDE:
            for s, i, u in WRONG_SCATTERS:
                both(c, "ScatterNd", index(i, ti), c.values(u, t), index(s, ti))
            both(c, "ScatterNd", index([[0]], ti), c.values((1,), t), index([-1], ti))
            both(c, "ScatterNd", index([[0]], ti), c.values((1,), t), index(3, ti))
            c.run("ScatterNd", index([[0], [9], [1]], ti), c.values((3,), t), index([2], ti), bad_indices_policy="IGNORE", mode="feed")
            c.run("ScatterNd", index([[0]], ti), c.values((1,), t), index([2], ti), bad_indices_policy="PERHAPS", mode="feed")
        yield c
    for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "ScatterNdNonAliasingAdd"):
        for t, ti in usable(op, "T", "Tindices"):
            if t not in WIDE and ti != "int32":
                continue
            c = Case("%s/%s/%s" % (op, t, ti))
            for s, i, u in SCATTERS[: None if t in WIDE else 3]:
                if op == "TensorScatterUpdate":  # which of several updates of one place stays is nobody's promise
                    i = np.unique(np.reshape(i, (-1, np.shape(i)[-1])), axis=0).reshape((-1,) + np.shape(i)[1:]) if np.size(i) else i
                    u = (len(i),) + u[1:]
                c.run(op, c.values(s, t), index(i, ti), c.values(u, t))
            if t in WIDE and ti == "int32":
                for s, i, u in WRONG_SCATTERS + [((), [[0]], (1,))]:
                    if op == "ScatterNdNonAliasingAdd" and np.ndim(i) < 2:  # TensorFlow takes the first of them only, or reads out of range
                        continue
                    both(c, op, c.values(s, t), index(i, ti), c.values(u, t))
                c.run(op, c.values((2,), t), index([[0], [9], [1]], ti), c.values((3,), t), bad_indices_policy="IGNORE", mode="feed")
            yield c


def filled(c, t, shape, resource):
    """A variable `v` that step 0 fills, with nodes `read` and placeholders `i` and `u`."""
    (c.handle if resource else c.variable)("v", t, shape)
    c.fed("x", t)
    c.graph.node("set", "AssignVariableOp" if resource else "Assign", ["v", "x"], **{"dtype" if resource else "T": t})


def variable_scatters():
    for op in ("ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin",
               "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin"):
        for resource in (False, True):
            name = ("Resource" if resource else "") + op
            attr = "dtype" if resource and "Nd" not in op else "T"
            for t, ti in usable(name, attr, "Tindices"):
                if t not in ("float32", "string") and ti != "int32":
                    continue
                yield variable_scatter(op, name, resource, attr, t, ti)


def variable_scatter(op, name, resource, attr, t, ti):
    c = Life("%s/%s/%s" % (name, t, ti))
    filled(c, t, (3, 2), resource)
    c.fed("i", ti)
    c.fed("u", t)
    c.graph.node("change", name, ["v", "i", "u"], **{attr: t, "Tindices": ti})
    fetch, target = ([], ["change"]) if resource else (["change:0"], [])
    nd = "Nd" in op
    update = "Update" in op

    def change(i, u, run=c.step):
        u = c.values(u, t)
        if "Div" in op and "int" in t:
            u.array[u.array == 0] = 1
        if "Mul" in op and t.startswith("u"):
            u.array %= 3
        run([("i:0", index(i, ti)), ("u:0", u)], fetch, target, exact=not t.startswith("complex"), tolerance=(1e-5, 1e-5))

    change([[0]] if nd else [0], (1, 2))
    start = c.values((3, 2), t)
    c.step([("x:0", start)], [], ["set"])
    if nd:
        good = [([[1]], (1, 2)), ([[0, 1], [2, 0]], (2,)), ([[2, 1]] if update else [[2, 1], [2, 1]], (1,) if update else (2,)), ([1], (1, 2)), (np.zeros((0, 1)), (0, 2)), ([[[0]], [[2]]], (2, 1, 2))]
        bad = [([[3]], (1, 2)), ([[0, -1]], (1,)), ([[0]], (1, 3)), ([[0, 0, 0]], (1,)), ([[0]], (2, 2)), ([[0]], ()), ([[0]], (1,))]
        good.append((np.zeros((1, 0)), (1, 3, 2)))
    else:
        good = [([1], (1, 2)), ([0, 2] if update else [0, 2, 0], (2, 2) if update else (3, 2)), (2, (2,)), (np.zeros((0,)), (0, 2)), ([[2], [0]], (2, 1, 2)), ([1, 0], ()), (1, ())]
        bad = [([3], (1, 2)), ([-1], (1, 2))]
        if not resource:
            bad += [([0], (1, 3)), ([0], (2, 2)), ([0], (2,)), ([0], (1, 2, 1))]
        else:
            bad += [([0, 1], (1, 2))]
    for i, u in good if t in ("float32", "string", "bool") else good[:3]:
        change(i, u)
        c.step([], ["v/read:0"], exact=not t.startswith("complex"), tolerance=(1e-5, 1e-5))
    for i, u in bad if t in ("float32", "string") else bad[:1]:
        change(i, u)
    return c


def variable_gathers():
    for op in ("ResourceGather", "ResourceGatherNd"):
        for t, ti in usable(op, "dtype", "Tindices"):
            if t not in WIDE and ti != "int32" or t.startswith("q"):
                continue
            c = Life("%s/%s/%s" % (op, t, ti))
            filled(c, t, None, True)
            c.fed("i", ti)
            for batch in (0, 1, -1, 2) if op == "ResourceGather" else (0,):
                c.graph.node("g%d" % batch, op, ["v", "i"], dtype=t, Tindices=ti, **({"batch_dims": batch} if op == "ResourceGather" else {}))
            c.step([("i:0", index([0], ti))], ["g0:0"])
            tables = GATHERS + WRONG_GATHERS if op == "ResourceGatherNd" else [
                ((5,), [0, 4, 2]), ((3, 4), [[2, 0], [1, 1]]), ((3, 4), 1), ((3, 0), [1]), ((3,), np.zeros((0,))), ((3,), [3]), ((3,), [-1]), ((), [0]), ((0,), [0]), ((0, 2), np.zeros((0,)))]
            for s, i in tables[: None if t in WIDE else 3]:
                c.step([("x:0", c.values(s, t))], [], ["set"])
                c.step([("i:0", index(i, ti))], ["g0:0"], exact=True)
            if op == "ResourceGather" and t in WIDE:
                c.step([("x:0", c.values((2, 3, 2), t))], [], ["set"])
                c.step([("i:0", index([[2, 0], [1, 1]], ti))], ["g1:0"], exact=True)
                c.step([("i:0", index([[2], [0]], ti))], ["g1:0"], exact=True)
                c.step([("i:0", index([[[1], [0], [1]], [[0], [0], [1]]], ti))], ["g2:0"], exact=True)
                c.step([("x:0", c.values((), t))], [], ["set"])
                c.step([("i:0", index([[0]], ti))], ["g1:0"])
            yield c


def orders():
    for t, tl in usable("ReverseSequence", "T", "Tlen"):
        if t not in WIDE and tl != "int64":
            continue
        c = Case("ReverseSequence/%s/%s" % (t, tl))
        rows = [((2, 4), [2, 4], 1, 0), ((4, 3), [0, 1, 3], 0, 1), ((2, 3, 2), [3, 1], 1, 0), ((2, 3, 2, 2), [1, 2], 3, 2), ((2, 0), [0, 0], 1, 0), ((0, 3), [], 1, 0), ((2, 2, 2, 2, 2), [2, 1], 4, 0)]
        for s, n, seq, batch in rows[: None if t in WIDE else 3]:
            c.run("ReverseSequence", c.values(s, t), index(n, tl), seq_dim=seq, batch_dim=batch, exact=True)
        if t in WIDE:
            for s, n, seq, batch in [((2, 4), [2, 5], 1, 0), ((2, 4), [-1, 2], 1, 0), ((2, 4), [1], 1, 0), ((2, 4), [1, 1], 1, 1), ((2, 4), [1, 1], 2, 0), ((2, 4), [1, 1], 1, 2), ((2, 4), [1, 1], -1, 0),
                                     ((2, 4), [1, 1, 1, 1], 0, -1), ((2, 4), [[1, 1]], 1, 0), ((2,), [1, 1], 0, 0), ((2, 4), [1, 1], -10, 0)]:
                both(c, "ReverseSequence", c.values(s, t), index(n, tl), seq_dim=seq, batch_dim=batch)
        yield c
    for t in usable("Reverse", "T"):
        c = Case("Reverse/%s" % t)
        for s, d in [((3,), [True]), ((2, 3), [False, True]), ((2, 3), [False, False]), ((), []), ((0, 2), [True, True]), ((2, 0), [True, True]), ((0,), [False]), ((2, 2, 3), [True, False, True])]:
            c.run("Reverse", c.values(s, t), Value(np.array(d, bool), "bool"), exact=True)
        if t in WIDE:
            for s, d in [((2, 3), [True]), ((3,), [[True]]), ((3,), True)]:
                both(c, "Reverse", c.values(s, t), Value(np.array(d, bool), "bool"))
        yield c
    for t, ts, ta in usable("Roll", "T", "Tshift", "Taxis"):
        if (ts, ta) != ("int32", "int32") and t != "float32":
            continue
        c = Case("Roll/%s/%s/%s" % (t, ts, ta))
        for s, by, axis in [((5,), 2, 0), ((2, 3), [1, -1], [0, 1]), ((2, 3), [4, 3], [1, 1]), ((2, 3, 2), -1, -2), ((0, 3), 1, 0), ((2, 2), [], []), ((1, 4), [-9], [1])][: None if t in WIDE else 3]:
            c.run("Roll", c.values(s, t), index(by, ts), index(axis, ta), exact=True)
        if t in WIDE:
            for s, by, axis in [((5,), 2, 1), ((5,), 2, -2), ((), 1, 0), ((5,), [1, 2], [0]), ((5,), [[1]], [0]), ((5,), [1], [[0]]), ((5,), 1, [0]), ((5,), [1], 0)]:
                both(c, "Roll", c.values(s, t), index(by, ts), index(axis, ta))
        yield c
    for t, ti in usable("MatrixBandPart", "T", "Tindex"):
        if t != "float32" and ti != "int64":
            continue
        c = Case("MatrixBandPart/%s/%s" % (t, ti))
        for s, low, high in [((4, 4), 0, 0), ((3, 5), 1, -1), ((2, 3, 3), -1, 0), ((5, 3), 2, 1), ((0, 3), 0, 0), ((2, 2), -1, -1), ((3, 3), -7, 1), ((3, 2), 3, 2), ((2, 0), 1, 0)]:
            c.run("MatrixBandPart", c.values(s, t), index(low, ti), index(high, ti), exact=True)
        if t in WIDE:
            for s, low, high in [((3, 3), 4, 0), ((3, 3), 0, 4), ((3,), 0, 0), ((3, 3), [0], 0), ((3, 3), 0, [0]), ((2, 0), 1, 1)]:
                both(c, "MatrixBandPart", c.values(s, t), index(low, ti), index(high, ti))
        yield c


def cases():
    for family in (block_moves, gathers, scatters, variable_scatters, variable_gathers, orders):
        yield from family()
