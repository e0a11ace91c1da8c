"""Write tensor_protos.txt: TensorProtos in every encoding, and what TensorFlow reads from each.

Run with a Python that has tensorflow-cpu 2.21:  python tensor_protos.py

A line is `NAME PROTO RESULT`. PROTO is the serialized message in hex. RESULT is `invalid` where a Const of it cannot be
run, else the elements as they lie in memory in hex, or for strings each in hex with commas between. `-` is nothing.
"""
import os

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, tensor_pb2, types_pb2 as t

v1 = tf.compat.v1


def read(proto):
    """The array that TensorFlow makes of `proto`, or None."""
    graph = graph_pb2.GraphDef()
    node = graph.node.add(name="c", op="Const")
    node.attr["dtype"].type = proto.dtype
    node.attr["value"].tensor.CopyFrom(proto)
    with v1.Graph().as_default():
        try:
            v1.import_graph_def(graph, name="")
            with v1.Session() as session:
                return np.asarray(session.run("c:0"))
        except (ValueError, tf.errors.InvalidArgumentError):
            return None


def proto(dtype, dims, **fields):
    made = tensor_pb2.TensorProto(dtype=dtype, **fields)
    made.tensor_shape.SetInParent()
    for dim in dims:
        made.tensor_shape.dim.add().size = dim
    return made


def hexed(data):
    return data.hex() or "-"


def line(name, made):
    found = read(made)
    if found is None:
        result = "invalid"
    elif made.dtype == t.DT_STRING:
        result = ",".join(hexed(e) for e in found.reshape(-1)) or "-"
    else:
        result = hexed(found.tobytes())
    return f"{name} {hexed(made.SerializeToString(deterministic=True))} {result}\n"


def made_by_clients():
    """What make_tensor_proto writes: raw bytes for arrays, typed fields for Python values and for strings."""
    values = [-2, 0, 1, 3]
    for dtype in (t.DT_FLOAT, t.DT_DOUBLE, t.DT_HALF, t.DT_BFLOAT16, t.DT_INT8, t.DT_INT16, t.DT_INT32, t.DT_INT64,
                  t.DT_UINT8, t.DT_UINT16, t.DT_UINT32, t.DT_UINT64, t.DT_BOOL, t.DT_COMPLEX64, t.DT_COMPLEX128,
                  t.DT_FLOAT8_E5M2, t.DT_FLOAT8_E4M3FN, t.DT_INT4, t.DT_UINT4):
        kind = tf.dtypes.as_dtype(dtype)
        array = np.abs(values) if kind.is_unsigned or kind.name == "uint4" else np.array(values)
        array = array.astype(kind.as_numpy_dtype)
        yield f"array/{kind.name}", tf.make_tensor_proto(array.reshape(2, 2), dtype=kind)
        yield f"scalar/{kind.name}", tf.make_tensor_proto(array[3], dtype=kind)
        yield f"filled/{kind.name}", tf.make_tensor_proto(array[3], dtype=kind, shape=[3])
        yield f"empty/{kind.name}", tf.make_tensor_proto(array[:0], dtype=kind)
    yield "array/string", tf.make_tensor_proto(np.array([b"a", b"", b"\xff\x00c"], dtype=object))
    yield "scalar/string", tf.make_tensor_proto(b"text")
    yield "list/float", tf.make_tensor_proto([1.5, -2.5, float("nan")], dtype=tf.float32)


def typed_fields():
    """Each dtype's own field with too few, no and too many values, and values wider than the dtype."""
    ints = (t.DT_INT32, t.DT_INT16, t.DT_UINT16, t.DT_INT8, t.DT_UINT8, t.DT_QINT8, t.DT_QUINT8, t.DT_QINT16,
            t.DT_QUINT16, t.DT_QINT32, t.DT_INT4, t.DT_UINT4, t.DT_INT2, t.DT_UINT2)
    fields = {
        t.DT_FLOAT: ("float_val", [1.5, -0.0, float("inf")]),
        t.DT_DOUBLE: ("double_val", [1.5, -0.0, 1e300]),
        t.DT_INT64: ("int64_val", [1, -1, -(2**63)]),
        t.DT_UINT32: ("uint32_val", [1, 0, 2**32 - 1]),
        t.DT_UINT64: ("uint64_val", [1, 0, 2**64 - 1]),
        t.DT_BOOL: ("bool_val", [False, True, True]),
        t.DT_COMPLEX64: ("scomplex_val", [1, 2, 3, 4, 5]),
        t.DT_COMPLEX128: ("dcomplex_val", [1, 2, 3, 4, 5]),
        t.DT_HALF: ("half_val", [0x3C00, 0x13C00, -1]),
        t.DT_BFLOAT16: ("half_val", [0x3F80, 0x13F80, -1]),
        t.DT_STRING: ("string_val", [b"a", b"", b"\xff\x00"]),
        **{dtype: ("int_val", [1, 70000, -129]) for dtype in ints},
        **{dtype: ("float8_val", b"\x01\x07\x0f") for dtype in (
            t.DT_FLOAT8_E5M2, t.DT_FLOAT8_E4M3FN, t.DT_FLOAT8_E4M3FNUZ, t.DT_FLOAT8_E4M3B11FNUZ,
            t.DT_FLOAT8_E5M2FNUZ, t.DT_FLOAT4_E2M1FN)},
    }
    for dtype, (field, values) in sorted(fields.items()):
        name = t.DataType.Name(dtype)[3:].lower()
        yield f"few/{name}", proto(dtype, [2, 3], **{field: values})
        yield f"one/{name}", proto(dtype, [2], **{field: values[:1]})
        yield f"none/{name}", proto(dtype, [2])
        yield f"many/{name}", proto(dtype, [1], **{field: values})
        yield f"no-elements/{name}", proto(dtype, [0, 3], **{field: values})


def odd_ones():
    one = b"\0\0\x80?"
    yield "no-shape", tensor_pb2.TensorProto(dtype=t.DT_FLOAT, float_val=[7])
    yield "both", proto(t.DT_FLOAT, [1], tensor_content=one, float_val=[5])
    yield "other-field", proto(t.DT_FLOAT, [2], int_val=[5])
    yield "content-without-elements", proto(t.DT_FLOAT, [0], tensor_content=one)
    yield "content-short", proto(t.DT_FLOAT, [2], tensor_content=b"\0" * 7)
    yield "content-long", proto(t.DT_FLOAT, [2], tensor_content=b"\0" * 9)
    yield "bool-of-7", proto(t.DT_BOOL, [3], tensor_content=b"\0\x07\x01")
    yield "int4-content", proto(t.DT_INT4, [3], tensor_content=b"\x07\xf8\x18")
    yield "negative", proto(t.DT_FLOAT, [-1], float_val=[1])
    yield "negative-behind-zero", proto(t.DT_FLOAT, [0, -5], float_val=[1])
    yield "reference", proto(t.DT_FLOAT_REF, [1], float_val=[1])
    yield "dtype-0", proto(t.DT_INVALID, [1], float_val=[1])
    yield "overflow", proto(t.DT_FLOAT, [1 << 40, 1 << 40], float_val=[1])
    yield "rank-255", proto(t.DT_FLOAT, [1] * 255, float_val=[1])
    for name, dims in (("unknown-rank", []), ("unknown-rank-with-dimensions", [2])):
        made = proto(t.DT_FLOAT, dims, float_val=[3, 4])
        made.tensor_shape.unknown_rank = True
        yield name, made
    for name, dims, content in (("list", [2], b"\x01\x02xyz"), ("short", [2], b"\x01\x03xyz"),
                                ("long", [2], b"\x01\x01xyz"), ("few", [2], b"\x01"),
                                ("wide-length", [1], b"\x81\x00x"), ("no-elements", [0], b"x")):
        yield f"string-content/{name}", proto(t.DT_STRING, dims, tensor_content=content)


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "tensor_protos.txt"), "w") as out:
    for cases in (made_by_clients, typed_fields, odd_ones):
        for name, made in cases():
            out.write(line(name, made))
