"""Queues as far as they do not block: order, closing, and what they refuse."""
from graphs import Value
from suite import Case

KINDS = ("FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2")


def i32(x):
    return Value(x, "int32")


def i64(x):
    return Value(x, "int64")


def f32(x):
    return Value(x, "float32")


class Queues(Case):
    """A queue `q` of one kind and nodes on it; each node is one line."""

    def __init__(self, name, kind="FIFOQueueV2", types=("float32",), shapes=((),), q="q", **attrs):
        super().__init__(name)
        self.kind, self.count, self.v2 = kind, 0, "V2" if kind.endswith("V2") else ""
        self.types = list(types)
        self.queue(q, types, shapes, **attrs)

    def queue(self, q, types, shapes, kind=None, **attrs):
        kind = kind or self.kind
        if kind.startswith("Priority"):
            self.types = ["int64"] + list(types)
        return self.graph.node(q, kind, component_types=list(types), shapes=list(shapes), **attrs)

    def const(self, value):
        self.count += 1
        return self.graph.const("c%d" % self.count, value)

    def node(self, op, inputs=(), q="q", **attrs):
        self.count += 1
        inputs = [self.const(i) if isinstance(i, Value) else i for i in inputs]
        return self.graph.node("n%d" % self.count, op + self.v2, [q] + inputs, **attrs)

    def put(self, *values, many=False, q="q", **attrs):
        n = self.node("QueueEnqueueMany" if many else "QueueEnqueue", values, q, Tcomponents=[v.dtype for v in values], **attrs)
        self.step([], [], [n])
        return n

    def take(self, n=None, up_to=False, types=None, q="q", **attrs):
        types = types or self.types
        if n is None:
            n = self.node("QueueDequeue", q=q, component_types=types, **attrs)
        else:
            n = self.node("QueueDequeueUpTo" if up_to else "QueueDequeueMany", [n if isinstance(n, Value) else i32(n)], q,
                          component_types=types, **attrs)
        self.step([], ["%s:%d" % (n, i) for i in range(len(types))], exact=True)
        return n

    def look(self, q="q"):
        self.step([], [self.node("QueueSize", q=q) + ":0", self.node("QueueIsClosed", q=q) + ":0"], exact=True)

    def close(self, q="q", **attrs):
        n = self.node("QueueClose", q=q, **attrs)
        self.step([], [], [n])


def cases():
    # An enqueue beyond the capacity, or a dequeue of what is not there, would wait: steps keep within them.
    for t in ("float32", "int64", "string", "bool", "complex64", "int8", "float64", "uint16", "float16", "bfloat16"):
        for kind in ("FIFOQueueV2", "FIFOQueue", "PaddingFIFOQueueV2", "PaddingFIFOQueue"):
            c = Queues("%s/%s" % (kind, t), kind, [t, "int32"], [(2,), ()], capacity=10)
            c.look()
            c.put(c.values((2,), t), i32(1))
            c.put(c.values((3, 2), t), i32([2, 3, 4]), many=True)
            c.put(c.values((0, 2), t), i32([]), many=True)
            c.look()
            c.take()
            c.take(2)
            c.take(0)
            c.take(1, up_to=True)
            c.look()
            c.close()
            c.look()
            yield c

    for kind in KINDS + ("RandomShuffleQueue", "PriorityQueue"):
        c = Queues("%s/closed" % kind, kind, capacity=5)
        first = (i64(1),) if kind.startswith("Priority") else ()
        firsts = (i64([3, 1, 2]),) if first else ()
        seeds = f32([7, 7, 7]) if "Shuffle" in kind else f32([7, 8, 9])
        c.put(*firsts, seeds, many=True)
        c.close()
        c.close()
        c.close(cancel_pending_enqueues=True)
        c.look()
        c.put(*first, f32(1))
        c.put(*firsts, f32([1, 2, 3]), many=True)
        c.put(*[Value([], v.dtype) for v in firsts], f32([]), many=True)
        c.take(4)
        c.look()
        c.take()
        c.take(4, up_to=True)
        c.take(4, up_to=True)
        c.take()
        c.take(0)
        c.take(0, up_to=True)
        c.look()
        yield c

        c = Queues("%s/refusals" % kind, kind, types=["float32", "int32"], shapes=[(2,), ()], capacity=100)
        for values in ((f32([1, 2]), i32(1)), (f32([1, 2]), i32([1])), (f32(1), i32(1)), (f32([1, 2]), f32(1)), (f32([1, 2]),),
                       (f32([1, 2]), i32(1), i32(1)), (f32([1, 2, 3]), i32(1)), (f32([[1, 2]]), i32([1])), (f32([[1, 2], [3, 4]]), i32([1]))):
            for many in (False, True):
                c.put(*first, *values, many=many)
                c.put(*[i64([1])] * len(first), *values, many=many)
                c.put(*[i64([1, 2])] * len(first), *values, many=many)
        c.look()
        for n in (-1, 0, i32([1, 2]), i32([0])):
            c.take(n)
            c.take(n, up_to=True)
        c.take(types=["float32"])
        c.take(types=["int32", "float32"])
        c.take(0, types=["float32"])
        c.take(timeout_ms=5)
        c.put(*first, f32([1, 2]), i32(1), timeout_ms=5)
        yield c

        c = Queues("%s/declarations" % kind, kind, shared_name="s", capacity=5)
        for i, (types, shapes, attrs) in enumerate([
                (["float32"], [()], {"capacity": 5}), (["float32"], [()], {"capacity": 6}), (["float32"], [()], {}), (["int32"], [()], {"capacity": 5}),
                (["float32"], [(1,)], {"capacity": 5}), (["float32"], [], {"capacity": 5}), (["float32", "int32"], [()], {"capacity": 5}),
                (["float32"], [(None,)], {"capacity": 5}), (["float32"], [None], {"capacity": 5}), (["float32"], [()], {"capacity": -3}),
                ([], [], {"capacity": 5}), (["float32"], [()], {"capacity": 0})]):
            for shared in ("s", "t%d" % i, "_u"):
                q = "q%d%s" % (i, shared)
                c.queue(q, types, shapes, shared_name=shared, **attrs)
                c.look(q=q)
        c.look()
        for other in KINDS if c.v2 else ():
            c.queue("o" + other, ["float32"], [()], kind=other, shared_name="s", capacity=5)
            c.look(q="o" + other)
        yield c

        c = Queues("%s/any shapes" % kind, kind, types=["float32"], shapes=[], capacity=9)
        c.put(*first, f32([1, 2]))
        c.put(*first, f32(5))
        c.put(*firsts, f32([[1], [2], [3]]), many=True)
        c.put(*firsts, f32(1), many=True)
        if "Shuffle" not in kind:
            c.take()
        c.take(1)
        c.take(0)
        c.look()
        yield c

    for shapes in ([(None,)], [(None, 2)], [(2, None)], [(None, None, 1)], [None], [()]):
        for kind in ("PaddingFIFOQueueV2", "PaddingFIFOQueue"):
            c = Queues("%s/padded %s" % (kind, shapes), kind, shapes=shapes)
            good = 0
            for x in (f32(1), f32([1]), f32([1, 2, 3]), f32([]), f32([[1, 2]]), f32([[1], [2]]), f32([[1, 2], [3, 4]]), Value([[], []], "float32"),
                      f32([[[1]], [[2]]]), f32([[[1], [2], [3]]])):
                c.put(x)
                if shapes[0] is not None:
                    good += len(shapes[0]) == x.array.ndim and all(d is None or d == n for d, n in zip(shapes[0], x.array.shape))
            c.put(f32([[1, 2], [3, 4]]), many=True)
            c.put(f32([[[1, 2]], [[3, 4]]]), many=True)
            c.look()
            c.take(good or 0)
            c.take(0)
            yield c
    c = Queues("PaddingFIFOQueueV2/padded strings", "PaddingFIFOQueueV2", ["string", "bool"], [(None,), (2, None)])
    for n in (1, 3, 0, 2):
        c.put(c.values((n,), "string"), c.values((2, n), "bool"))
    c.take(4)
    yield c

    for seeds in ((1, 0), (0, 1), (7, 9), (-5, 12345678901)):
        for kind in ("RandomShuffleQueueV2", "RandomShuffleQueue"):
            c = Queues("%s/order %s %s" % (kind, *seeds), kind, capacity=200, seed=seeds[0], seed2=seeds[1], min_after_dequeue=3)
            c.put(f32(list(range(60))), many=True)
            for _ in range(3):
                c.take()
                c.take(10)
            c.put(f32(100))
            c.take(20)
            c.look()
            c.close()
            c.take(30)
            c.take(30, up_to=True)
            c.take()
            yield c
    c = Queues("RandomShuffleQueueV2/minimum", "RandomShuffleQueueV2", min_after_dequeue=5, capacity=5)
    c.look()
    for i, (low, cap) in enumerate(((5, 6), (-1, 6), (0, 0), (5, -1), (6, 5))):
        c.queue("m%d" % i, ["float32"], [()], min_after_dequeue=low, capacity=cap)
        c.look(q="m%d" % i)
    for i, seed in enumerate((1, 2, 1)):
        c.queue("s%d" % i, ["float32"], [()], shared_name="seeded", seed=seed)
        c.look(q="s%d" % i)
    yield c

    for order in ([3, 1, 2], [1, 1, 1, 1, 1], [5, 1, 5, 1, 3, 1, 5], [-7, 2**40, -(2**40), 0], list(range(20, 0, -1)), [2, 2, 1, 1] * 5):
        c = Queues("PriorityQueueV2/order %s" % order, "PriorityQueueV2", ["int32", "string"], [(), ()])
        c.put(i64(order), i32(list(range(len(order)))), Value([str(i) for i in order], "string"), many=True)
        c.take()
        c.put(i64(1), i32(77), Value("late", "string"))
        c.take(2)
        c.close()
        c.take(len(order) - 2, up_to=True)
        yield c

    c = Queues("Queue/handles", capacity=5)
    c.graph.node("variable", "VarHandleOp", dtype="float32", shape=(), shared_name="v")
    c.look(q="variable")
    c.take(q="variable")
    c.graph.node("ref", "FIFOQueue", component_types=["int32"], shapes=[()], shared_name="named", container="box")
    c.graph.node("same", "FIFOQueueV2", component_types=["int32"], shapes=[()], shared_name="named", container="box")
    c.step([], ["ref:0"], exact=True)
    c.graph.node("read", "Identity", ["ref"], T="string")
    c.step([], ["read:0"], exact=True)
    n = c.put(i32(4), q="same")
    c.v2 = ""
    c.take(q="ref", types=["int32"])
    c.graph.node("bad", "FIFOQueueV2", component_types=["int32"], shapes=[()], container="-x")
    c.v2 = "V2"
    c.look(q="bad")
    yield c

    c = Queues("Queue/in one step", types=["int32"], capacity=2)
    n = c.node("QueueEnqueue", [i32(5)], Tcomponents=["int32"])
    d = c.node("QueueDequeue", component_types=["int32"])
    m = c.node("QueueEnqueueMany", [i32([1, 2, 3, 4, 5, 6, 7])], Tcomponents=["int32"])
    t = c.node("QueueDequeueMany", [i32(7)], component_types=["int32"])
    for _ in range(3):
        c.step([], [d + ":0"], [n], exact=True)
        c.step([], [t + ":0"], [m], exact=True)
    s = c.graph.node("after", "AddV2", [d, d], T="int32")
    c.step([], ["after:0"], [n], exact=True)
    c.graph.node("again", "QueueEnqueueV2", ["q", "after"], Tcomponents=["int32"])
    d2 = c.graph.node("d2", "QueueDequeueV2", ["q", "^again"], component_types=["int32"])
    c.step([], ["d2:0"], [n, "again"], exact=True)
    c.look()
    yield c
