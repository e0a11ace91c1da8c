"""Tensor lists: values that ops pass on, element by element and in batches, with what each op refuses."""
from graphs import Value, signatures
from suite import Case


def i32(x):
    return Value(x, "int32")


def i64(x):
    return Value(x, "int64")


def f32(x):
    return Value(x, "float32")


class Lists(Case):
    """Nodes of one element dtype; names are made up, and each node is one line."""

    def __init__(self, name, dtype="float32"):
        super().__init__(name)
        self.dtype, self.count = dtype, 0

    def fresh(self):
        self.count += 1
        return "n%d" % self.count

    def const(self, value):
        return self.graph.const(self.fresh(), value)

    def op(self, op, *inputs, dtype=None, **attrs):
        inputs = [self.const(i) if isinstance(i, Value) else i for i in inputs]
        if op not in ("TensorListLength", "TensorListResize", "TensorListElementShape", "AddN", "ZerosLike"):
            attrs["element_dtype"] = dtype or self.dtype
        return self.graph.node(self.fresh(), op, inputs, **attrs)

    def shaped(self, op, *inputs, shape_type="int32", **attrs):
        return self.op(op, *inputs, shape_type=shape_type, **attrs)

    def get(self, l, i, shape=i32(-1), **attrs):
        return self.op("TensorListGetItem", l, i32(i), shape, **attrs)

    def fetch(self, *nodes):
        for n in nodes:
            self.step([], [n if ":" in n else n + ":0"], exact=True)


def dtypes():
    return [t for (t,) in signatures("TensorListStack", "element_dtype") if t != "variant"]


def cases():
    for t in dtypes():
        c = Lists("TensorList/%s" % t, t)
        x = c.values((3, 2), t)
        row = c.values((2,), t)
        l = c.shaped("TensorListReserve", i32([2]), i32(4))
        l = c.op("TensorListSetItem", l, i32(1), row)
        c.fetch(c.op("TensorListStack", l, i32([2])), c.get(l, 1), c.get(l, 3), c.op("TensorListGather", l, i32([3, 1, 1]), i32([2])))
        l = c.shaped("TensorListFromTensor", x, i32([2]))
        l = c.op("TensorListPushBack", l, row)
        p = c.op("TensorListPopBack", l, i32([2]))
        c.fetch(c.op("TensorListStack", l, i32([-1])), p + ":1", c.op("TensorListStack", p, i32([2])), c.op("TensorListLength", p))
        s = c.shaped("TensorListSplit", x, i32([-1, 2]), i64([2, 0, 1]))
        j = c.shaped("TensorListConcatV2", s, i32([-1, 2]), i64([]))
        c.fetch(c.get(s, 0), c.get(s, 1), j, j + ":1")
        s = c.shaped("TensorListScatterV2", x, i32([4, 0, 2]), i32([2]), i32(6))
        c.fetch(c.op("TensorListStack", s, i32([2])))
        # Beyond its old end TensorFlow leaves elements that are neither set nor unset.
        s = c.op("TensorListScatterIntoExistingList", s, x, i32([1, 6, 0]))
        c.fetch(c.op("TensorListStack", s, i32([2])), c.op("TensorListLength", s))
        yield c

    for shape in ([], [2], [-1], [2, -1], -1):
        for st, v in (("int32", i32), ("int64", i64)):
            c = Lists("TensorListElementShape/%s %s" % (shape, st))
            l = c.shaped("TensorListReserve", v(shape), i32(2), shape_type=st)
            e = c.shaped("EmptyTensorList", v(shape), i32(-1), shape_type=st)
            c.fetch(c.op("TensorListElementShape", l, shape_type="int32"), c.op("TensorListElementShape", e, shape_type="int64"))
            c.fetch(c.op("TensorListLength", l), c.op("TensorListLength", e))
            for value in (f32(1), f32([1, 2]), f32([[1, 2], [3, 4]])):
                set_ = c.op("TensorListSetItem", l, i32(0), value)
                c.fetch(c.get(set_, 0), c.get(set_, 1), c.op("TensorListStack", set_, i32(-1)), c.op("TensorListStack", set_, i32([2])))
                c.fetch(c.op("TensorListGather", set_, i32([1]), i32(-1)), c.op("TensorListGather", set_, i32([0, 1]), i32([-1])))
                c.fetch(c.op("TensorListGather", set_, i32([]), i32(-1)))
                push = c.op("TensorListPushBack", e, value)
                p = c.op("TensorListPopBack", push, i32(-1))
                c.fetch(p + ":1", c.op("TensorListLength", p), c.op("TensorListStack", p, i32(-1)), c.op("TensorListStack", p, i32([2])))
            p = c.op("TensorListPopBack", l, i32([2]))
            c.fetch(p + ":1", c.get(l, 0, i32([3])), c.get(l, 0, i32([2, 2])), c.op("TensorListStack", l, i32(-1)))
            yield c

    c = Lists("TensorList/shape inputs")
    for shape in (i32(-1), i32(0), i32(2), i32(-2), i32([-2]), i32([-1, -5]), i32([[2]]), i32([2])):
        c.fetch(c.op("TensorListLength", c.shaped("TensorListReserve", shape, i32(2))))
        c.fetch(c.op("TensorListLength", c.shaped("EmptyTensorList", shape, i32(2))))
    for n in (i32(-1), i32(0), i32([2]), i32([])):
        c.fetch(c.op("TensorListLength", c.shaped("TensorListReserve", i32([2]), n)))
        c.fetch(c.op("TensorListLength", c.shaped("EmptyTensorList", i32([2]), n)))
    yield c

    def one(what, i):
        c = Lists("TensorList/%s %s" % (what, i.array.tolist()))
        return c, c.shaped("TensorListReserve", i32([]), i32(2))

    # A case each: some of them are TensorFlow's end.
    for i in map(i32, (0, 1, 2, -1, -2, 100, [0], [])):
        c, l = one("get", i)
        c.fetch(c.op("TensorListGetItem", l, i, i32([])))
        yield c
        c, l = one("set", i)
        c.fetch(c.op("TensorListStack", c.op("TensorListSetItem", l, i, f32(5)), i32([])))
        yield c
        c, l = one("set and grow", i)
        c.fetch(c.op("TensorListLength", c.op("TensorListSetItem", l, i, f32(5), resize_if_index_out_of_bounds=True)))
        yield c
        c, l = one("resize", i)
        c.fetch(c.op("TensorListLength", c.op("TensorListResize", l, i)))
        yield c
        c, l = one("gather", i)
        c.fetch(c.op("TensorListGather", l, i, i32([])))
        yield c
        rows = i if i.array.ndim else i32([i.array])
        x = f32([5] * rows.array.size)
        c, l = one("scatter", i)
        for n in (-2, -1, 0, 2):
            c.fetch(c.op("TensorListLength", c.shaped("TensorListScatterV2", x, rows, i32([]), i32(n))))
        c.fetch(c.op("TensorListLength", c.shaped("TensorListScatter", x, rows, i32([]))))
        yield c
        c, l = one("scatter into", i)
        c.fetch(c.op("TensorListLength", c.op("TensorListScatterIntoExistingList", l, x, rows)))
        yield c

    c = Lists("TensorList/dtypes and handles")
    l = c.shaped("TensorListReserve", i32([]), i32(2))
    n = c.shaped("TensorListReserve", i32([]), i32(2), dtype="int32")
    for bad in (n,):
        c.fetch(c.get(bad, 0), c.op("TensorListStack", bad, i32([])), c.op("TensorListGather", bad, i32([0]), i32([])))
        c.fetch(c.op("TensorListLength", c.op("TensorListSetItem", bad, i32(0), f32(1))))
        c.fetch(c.op("TensorListLength", c.op("TensorListPushBack", bad, f32(1))))
        c.fetch(c.op("TensorListPopBack", bad, i32([])) + ":1")
        c.fetch(c.op("TensorListLength", c.op("TensorListConcatLists", bad, l)))
        c.fetch(c.op("TensorListLength", c.op("TensorListScatterIntoExistingList", bad, f32([1]), i32([0]))))
        c.fetch(c.shaped("TensorListConcatV2", bad, i32([1]), i64([])), c.op("TensorListConcat", bad, element_shape=[1]))
    two = c.graph.node("two", "Pack", [l, l], N=2, T="variant")
    c.fetch(c.op("TensorListLength", two), c.get(two, 0))
    yield c

    c = Lists("TensorList/full and empty")
    for most in (-1, 0, 1, 2):
        l = c.shaped("EmptyTensorList", i32(-1), i32(most))
        for _ in range(3):
            c.fetch(c.op("TensorListLength", l), c.op("TensorListPopBack", l, i32(-1)) + ":1")
            l = c.op("TensorListPushBack", l, f32([1]))
    c.fetch(c.op("TensorListStack", c.shaped("EmptyTensorList", i32([2]), i32(-1)), i32([2])))
    c.fetch(c.op("TensorListStack", c.shaped("EmptyTensorList", i32([-1]), i32(-1)), i32([2])))
    for n in (-1, 0, 1, 2):
        l = c.shaped("TensorListReserve", i32([2]), i32(1))
        c.fetch(c.op("TensorListStack", l, i32([2]), num_elements=n))
    yield c

    for shape in ([-1], [2], [-1, 2], [3, 2], -1, []):
        c = Lists("TensorListConcat/%s" % shape)
        r = c.shaped("TensorListReserve", i32(shape), i32(2))
        lists = [r, c.op("TensorListSetItem", r, i32(0), f32([1, 2])), c.op("TensorListSetItem", r, i32(1), f32([[1, 2], [3, 4], [5, 6]])),
                 c.op("TensorListSetItem", r, i32(1), f32(3)), c.shaped("EmptyTensorList", i32(shape), i32(-1))]
        lists.append(c.op("TensorListSetItem", lists[1], i32(1), f32([4])))
        lists.append(c.op("TensorListSetItem", lists[1], i32(1), f32([4, 5])))
        for l in lists:
            for s in (i32(-1), i32([-1]), i32([2]), i32([-1, 2]), i32([3, 2]), i32([])):
                for lead in (i64([]), i64([3, 3]), i64([1])):
                    j = c.shaped("TensorListConcatV2", l, s, lead)
                    c.step([], [j + ":0", j + ":1"], exact=True)
            for s in (None, [None], [2], [None, 2], [3, 2]):
                j = c.op("TensorListConcat", l, element_shape=s)
                c.step([], [j + ":0", j + ":1"], exact=True)
        yield c

    c = Lists("TensorListSplit")
    for x in (f32(1), f32([1, 2, 3]), f32([[1, 2], [3, 4], [5, 6]])):
        for shape in (i32(-1), i32([]), i32([-1]), i32([-1, 2]), i32([2, 2])):
            for lengths in (i64([3]), i64([1, 2]), i64([1]), i64([4]), i64([-1, 4]), i64([]), i64(3), i64([0, 3, 0])):
                s = c.shaped("TensorListSplit", x, shape, lengths)
                c.fetch(c.op("TensorListLength", s))
        s = c.shaped("TensorListSplit", x, i32(-1), i64([1, 2]))
        c.fetch(c.get(s, 0), c.get(s, 1))
    yield c

    c = Lists("TensorListFromTensor")
    for x in (f32(1), f32([1, 2, 3]), f32([[1, 2], [3, 4]]), Value([[], []], "float32"), f32([])):
        for shape in (i32(-1), i32([]), i32([-1]), i32([2]), i32([3])):
            l = c.shaped("TensorListFromTensor", x, shape)
            c.fetch(c.op("TensorListLength", l), c.op("TensorListStack", l, i32(-1)), c.get(l, 0))
    yield c

    c = Lists("TensorListScatter/rows")
    for x in (f32(1), f32([1, 2]), f32([[1, 2], [3, 4]])):
        for indices in (i32([0, 1]), i32([1, 1]), i32([0]), i32(0), i32([])):
            l = c.shaped("TensorListScatterV2", x, indices, i32(-1), i32(-1))
            c.fetch(c.op("TensorListLength", l), c.op("TensorListStack", l, i32(-1)))
            e = c.shaped("TensorListReserve", i32([2]), i32(1))
            l = c.op("TensorListScatterIntoExistingList", e, x, indices)
            c.fetch(c.op("TensorListStack", l, i32(-1)))
    yield c

    c = Lists("TensorListPushBackBatch and ConcatLists")
    a, b = c.shaped("EmptyTensorList", i32([2]), i32(1)), c.shaped("TensorListReserve", i32([2]), i32(1))
    pair = c.graph.node("pair", "Pack", [a, b], N=2, T="variant")
    for x in (f32([[1, 2], [3, 4]]), f32([[1, 2]]), f32([1, 2]), f32(1), f32([[1, 2, 3], [3, 4, 5]])):
        p = c.op("TensorListPushBackBatch", pair, x)
        u = c.graph.node(c.fresh(), "Unpack", [p], num=2, T="variant")
        c.fetch(c.op("TensorListStack", u, i32([2])), c.op("TensorListStack", u + ":1", i32([2])))
    c.fetch(c.op("TensorListLength", c.op("TensorListPushBackBatch", a, f32([[1, 2]]))))
    l = c.shaped("TensorListFromTensor", f32([[1, 2], [3, 4]]), i32([2]))
    m = c.shaped("TensorListFromTensor", f32([[5, 6]]), i32([2]))
    for x, y in ((l, m), (l, l), (l, a), (l, c.shaped("EmptyTensorList", i32(-1), i32(1))), (l, pair)):
        c.fetch(c.op("TensorListStack", c.op("TensorListConcatLists", x, y), i32([2])))
    both = c.op("TensorListConcatLists", pair, pair)
    u = c.graph.node(c.fresh(), "Unpack", [both], num=2, T="variant")
    c.fetch(c.op("TensorListLength", u), c.op("TensorListLength", u + ":1"))
    yield c

    for t in ("float32", "int32", "int64", "complex64", "float16", "bool", "string"):
        c = Lists("TensorList/sums %s" % t, t)
        l = c.shaped("TensorListFromTensor", c.values((2, 2), t), i32([2]))
        m = c.op("TensorListSetItem", c.shaped("TensorListReserve", i32(-1), i32(2)), i32(1), c.values((2,), t))
        for terms in ([l], [l, m], [m, l, l], [l, c.shaped("EmptyTensorList", i32([2]), i32(-1))],
                      [l, c.shaped("TensorListReserve", i32([3]), i32(2))], [l, c.shaped("TensorListReserve", i32([2]), i32(2), dtype="uint8")]):
            s = c.op("AddN", *terms, N=len(terms), T="variant")
            c.fetch(c.op("TensorListStack", s, i32([2])), c.op("TensorListElementShape", s, shape_type="int32"))
        z = c.op("ZerosLike", l, T="variant")
        c.fetch(c.op("TensorListStack", z, i32([2])))
        z = c.op("ZerosLike", m, T="variant")
        c.fetch(c.get(z, 0), c.get(z, 1), c.op("TensorListStack", z, i32(-1)))
        yield c

    c = Lists("TensorList/of lists", "variant")
    f = c.shaped("TensorListFromTensor", f32([1, 2]), i32([]), dtype="float32")
    o = c.shaped("EmptyTensorList", i32([]), i32(-1))
    for _ in range(3):
        o = c.op("TensorListPushBack", o, f)
    i = c.get(o, 1)
    c.fetch(c.op("TensorListStack", i, i32([]), dtype="float32"))
    s = c.op("AddN", o, o, N=2, T="variant")
    c.fetch(c.op("TensorListStack", c.get(s, 2), i32([]), dtype="float32"))
    z = c.op("ZerosLike", s, T="variant")
    c.fetch(c.op("TensorListStack", c.get(z, 2), i32([]), dtype="float32"))
    st = c.op("TensorListStack", o, i32([]))
    u = c.graph.node(c.fresh(), "Unpack", [st], num=3, T="variant")
    c.fetch(c.op("TensorListStack", u + ":2", i32([]), dtype="float32"))
    pair = c.graph.node("pair", "Pack", [f, f], N=2, T="variant")
    c.fetch(c.op("TensorListLength", c.op("ZerosLike", pair, T="variant")), c.op("TensorListLength", c.op("AddN", pair, pair, N=2, T="variant")))
    yield c

    c = Lists("TensorList/values are not changed by their users")
    l = c.shaped("TensorListFromTensor", f32([1, 2, 3]), i32([]))
    a = c.op("TensorListSetItem", l, i32(0), f32(10))
    b = c.op("TensorListSetItem", l, i32(1), f32(20))
    d = c.op("TensorListPushBack", a, f32(30))
    p = c.op("TensorListPopBack", a, i32([]))
    stacks = [c.op("TensorListStack", x, i32([])) for x in (l, a, b, d, p)]
    for _ in range(2):
        c.step([], [s + ":0" for s in stacks] + [p + ":1"], exact=True)
    c.step([], [stacks[3] + ":0"], exact=True)
    yield c
