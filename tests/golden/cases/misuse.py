"""Sessions used wrongly: graphs that creation refuses, extensions that do not fit, runs that ask for what is not there."""
from tensorflow.core.framework import function_pb2, graph_pb2
from tensorflow.core.protobuf import config_pb2

from flow import Flow, boolean, f32, i32
from graphs import PRODUCER, Graph, Value, enum
from oracle import plain_config
from suite import Case


def basic(name, config=None):
    """x → neg, with a constant beside: the sound part that shows whether a session was made."""
    c = Case(name, config)
    c.refused = True
    c.keep_unimplemented = True
    c.graph.placeholder("x", "float32", shape=[2])
    c.graph.node("neg", "Neg", ["x"], T="float32")
    c.graph.const("k", f32([5, 6]))
    return c


def works(c):
    c.step([("x:0", f32([1, 2]))], ["neg:0", "k:0"], exact=True)
    return c


def nodes():
    """One wrong node beside sound ones; what creation lets pass fails, if at all, when it is run."""
    def wrong(name, op, inputs=(), then=True, device="", node="n", **attrs):
        c = basic("create/" + name)
        c.graph.node(node, op, inputs, device=device, **attrs)
        if then:
            c.step([("x:0", f32([1, 2]))], [node + ":0"])
        return works(c)

    unknown = basic("create/op not registered")
    unknown.graph.proto.node.add(name="n", op="NoSuchOp")
    yield works(unknown)
    missing = basic("create/required attribute absent")
    missing.graph.proto.node.add(name="n", op="Neg", input=["x"])
    yield works(missing)
    outside = basic("create/attribute outside its allowed values")
    outside.graph.const("s", Value("a", "string"))
    outside.graph.node("n", "Neg", ["s"], T="string")
    yield works(outside)
    kind = basic("create/attribute of the wrong kind")
    kind.graph.node("n", "Neg", ["x"], T="float32")
    kind.graph.proto.node[-1].attr["T"].i = 1
    yield works(kind)
    yield wrong("unknown attribute", "Neg", ["x"], T="float32", foo="bar")
    yield wrong("private attribute", "Neg", ["x"], T="float32", _foo="bar")
    yield wrong("default attribute absent", "MatMul", ["x", "x"], T="float32")
    yield wrong("integer attribute below its minimum", "AddN", [], T="float32", N=0)
    twice = basic("create/duplicate name")
    twice.graph.node("k", "NoOp")
    yield works(twice)
    yield wrong("unknown input", "Neg", ["nothing"], T="float32")
    yield wrong("unknown control input", "Neg", ["x", "^nothing"], T="float32")
    yield wrong("input slot too high", "Neg", ["x:1"], T="float32")
    yield wrong("input slot far too high", "Neg", ["x:99999999999"], T="float32")
    yield wrong("input slot negative", "Neg", ["x:-1"], T="float32")
    yield wrong("input slot not a number", "Neg", ["x:a"], T="float32")
    yield wrong("input of a node without outputs", "Neg", ["nop"], T="float32")
    yield wrong("input type differs", "Neg", ["x"], T="int32")
    yield wrong("value where a reference is expected", "Assign", ["k", "x"], T="float32")
    yield wrong("control input before data input", "Neg", ["^k", "x"], T="float32")
    yield wrong("same control input twice", "Neg", ["x", "^k", "^k"], T="float32")
    yield wrong("too few inputs", "AddV2", ["x"], T="float32")
    yield wrong("too many inputs", "Neg", ["x", "k"], T="float32")
    yield wrong("no inputs", "Neg", [], T="float32")
    yield wrong("empty input name", "Neg", [""], T="float32")
    for label, node in [("empty", ""), ("leading underscore", "_n"), ("leading slash", "/n"), ("space", "a b"), ("colon", "a:0"), ("caret", "^a"), ("dot and dash", ".a-b"),
                        ("slash at the end", "a/"), ("digit first", "7"), ("greater-than", "a>b"), ("backslash", "a\\b"), ("accent", "\u00e9"), ("dash first", "-a"), ("plus", "a+b")]:
        c = basic("create/name: " + label)
        c.graph.node(node, "NoOp")
        c.step([], [], [node])
        yield works(c)
    yield wrong("internal op", "_Recv", node="n", then=False, tensor_type="float32", tensor_name="t", send_device="/cpu:0", recv_device="/cpu:0", send_device_incarnation=1)
    yield wrong("colocated with an absent node", "Neg", ["x"], T="float32", _class=["loc:@absent"])
    yield wrong("colocation that is not one", "Neg", ["x"], T="float32", _class=["something else"])
    yield wrong("static shapes that cannot agree", "MatMul", ["k", "k"], T="float32")
    c = basic("create/no kernel for the type")
    c.graph.placeholder("s", "string")
    c.graph.node("n", "Neg", ["s"], T="float32")
    yield works(c)
    c = basic("create/kernel missing")
    c.graph.placeholder("u", "uint64")
    c.graph.node("n", "Reciprocal", ["u"], T="uint64")
    yield works(c)
    c = basic("create/type the declaration allows but no kernel does")
    c.graph.node("n", "StringLower", ["s"])
    c.graph.node("m", "Relu", ["q"], T="qint8")
    c.graph.const("s", Value("A", "string"))
    c.graph.const("q", Value([1, 2, 3, 4], "qint8"))
    yield works(c)
    for label, device in [("of no such type", "/device:GPU:0"), ("of no such id", "/device:CPU:7"), ("of no such task", "/job:worker/task:7"), ("of no such job", "/job:ps"),
                          ("does not parse", "cpu zero"), ("lower case type", "/device:cpu:0"), ("legacy", "/cpu:0"), ("legacy upper case", "/CPU:0"), ("only a slash", "/"),
                          ("any id", "/device:CPU:*"), ("all parts", "/job:worker/replica:0/task:0/device:CPU:0"), ("parts in another order", "/device:CPU:0/task:0/job:worker"),
                          ("replica 1", "/replica:1"), ("local name", "CPU:0")]:
        yield wrong("device " + label, "Neg", ["x"], T="float32", device=device)
    c = basic("create/conflicting colocation")
    c.graph.node("a", "Neg", ["x"], device="/device:CPU:0", T="float32")
    c.graph.node("b", "Neg", ["x"], device="/device:GPU:0", T="float32", _class=["loc:@a"])
    yield works(c)
    soft = plain_config(allow_soft_placement=True)
    for label, device in [("type", "/device:GPU:0"), ("id", "/device:CPU:7"), ("task", "/job:worker/task:7")]:
        c = basic("create/soft placement, no such " + label, soft)
        c.graph.node("n", "Neg", ["x"], device=device, T="float32")
        yield works(c)


def constants():
    def constant(name, **fields):
        c = basic("create/constant: " + name)
        c.graph.node("n", "Const", dtype=fields.pop("attr", "float32"))
        t = c.graph.proto.node[-1].attr["value"].tensor
        t.dtype = enum(fields.pop("dtype", "float32")) if isinstance(fields.get("dtype", ""), str) else fields.pop("dtype")
        t.tensor_shape.SetInParent()
        for d in fields.pop("dims", ()):
            t.tensor_shape.dim.add(size=d)
        for k, v in fields.items():
            setattr(t, k, v) if isinstance(v, bytes) else getattr(t, k).extend(v)
        c.step([], ["n:0"])
        return works(c)

    yield constant("type of the value differs", attr="int32", float_val=[1.0])
    yield constant("content too short", dims=(2,), tensor_content=b"1234567")
    yield constant("content too long", dims=(1,), tensor_content=b"12345678")
    yield constant("negative dimension", dims=(-1,), float_val=[1.0])
    yield constant("overflowing dimensions", dims=(1 << 62, 1 << 62), float_val=[1.0])
    yield constant("huge but empty", dims=(0, 1 << 40))
    yield constant("dtype 0", dtype=0, float_val=[1.0])
    yield constant("reference dtype", dtype=101, float_val=[1.0])
    yield constant("unknown dtype", dtype=99, float_val=[1.0])


def wholes():
    c = Case("create/empty graph")
    c.refused = True
    c.step([], [], [])
    c.step([], ["x:0"])
    yield c
    for name, versions in [("min_consumer too new", dict(min_consumer=PRODUCER + 1)), ("min_consumer of today", dict(min_consumer=PRODUCER)),
                           ("consumer forbidden", dict(bad_consumers=[PRODUCER])), ("producer negative", dict(producer=-1)), ("producer 0", dict(producer=0)),
                           ("producer 20", dict(producer=20)), ("producer of the future", dict(producer=PRODUCER + 1000))]:
        c = basic("create/" + name)
        for k, v in versions.items():
            if k == "bad_consumers":
                c.graph.proto.versions.bad_consumers.extend(v)
            else:
                setattr(c.graph.proto.versions, k, v)
        yield works(c)
    for name, config in [("per-session threads", plain_config(use_per_session_threads=True)),
                         ("session thread pools", plain_config(session_inter_op_thread_pool=[config_pb2.ThreadPoolOptionProto(num_threads=1)])),
                         ("place_pruned_graph", plain_config(graph_options=config_pb2.GraphOptions(place_pruned_graph=True))),
                         ("log_device_placement", plain_config(log_device_placement=True)),
                         ("shared state", config_pb2.ConfigProto()),
                         ("device filter that excludes others", plain_config(device_filters=["/job:worker/task:0"])),
                         ("operation timeout", plain_config(operation_timeout_in_ms=60000))]:
        yield works(basic("config/" + name, config))
    c = basic("create/deprecated op")
    c.graph.node("n", "BatchMatrixDiag", ["x"], T="float32")
    yield works(c)

    def library(name, *functions, call=None):
        c = basic("create/function: " + name)
        for text in functions:
            c.graph.proto.library.function.append(text)
        if call:
            c.graph.node("n", call, ["x"])
            c.step([("x:0", f32([1, 2]))], ["n:0"])
        return works(c)

    good = function("Twice")
    yield library("unused", good)
    yield library("same twice", good, good)
    other = function("Twice")
    other.ret["y"] = "one:y:0"
    yield library("two of one name", good, other)
    bad = function("Twice")
    bad.node_def[0].op = "NoSuchOp"
    yield library("unknown op in the body", bad)
    named = function("Neg")
    yield library("with the name of an op", named)


def function(name):
    f = function_pb2.FunctionDef()
    f.signature.name = name
    f.signature.input_arg.add(name="x", type=enum("float32"))
    f.signature.output_arg.add(name="y", type=enum("float32"))
    n = f.node_def.add(name="one", op="Neg", input=["x"])
    n.attr["T"].type = enum("float32")
    n = f.node_def.add(name="two", op="Neg", input=["one:y:0"])
    n.attr["T"].type = enum("float32")
    f.ret["y"] = "two:y:0"
    return f


def extensions():
    def more(*nodes, **versions):
        g = Graph()
        for name, op, inputs, attrs in nodes:
            g.node(name, op, inputs, **attrs)
        for k, v in versions.items():
            setattr(g.proto.versions, k, v)
        return g.bytes()

    square = ("square", "Square", ["x"], dict(T="float32"))
    feed = [("x:0", f32([3, 4]))]
    c = basic("extend/versions")
    c.step(extend=more(square), version=1)
    c.step(extend=more(square), version=0)
    c.step(feed, ["square:0", "neg:0"], exact=True)
    c.step(extend=more(("a", "Neg", ["square"], dict(T="float32"))), version=0)
    c.step(feed, ["a:0"])
    c.step(extend=more(("a", "Neg", ["square"], dict(T="float32"))), version=1)
    c.step(feed, ["a:0"], exact=True)
    c.step(extend=more(), version=2)
    c.step(extend=more(), version=2)
    c.step(extend=more(("b", "Neg", ["a"], dict(T="float32"))), version=3)
    c.step(feed, ["b:0", "a:0", "neg:0"], exact=True)
    yield c
    for name, extension in [("duplicate of an old name", more(square, ("k", "NoOp", [], {}))), ("unknown input", more(square, ("b", "Neg", ["nothing"], dict(T="float32")))),
                            ("bad name", more(square, ("_b", "NoOp", [], {}))), ("type differs", more(square, ("b", "Neg", ["x"], dict(T="int32")))),
                            ("cycle", more(square, ("b", "Neg", ["c"], dict(T="float32")), ("c", "Neg", ["b"], dict(T="float32")))),
                            ("another producer", more(square, producer=PRODUCER - 1)), ("device that is not there", more(square, ("b", "NoOp", [], {})))]:
        c = basic("extend/" + name)
        if name.startswith("device"):
            g = graph_pb2.GraphDef.FromString(extension)
            g.node[-1].device = "/device:GPU:3"
            extension = g.SerializeToString(deterministic=True)
        c.step(feed, ["neg:0"], exact=True)
        c.step(extend=extension, version=0)
        c.step(feed, ["square:0"], exact=True)
        c.step(feed, ["neg:0"], exact=True)
        c.step(extend=more(("d", "Neg", ["x"], dict(T="float32"))), version=0)
        c.step(feed, ["d:0"], exact=True)
        yield c
    c = basic("extend/a function twice")
    g = graph_pb2.GraphDef()
    g.versions.producer = PRODUCER
    g.library.function.append(function("Twice"))
    c.step(extend=g.SerializeToString(deterministic=True), version=0)
    c.step(extend=g.SerializeToString(deterministic=True), version=1)
    g.library.function[0].ret["y"] = "one:y:0"
    c.step(extend=g.SerializeToString(deterministic=True), version=2)
    yield works(c)


def runs():
    x, y = ("x:0", f32([1, 2])), ("x:0", f32([3, 4]))

    def session(name):
        c = Flow("run/" + name)
        c.keep_unimplemented = True
        c.graph.placeholder("x", "float32", shape=[2])
        c.graph.placeholder("i", "int32")
        c.graph.node("neg", "Neg", ["x"], T="float32")
        c.graph.const("k", f32([5, 6]))
        c.graph.node("sum", "AddV2", ["neg", "k"], T="float32")
        c.graph.const("axis", i32(0))
        c.graph.node("sp", "Split", ["axis", "k"], T="float32", num_split=2)
        c.graph.node("nop", "NoOp", ["^k"])
        c.graph.node("v", "VariableV2", dtype="float32", shape=[2])
        c.graph.node("set", "Assign", ["v", "k"], T="float32")
        c.graph.node("read", "Identity", ["v"], T="float32")
        return c

    c = session("fetches, feeds and targets")
    for feeds, fetches, targets in [
        ([], [], []), ([x], [], []), ([x, y], ["neg:0"], []), ([x], ["x:0"], []), ([x], ["neg:0", "x:0"], []), ([], ["nothing:0"], []), ([], ["nothing"], []),
        ([("nothing:0", f32(1))], ["k:0"], []), ([], [], ["nothing"]), ([], ["k:1"], []), ([], ["sp:2"], []), ([], ["sp:1"], []), ([], ["nop:0"], []), ([], ["^k"], []),
        ([("^x", f32([1, 2]))], ["neg:0"], []), ([("k:1", f32(1))], ["k:0"], []), ([], ["neg:0"], []), ([], [], ["x"]), ([], [], ["nop:0"]), ([], [], ["^nop"]),
        ([], [], ["sp:7"]), ([x], [], ["neg:0"]), ([], ["k:0"], ["k"]), ([], [""], []), ([], ["k:"], []), ([], ["k:0:0"], []), ([], ["k:a"], []), ([], [":0"], []), ([], [], [""]),
        ([], ["k:-1"], []), ([("", f32(1))], ["k:0"], []), ([x, ("i:0", i32(1))], ["neg:0"], []), ([("k:0", f32([7, 8])), x], ["sum:0"], []),
        ([("neg:0", f32([7, 8]))], ["sum:0"], []), ([("sp:0", f32([9]))], ["sp:1"], []), ([("sum:0", f32([7, 8])), ("neg:0", f32([0, 0]))], ["k:0"], []),
        ([], ["k:0", "k:0"], []),
    ]:
        c.step(feeds, fetches, targets, exact=True)
    yield c
    c = session("feeds of another type or shape")
    for value in (i32([1, 2]), Value([1, 2], "float64"), Value(["a", "b"], "string"), boolean([True, False]), f32([1, 2, 3]), f32(1), f32([[1, 2]]), f32([])):
        c.step([("x:0", value)], ["neg:0"], exact=True)
    c.step([("x:0", f32([1, 2, 3]))], ["sum:0"])
    c.step([("k:0", i32([1, 2])), x], ["sum:0"])
    c.step([("nop:0", f32(1))], ["k:0"])
    yield c
    c = session("names without a slot")
    c.step([("x", f32([1, 2]))], ["neg"], exact=True)
    c.step([("x", f32([1, 2])), ("i", i32(3))], ["sum"], ["nop"], exact=True)
    yield c
    c = session("uninitialised variable")
    for fetch in ("v:0", "read:0"):
        c.step([], [fetch])
    c.step([], [], ["read"])
    c.step([], [], ["v"])
    c.step([], [], ["set"])
    for fetch in ("v:0", "read:0"):
        c.step([], [fetch], exact=True)
    c.step([("v:0", f32([1, 1]))], ["read:0"], exact=True)
    c.step([("v:0", f32([1, 1]))], [], ["set"])
    yield c
    c = session("an error ends the step and not the session")
    c.graph.node("divide", "FloorDiv", ["i", "i"], T="int32")
    c.graph.node("after", "Neg", ["divide"], T="int32")
    for n in (0, 2, 0):
        c.step([("i:0", i32(n))], ["after:0"])
        c.step([("i:0", i32(n)), x], ["neg:0"], ["divide"], exact=True)
        c.step([x], ["neg:0"], exact=True)
    yield c


def cases():
    for family in (nodes, constants, wholes, extensions, runs):
        yield from family()
