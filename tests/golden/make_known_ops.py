"""Writes core/src/ops/known.txt: the signature of every op that TensorFlow has, one sorted line `Name|args|attrs|flags`.

    venv/bin/python make_known_ops.py

The text forms are those of core/src/ops/signature.rs; flags are `s` (stateful), `c` (commutative) and `u` (reads
uninitialised references). A default that the forms do not have (tensors, lists of shapes) is left out: such an attribute
has to be given.
"""
import pathlib

import tensorflow  # noqa: F401 (registers the ops)
from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python.client import pywrap_tf_session

OUT = pathlib.Path(__file__).resolve().parents[2] / "core/src/ops/known.txt"


def type_name(number):
    return types_pb2.DataType.Name(number).removeprefix("DT_").lower()


def argument(arg):
    kind = type_name(arg.type) if arg.type else arg.type_attr or arg.type_list_attr
    if arg.is_ref:
        kind = f"Ref({kind})"
    if arg.number_attr:
        kind = f"{arg.number_attr} * {kind}"
    return f"{arg.name}: {kind}"


def text(value, kind):
    if kind == "type":
        return type_name(value.type)
    if kind == "bool":
        return "true" if value.b else "false"
    if kind == "string":
        return f"'{value.s.decode()}'"
    if kind == "int":
        return str(value.i)
    if kind == "float":
        return repr(float(f"{value.f:.9g}"))
    if kind == "shape":
        if value.shape.unknown_rank:
            return "?"
        return "[" + ",".join(str(d.size) for d in value.shape.dim) + "]"
    return None


def listed(value, kind):
    values = value.list
    if kind == "type":
        items = [type_name(t) for t in values.type]
    elif kind == "bool":
        items = ["true" if b else "false" for b in values.b]
    elif kind == "string":
        items = [f"'{s.decode()}'" for s in values.s]
    elif kind == "int":
        items = [str(i) for i in values.i]
    elif kind == "float":
        items = [repr(float(f"{f:.9g}")) for f in values.f]
    elif kind in ("shape", "func", "tensor"):
        if values.shape or values.func or values.tensor:
            return None
        items = []
    return "[" + ", ".join(items) + "]"


def attribute(attr):
    kind = attr.type.removeprefix("list(").removesuffix(")")
    is_list = kind != attr.type
    form = kind
    if attr.HasField("allowed_values"):
        form = "{" + listed(attr.allowed_values, kind)[1:-1] + "}"
    if is_list:
        form = f"list({form})"
    if attr.has_minimum:
        form += f" >= {attr.minimum}"
    if attr.HasField("default_value"):
        default = (listed if is_list else text)(attr.default_value, kind)
        if default is not None:
            form += f" = {default}"
    return f"{attr.name}: {form}"


def line(op):
    inputs, outputs = (", ".join(map(argument, args)) for args in (op.input_arg, op.output_arg))
    flags = ("s" if op.is_stateful else "") + ("c" if op.is_commutative else "") + \
        ("u" if op.allows_uninitialized_input else "")
    written = f"{op.name}|{inputs} -> {outputs}|{'; '.join(map(attribute, op.attr))}|{flags}"
    return written.replace("\n", "\\n").replace("\t", "\\t")


def main():
    registered = op_def_pb2.OpList()
    registered.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    lines = [line(op) for op in sorted(registered.op, key=lambda op: op.name)]
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{OUT}: {len(lines)} ops")


if __name__ == "__main__":
    main()
