"""GraphDefs written node by node, without the Python client's shape inference, and tensors as TensorProto."""
import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, tensor_pb2
from tensorflow.python.framework import kernels, op_def_registry

QUANTISED = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32}
PRODUCER = tf.compat.v1.GRAPH_DEF_VERSION if hasattr(tf.compat.v1, "GRAPH_DEF_VERSION") else tf.version.GRAPH_DEF_VERSION


def numpy_type(dtype):
    if dtype in QUANTISED:
        return np.dtype(QUANTISED[dtype])
    if dtype == "string":
        return np.dtype(object)
    return np.dtype(tf.as_dtype(dtype).as_numpy_dtype)


def enum(dtype):
    return tf.as_dtype(dtype).as_datatype_enum


class Value:
    """An array with TensorFlow's name of its dtype (numpy has no quantised types)."""

    def __init__(self, array, dtype):
        self.dtype = dtype
        self.array = np.asarray(array, numpy_type(dtype)) if dtype != "string" else np.asarray(array, object)

    @property
    def shape(self):
        return self.array.shape

    def proto(self):
        t = tensor_pb2.TensorProto(dtype=enum(self.dtype))
        for n in self.array.shape:
            t.tensor_shape.dim.add(size=n)
        t.tensor_shape.SetInParent()
        if self.dtype == "string":
            t.string_val.extend(s if isinstance(s, bytes) else s.encode() for s in self.array.reshape(-1))
        else:
            t.tensor_content = np.ascontiguousarray(self.array).tobytes()
        return t


def op_def(op):
    found = op_def_registry.get(op)
    if found is None:
        raise KeyError("no op %s" % op)
    return found


def signatures(op, *names):
    """Every combination of the named type attributes that has a CPU kernel, as tuples of dtype names, sorted."""
    out = set()
    for k in kernels.get_registered_kernels_for_op(op).kernel:
        if k.device_type not in ("CPU", "DEFAULT") or k.label:
            continue
        allowed = {c.name: [tf.as_dtype(t).name for t in c.allowed_values.list.type] for c in k.constraint}
        rows = [()]
        for name in names:
            types = allowed.get(name) or declared(op, name)
            rows = [r + (t,) for r in rows for t in types]
        out.update(rows)
    order = {tf.as_dtype(e).name: e for e in range(1, 64) if _known(e)}
    return sorted(out, key=lambda r: [order[t] for t in r])


def _known(e):
    try:
        tf.as_dtype(e)
        return True
    except TypeError:
        return False


def declared(op, name):
    """The types an attribute's declaration allows; without a limit, the plain numeric ones and string, bool."""
    for a in op_def(op).attr:
        if a.name == name:
            types = [tf.as_dtype(t).name for t in a.allowed_values.list.type]
            return types or ["float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64",
                             "bool", "bfloat16", "uint16", "complex128", "float16", "uint32", "uint64"]
    raise KeyError((op, name))


def host_arguments(op):
    """Positions of the shape-like arguments: those a CPU kernel keeps in host memory."""
    names = set()
    for k in kernels.get_registered_kernels_for_op(op).kernel:
        if k.device_type == "CPU":
            names.update(k.host_memory_arg)
    return [i for i, a in enumerate(op_def(op).input_arg) if a.name in names]


class Graph:
    """A GraphDef under construction; node names are given, attributes typed by the op's declaration."""

    def __init__(self):
        self.proto = graph_pb2.GraphDef()
        self.proto.versions.producer = PRODUCER
        self.names = set()

    def node(self, name, op, inputs=(), device="", **attrs):
        n = self.proto.node.add(name=name, op=op, device=device)
        n.input.extend(inputs)
        kinds = {a.name: a.type for a in op_def(op).attr}
        for key, value in attrs.items():
            set_attr(n.attr[key], kinds.get(key), value)
        self.names.add(name)
        return name

    def const(self, name, value, inputs=()):
        self.node(name, "Const", inputs, dtype=value.dtype)
        self.proto.node[-1].attr["value"].tensor.CopyFrom(value.proto())
        return name

    def placeholder(self, name, dtype, shape=None):
        return self.node(name, "Placeholder", dtype=dtype, shape=shape)

    def bytes(self):
        return self.proto.SerializeToString(deterministic=True)


def set_attr(a, kind, value):
    if kind is None:
        kind = {bool: "bool", int: "int", float: "float", str: "string", bytes: "string"}.get(type(value), "list(string)")
    if kind.startswith("list("):
        a.list.SetInParent()
        item = kind[5:-1]
        for v in value:
            if item == "type":
                a.list.type.append(enum(v))
            elif item == "shape":
                a.list.shape.append(tf.TensorShape(v).as_proto())
            elif item == "string":
                a.list.s.append(v if isinstance(v, bytes) else v.encode())
            else:
                getattr(a.list, {"int": "i", "float": "f", "bool": "b"}[item]).append(v)
    elif kind == "type":
        a.type = enum(value)
    elif kind == "shape":
        a.shape.CopyFrom(tf.TensorShape(value).as_proto())
    elif kind == "tensor":
        a.tensor.CopyFrom(value.proto())
    elif kind == "string":
        a.s = value if isinstance(value, bytes) else value.encode()
    elif kind == "func":
        a.func.name = value
    else:
        setattr(a, {"int": "i", "float": "f", "bool": "b"}[kind], value)


def inferred_attrs(op, args, attrs):
    """Fills in the type and count attributes that the arguments imply."""
    out = dict(attrs)
    for spec, arg in zip(op_def(op).input_arg, args):
        if spec.number_attr:
            out.setdefault(spec.number_attr, len(arg))
            if spec.type_attr and arg:
                out.setdefault(spec.type_attr, arg[0].dtype)
        elif spec.type_list_attr:
            out.setdefault(spec.type_list_attr, [a.dtype for a in arg])
        elif spec.type_attr:
            out.setdefault(spec.type_attr, arg.dtype)
    return out


def outputs(op, attrs):
    """Dtype names of the outputs, with declared defaults where an attribute is absent."""
    d = op_def(op)
    defaults = {a.name: a.default_value for a in d.attr}

    def attr(name):
        if name in attrs:
            return attrs[name]
        v = defaults[name]
        return tf.as_dtype(v.type).name if v.WhichOneof("value") == "type" else v.i

    out = []
    for o in d.output_arg:
        if o.type_list_attr:
            out += list(attrs[o.type_list_attr])
            continue
        t = attr(o.type_attr) if o.type_attr else tf.as_dtype(o.type).name
        out += [t] * (attr(o.number_attr) if o.number_attr else 1)
    return out
