"""Matrix products and biases."""
from cases.arrays import both, usable
from suite import Case


def integer(t):
    return "int" in t


def matmul():
    for t in usable("MatMul", "T"):
        c = Case("MatMul/%s" % t)
        for i, (m, k, n) in enumerate([(2, 3, 4), (1, 1, 1), (5, 7, 3), (1, 9, 4), (6, 2, 1), (17, 19, 18), (0, 3, 2), (2, 0, 3), (3, 2, 0)]):
            for ta, tb in [(False, False), (True, False), (False, True), (True, True)] if i in (0, 2, 5) else [(False, i % 2 == 1)]:
                a = c.values((k, m) if ta else (m, k), t, low=-2, high=2) if not t.startswith("complex") else c.values((k, m) if ta else (m, k), t)
                b = c.values((n, k) if tb else (k, n), t, low=-2, high=2) if not t.startswith("complex") else c.values((n, k) if tb else (k, n), t)
                c.run("MatMul", a, b, transpose_a=ta, transpose_b=tb, scale=20.0)
        if t in ("float32", "int32"):
            for a, b in [((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 3), (3,)), ((1, 2, 3), (3, 2)), ((), (2, 2))]:
                both(c, "MatMul", c.values(a, t), c.values(b, t))
        yield c
    for op in ("BatchMatMul", "BatchMatMulV2"):
        for t in usable(op, "T"):
            c = Case("%s/%s" % (op, t))
            how = {} if t.startswith("complex") else {"low": -2, "high": 2}
            rows = [((2, 3), (3, 2)), ((2, 2, 3), (2, 3, 2)), ((2, 1, 2, 3), (2, 1, 3, 4)), ((0, 2, 3), (0, 3, 1)), ((2, 2, 0), (2, 0, 3))]
            if op == "BatchMatMulV2":
                rows += [((2, 3), (4, 3, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((1, 2, 3), (5, 3, 1)), ((3, 2, 2), (2, 2))]
            for i, (a, b) in enumerate(rows):
                x, y = i % 2 == 1, i % 3 == 1
                a = a[:-2] + (a[-1], a[-2]) if x else a
                b = b[:-2] + (b[-1], b[-2]) if y else b
                c.run(op, c.values(a, t, **how), c.values(b, t, **how), adj_x=x, adj_y=y, scale=20.0)
            if t == "float32":
                for a, b in [((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 2, 3), (3, 3, 2)), ((2, 3, 4), (2, 5, 4))]:
                    both(c, op, c.values(a, t), c.values(b, t))
            yield c


def biases():
    for t in usable("BiasAdd", "T"):
        c = Case("BiasAdd/%s" % t)
        for s in [(2, 3), (2, 2, 3), (1, 2, 2, 3), (1, 2, 2, 2, 3), (0, 3)]:
            c.run("BiasAdd", c.values(s, t), c.values((3,), t), exact=not t.startswith("complex"))
        for s in [(2, 3, 4), (1, 3, 2, 2), (2, 3)]:
            c.run("BiasAdd", c.values(s, t), c.values((3,), t), data_format="NCHW", exact=not t.startswith("complex"))
        if t in ("float32", "int32"):
            for s, b in [((2, 3), (2,)), ((3,), (3,)), ((2, 3), (1, 3)), ((), (1,))]:
                both(c, "BiasAdd", c.values(s, t), c.values(b, t))
            c.run("BiasAdd", c.values((2, 3), t), c.values((3,), t), data_format="NCWH", mode="feed")
        yield c
    c = Case("BiasAddV1/float32")
    c.run("BiasAddV1", c.values((2, 3), "float32"), c.values((3,), "float32"), exact=True)
    yield c
    for t in usable("BiasAddGrad", "T"):
        c = Case("BiasAddGrad/%s" % t)
        for s in [(2, 3), (2, 2, 3), (1, 2, 2, 3), (0, 3)]:
            c.run("BiasAddGrad", c.values(s, t), scale=10.0)
        for s in [(2, 3, 4), (1, 3, 2, 2)]:
            c.run("BiasAddGrad", c.values(s, t), data_format="NCHW", scale=10.0)
        if t == "float32":
            both(c, "BiasAddGrad", c.values((3,), t))
            both(c, "BiasAddGrad", c.values((), t))
        yield c


def cases():
    yield from matmul()
    yield from biases()
