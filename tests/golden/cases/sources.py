"""Where values come from: casts between dtypes, constants in every encoding, placeholders, no-ops and asserts."""
import numpy as np
from tensorflow.core.framework import tensor_pb2

from graphs import Value, enum, numpy_type
from suite import Case

PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
         "complex64", "complex128"]
SMALL = ["float8_e5m2", "float8_e4m3fn", "int4", "uint4"]
UNSIGNED = ("bool", "uint8", "uint16", "uint32", "uint64", "uint4")


def source(c, shape, src, dst):
    """Values that both dtypes can hold, so that no conversion is out of range."""
    if src == "bool":
        return c.values(shape, src)
    low, high = (0, 7) if dst in SMALL or src in SMALL else (0, 100)
    if src not in UNSIGNED and dst not in UNSIGNED:
        low = -high
    if "int" in src and ("float" in dst or "complex" in dst or "int" in dst):
        return c.values(shape, src, low=low, high=high)
    return c.values(shape, src, low=low, high=high) if not src.startswith("complex") else c.values(shape, src)


def casts():
    for src in PLAIN + SMALL:
        for dst in PLAIN + SMALL:
            if src.startswith("complex") and dst in UNSIGNED + ("int4",) and dst != "bool":
                continue
            c = Case("Cast/%s/%s" % (src, dst))
            c.run("Cast", source(c, (7,), src, dst), DstT=dst, exact=True)
            if src in PLAIN and dst in PLAIN:
                c.run("Cast", source(c, (2, 3), src, dst), DstT=dst, exact=True)
                c.run("Cast", source(c, (), src, dst), DstT=dst, exact=True)
                c.run("Cast", source(c, (0, 2), src, dst), DstT=dst, exact=True)
            yield c
    for src, dst in [("float32", "float16"), ("float32", "bfloat16"), ("float64", "float32"), ("float64", "float16"), ("float64", "bfloat16"),
                     ("float32", "float8_e5m2"), ("float32", "float8_e4m3fn")]:
        c = Case("Cast/%s/%s/rounding" % (src, dst))
        array = np.array([1.0009766, 1.00390625, 1.001953125, 1e-8, 6e-8, 3e-6, 65504, 65519, 65520, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.0, -0.0,
                          2.0**-24, 2.0**-25, 448, 464, 465, 57344, 61440, 1.0625, 1.125, 1.1875])
        c.run("Cast", Value(array, src), DstT=dst, mode="feed", exact=True)
        c.run("Cast", Value(array, src), DstT=dst, attrs={"Truncate": True}, mode="feed", exact=True)
        yield c
    for src in ("float32", "float64"):
        for dst in ("int32", "int64"):
            c = Case("Cast/%s/%s/out_of_range" % (src, dst))
            for n in (1, 2, 5):
                c.run("Cast", Value(np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9 if dst == "int32" else 1e19, -2.9, 2.9])[:n * 8 // 5], src), DstT=dst,
                      mode="feed")
            yield c
    for src, dst in [("int32", "int8"), ("int32", "uint8"), ("int64", "int32"), ("int32", "uint64"), ("uint32", "int32"), ("int64", "uint16"), ("int16", "uint32")]:
        c = Case("Cast/%s/%s/wraps" % (src, dst))
        c.run("Cast", c.values((16,), src, extreme=True), DstT=dst)
        yield c
    c = Case("Cast/string")
    c.run("Cast", c.values((2,), "string"), DstT="float32", mode="feed")
    c.keep_unimplemented = True
    yield c


FIELDS = {
    "float32": ("float_val", [1.5, -2.25, np.inf]), "float64": ("double_val", [1.5, -2.25, 1e300]), "int32": ("int_val", [1, -2, 2**31 - 1]),
    "int16": ("int_val", [1, -2, 300]), "int8": ("int_val", [1, -2, 127]), "uint8": ("int_val", [1, 2, 255]), "uint16": ("int_val", [1, 2, 65535]),
    "int64": ("int64_val", [1, -2, 2**62]), "uint32": ("uint32_val", [1, 2, 2**32 - 1]), "uint64": ("uint64_val", [1, 2, 2**64 - 1]),
    "bool": ("bool_val", [True, False, True]), "string": ("string_val", [b"a", b"", b"\xffbc"]), "float16": ("half_val", [0x3E00, 0xC080, 0x7C00]),
    "bfloat16": ("half_val", [0x3FC0, 0xC010, 0x7F80]), "complex64": ("scomplex_val", [1.0, 2.0, -1.0, 0.5, 0.0, -3.0]),
    "complex128": ("dcomplex_val", [1.0, 2.0, -1.0, 0.5, 0.0, -3.0]), "qint8": ("int_val", [1, -2, 3]), "quint8": ("int_val", [1, 2, 3]),
    "qint32": ("int_val", [1, -2, 3]), "int4": ("int_val", [1, -2, 7]), "uint4": ("int_val", [1, 2, 15]),
}


def proto(dtype, dims, **fields):
    t = tensor_pb2.TensorProto(dtype=enum(dtype))
    t.tensor_shape.SetInParent()
    for n in dims:
        t.tensor_shape.dim.add(size=n)
    for k, v in fields.items():
        if isinstance(v, bytes):
            setattr(t, k, v)
        else:
            getattr(t, k).extend(v)
    return t


def encodings():
    """The same constants fed and in the graph: whole, shortened so that the last value repeats, empty, too long."""
    for dtype, (field, values) in FIELDS.items():
        c = Case("Const/%s/encodings" % dtype)
        per = 2 if dtype.startswith("complex") else 1
        n = len(values) // per
        for dims, count in [((n,), n), ((5,), n), ((2, 2), 1), ((), 1), ((3,), 0), ((0,), 0), ((2,), n), ((), n)]:
            t = proto(dtype, dims, **{field: values[: count * per]})
            constant(c, dtype, t)
        if dtype not in ("string", "int4", "uint4"):
            array = np.arange(4).astype(numpy_type(dtype)) if dtype != "bool" else np.array([0, 1, 1, 0], bool)
            constant(c, dtype, proto(dtype, (2, 2), tensor_content=array.tobytes()))
        yield c


def constant(c, dtype, t):
    name = "const%d" % len(c.steps)
    c.graph.node(name, "Const", dtype=dtype)
    c.graph.proto.node[-1].attr["value"].tensor.CopyFrom(t)
    c.graph.node(name + "/copy", "Identity", [name], T=dtype)
    fetch = name + "/copy:0"
    c.step([], [fetch], exact=True)
    c.step([(name + ":0", t.SerializeToString())], [fetch], exact=True)


def bad_encodings():
    """Tensors that cannot be decoded, as feeds."""
    c = Case("Placeholder/undecodable feeds")
    for dtype in ("float32", "string", "int64"):
        c.graph.placeholder(dtype, dtype)
        c.graph.node(dtype + "/copy", "Identity", [dtype], T=dtype)
    big = 1 << 62

    def feed(name, t):
        c.step([(name + ":0", t.SerializeToString())], [name + "/copy:0"])

    feed("float32", proto("float32", (2,), tensor_content=b"1234567"))
    feed("float32", proto("float32", (2,), tensor_content=b"123456789012"))
    feed("float32", proto("float32", (), tensor_content=b""))
    feed("float32", proto("float32", (-1,), float_val=[1.0]))
    feed("float32", proto("float32", (-2,), float_val=[1.0]))
    feed("float32", proto("float32", (big, big), float_val=[1.0]))
    feed("float32", proto("float32", (1 << 32, 1 << 32), float_val=[1.0]))
    feed("float32", proto("float32", (big, 4, 0), float_val=[]))
    feed("float32", proto("float32", (0, 1 << 40), float_val=[]))
    feed("float32", proto("float32", (1,) * 254, float_val=[1.0]))
    feed("float32", proto("float32", (1,) * 255, float_val=[1.0]))
    t = proto("float32", (1,), float_val=[1.0])
    for number in (0, 101, 99):
        t.dtype = number
        feed("float32", t)
    feed("float32", proto("int64", (1,), int64_val=[1]))
    feed("float32", proto("float64", (1,), double_val=[1]))
    feed("int64", proto("int32", (1,), int_val=[1]))
    feed("string", proto("string", (2,), tensor_content=b"\x05\x01ab"))
    feed("string", proto("string", (2,), tensor_content=b"\x01\x01ab"))
    t = proto("float32", (), float_val=[7.0])
    t.tensor_shape.unknown_rank = True
    feed("float32", t)
    yield c


def placeholders():
    c = Case("Placeholder/feeding")
    c.graph.placeholder("x", "float32", shape=[2])
    c.graph.placeholder("any", "int32", shape=None)
    c.graph.node("d", "PlaceholderWithDefault", ["k"], dtype="float32", shape=[2])
    c.graph.const("k", Value([1, 2], "float32"))
    for n in ("x", "d"):
        c.graph.node(n + "/copy", "Identity", [n], T="float32")
    two, three = Value([3, 4], "float32"), Value([3, 4, 5], "float32")
    c.step([], ["x/copy:0"])
    c.step([], ["x:0"])
    c.step([], [], ["x"])
    c.step([("x:0", two)], ["x/copy:0"], exact=True)
    c.step([("x:0", three)], ["x/copy:0"], exact=True)
    c.step([], ["d/copy:0"], exact=True)
    c.step([("d:0", three)], ["d/copy:0"], exact=True)
    c.step([("k:0", three)], ["d/copy:0"], exact=True)
    c.step([("x/copy:0", two), ("any:0", Value(1, "int32"))], ["d:0"], exact=True)
    yield c
    c = Case("Placeholder/V2 and dtypes")
    for i, t in enumerate(PLAIN + ["string", "qint8", "int4", "uint4", "float8_e5m2", "float8_e4m3fn"]):
        c.graph.node("p%d" % i, "Placeholder" if i % 2 else "PlaceholderV2", dtype=t, shape=[])
        c.graph.node("i%d" % i, "Identity", ["p%d" % i], T=t)
        c.step([("p%d:0" % i, c.values((3,), t))], ["i%d:0" % i], exact=True)
    yield c


def side_effects():
    c = Case("NoOp/targets")
    c.graph.node("a", "NoOp")
    c.graph.node("b", "NoOp", ["^a", "^k"])
    c.graph.const("k", Value(1, "float32"))
    for targets in (["a"], ["b"], ["b", "a"], ["k"], ["k:0"], ["^k"]):
        c.step([], [], targets)
    c.step([], ["k:0"], ["b"], exact=True)
    yield c
    c = Case("Assert/messages")
    c.graph.placeholder("ok", "bool")
    c.graph.const("text", Value("what was wrong", "string"))
    c.graph.const("more", Value([1.5, 2.5, 3.5, 4.5], "float32"))
    for n in (1, 3):
        c.graph.node("assert%d" % n, "Assert", ["ok", "text", "more"], T=["string", "float32"], summarize=n)
        c.graph.node("after%d" % n, "Identity", ["more", "^assert%d" % n], T="float32")
        for ok in (True, False):
            c.step([("ok:0", Value(ok, "bool"))], ["after%d:0" % n])
    c.step([("ok:0", Value([True], "bool"))], [], ["assert1"])
    c.step([("ok:0", Value([True, False], "bool"))], [], ["assert1"])
    yield c


def cases():
    for family in (casts, encodings, bad_encodings, placeholders, side_effects):
        yield from family()
