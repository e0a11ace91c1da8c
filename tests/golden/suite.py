"""Cases under construction: a session's graph and steps, then TensorFlow's answers, then golden.proto bytes."""
import re
import zlib

import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

import wire
from graphs import Graph, Value, host_arguments, inferred_attrs, outputs, enum, numpy_type
from oracle import Crashed, complain, plain_config

# Relative and absolute tolerance of a kernel that rounds more than once.
TOLERANCE = {
    "float64": (1e-11, 1e-13), "complex128": (1e-11, 1e-13),
    "float32": (1e-5, 1e-6), "complex64": (1e-5, 1e-6),
    "float16": (3e-3, 1e-3), "bfloat16": (2e-2, 8e-3),
}
UNIMPLEMENTED = 12
LIMITS = ("not yet support", "not supported on CPU", "only supports equal length")
UNREADABLE = ("resource", "variant")


class Step:
    def __init__(self, feeds=(), fetches=(), targets=(), tolerance=None, exact=False, extend=None, version=0):
        self.feeds = [(n, v if isinstance(v, bytes) else v.proto().SerializeToString(deterministic=True)) for n, v in feeds]
        self.fetches, self.targets = list(fetches), list(targets)
        self.tolerance, self.exact = tolerance or (0.0, 0.0), exact
        self.extend, self.version = extend, version
        self.code, self.message, self.expected = 0, "", []

    def bytes(self):
        out = b"".join(wire.named(1, n, t) for n, t in self.feeds)
        out += b"".join(wire.data(2, n) for n in self.fetches)
        out += b"".join(wire.data(3, n) for n in self.targets)
        out += b"".join(wire.named(4, n, t) for n, t in self.expected)
        out += wire.integer(5, self.code)
        if self.message:
            out += wire.data(6, self.message[:120])
        if not self.exact:
            out += wire.double(7, self.tolerance[0]) + wire.double(8, self.tolerance[1])
        out += wire.integer(9, self.exact)
        if self.extend is not None:
            out += wire.data(10, self.extend) + wire.integer(11, self.version)
        return out


class Case:
    """One session.  `run` adds an instance of an op under test; `step` adds a step on nodes made by hand."""

    def __init__(self, name, config=None):
        self.name, self.graph, self.steps = name, Graph(), []
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.config, self.create_code, self.create_message = config, 0, ""
        self.raw, self.keep_unimplemented, self.refused = None, False, False
        self.made, self.turn = {}, 0

    def values(self, shape, dtype, **how):
        return draw(self.rng, shape, dtype, **how)

    def run(self, op, *args, mode=None, exact=False, tolerance=None, scale=1.0, fetch=None, attrs=None, **more):
        """Runs `op` on values.  Modes: all arguments fed, all constants, or the shape-like ones constant; by turns.

        Attributes come by name, or in `attrs` where their name is one of this method's own."""
        attrs = inferred_attrs(op, args, {**(attrs or {}), **more})
        host = host_arguments(op)
        if mode is None:
            turn, self.turn = self.turn, self.turn + 1
            mode = ["feed", "mixed" if host else "feed", "const"][turn % 3]
        key = (op, mode, repr(sorted((k, repr(v.array) if isinstance(v, Value) else v) for k, v in attrs.items())))
        feeds, names, flat = [], [], []
        for position, arg in enumerate(args):
            for value in arg if isinstance(arg, (list, tuple)) else [arg]:
                flat.append((value, mode == "const" or (mode == "mixed" and position in host)))
        reuse = mode == "feed" and self.made.get(key)
        node = reuse or "%s%d" % (mode[0], len(self.made))
        self.made[key if mode == "feed" else node] = node
        for i, (value, constant) in enumerate(flat):
            name = "%s/%d" % (node, i)
            if constant:
                self.graph.const(name, value)
            elif not reuse:
                self.graph.placeholder(name, value.dtype)
            if not constant:
                feeds.append((name + ":0", value))
            names.append(name)
        if not reuse:
            self.graph.node(node, op, names, **attrs)
        types = outputs(op, attrs)
        fetches = ["%s:%d" % (node, i) for i, t in enumerate(types) if t not in UNREADABLE]
        if fetch is not None:
            fetches = [fetches[i] for i in fetch]
        if tolerance is None:
            pairs = [TOLERANCE.get(t, (0, 0)) for t in types]
            tolerance = (max(p[0] for p in pairs), max(p[1] for p in pairs) * scale) if pairs else None
        self.step(feeds, fetches, [] if fetches else [node], tolerance=tolerance, exact=exact)

    def step(self, feeds=(), fetches=(), targets=(), **how):
        if isinstance(feeds, dict):
            feeds = feeds.items()
        self.steps.append(Step(feeds, fetches, targets, **how))

    def ask(self, oracle):
        """Runs the case against TensorFlow and keeps its answers; False when TensorFlow itself did not survive it."""
        config = self.config or plain_config()
        graph = self.raw if self.raw is not None else self.graph.bytes()
        try:
            self.create_code, self.create_message, handle = oracle.create(graph, config.SerializeToString())
            if self.create_code:
                if not self.refused:
                    raise SystemExit("%s: the session was refused: %s" % (self.name, self.create_message))
                self.steps = []
                return True
            for step in self.steps:
                if step.extend is not None:
                    step.code, step.message = oracle.extend(handle, step.extend, step.version)
                    continue
                step.code, text, found = oracle.run(handle, step.feeds, step.fetches, step.targets)
                step.message = reason(text)
                step.expected = [(n, readable(t)) for n, t in sorted(found.items())]
            if not self.keep_unimplemented:
                self.steps = [s for s in self.steps if not own_limit(s)]
            oracle.close(handle)
        except Crashed as e:
            complain("%s: left out, TensorFlow did not survive it: %s" % (self.name, e))
            return False
        return True

    def bytes(self):
        out = wire.data(1, self.name) + wire.data(2, self.raw if self.raw is not None else self.graph.bytes())
        out += b"".join(wire.data(3, s.bytes()) for s in self.steps) + wire.integer(4, self.create_code)
        if self.config is not None:
            out += wire.data(5, self.config.SerializeToString(deterministic=True))
        return out


def own_limit(step):
    """True for what TensorFlow's CPU kernels do not do: not asked of others."""
    return step.code == UNIMPLEMENTED or any(words in step.message for words in LIMITS)


def reason(text):
    """The op's own words: neither the task prefix nor the node trailer, which differ between runs."""
    if text.startswith("From /job:"):
        text = text.split("\n", 1)[-1]
    return re.sub(r"goo.gle/debug\w+ *|\b\d{9,}\b|\b[0-9a-f]{16}\b", "N", text.split("\n", 1)[0])


def readable(tensor):
    """String tensors come back as lengths and bytes in tensor_content; they are kept as string_val."""
    t = tensor_pb2.TensorProto.FromString(tensor)
    if t.dtype != enum("string") or not t.tensor_content:
        return t.SerializeToString(deterministic=True)
    content, at, sizes = t.tensor_content, 0, []
    for _ in range(int(np.prod([d.size for d in t.tensor_shape.dim], dtype=np.int64))):
        shift = value = 0
        while True:
            value |= (content[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if content[at - 1] < 0x80:
                break
        sizes.append(value)
    t.tensor_content = b""
    for n in sizes:
        t.string_val.append(content[at : at + n])
        at += n
    return t.SerializeToString(deterministic=True)


def as_text(tensor):
    t = tensor_pb2.TensorProto.FromString(tensor)
    if t.dtype == enum("string"):
        return list(t.string_val)
    return np.frombuffer(t.tensor_content, numpy_type(tf.as_dtype(t.dtype).name)).tolist()


def draw(rng, shape, dtype, low=None, high=None, extreme=False, special=False):
    """Values of any dtype.  `extreme`: the whole integer range; `special`: floats with NaN, infinities and zeros."""
    shape = tuple(shape)
    if dtype == "string":
        words = [b"", b"a", b"bc", b"\xff\x00z", "h\u00e9".encode(), b"longer than a small string may be"]
        array = np.empty(shape, object)
        for i in np.ndindex(*shape):
            array[i] = words[rng.integers(len(words))]
        return Value(array, dtype)
    if dtype == "bool":
        return Value(rng.integers(0, 2, shape).astype(bool), dtype)
    t = numpy_type(dtype)
    if dtype.startswith("complex"):
        array = np.round(rng.normal(0, 2, shape), 2) + 1j * np.round(rng.normal(0, 2, shape), 2)
        return Value(np.asarray(array).astype(t), dtype)
    if t.kind == "f" or "float" in t.name:
        if low is not None:
            array = rng.uniform(low, high, shape)
        else:
            array = rng.normal(0, 3, shape)
        array = np.asarray(np.asarray(array).astype(t))
        if special and array.size:
            flat = array.reshape(-1)
            picks = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]
            for i, p in zip(rng.permutation(flat.size), picks):
                flat[i] = t.type(p)
            array = flat.reshape(shape)
        return Value(array, dtype)
    info = ml_dtypes.iinfo(t)
    lo, hi = (int(info.min), int(info.max)) if extreme else (max(int(info.min), -20), min(int(info.max), 20))
    lo, hi = (lo if low is None else max(int(low), lo)), (hi if high is None else min(int(high), hi))
    array = np.array([int(x) for x in rng.integers(lo, hi, int(np.prod(shape)), endpoint=True, dtype=np.int64 if hi < 2**63 else np.uint64)],
                     dtype=object).reshape(shape)
    return Value(array.astype(t), dtype)


def write(path, cases):
    out = b"".join(wire.data(1, c.bytes()) for c in cases)
    with open(path, "wb") as f:
        f.write(out)
    steps = [s for c in cases for s in c.steps]
    print("%-22s %5d cases %6d steps (%d errors) %8d bytes" % (
        path.rsplit("/", 1)[-1], len(cases), len(steps), sum(1 for s in steps if s.code), len(out)), flush=True)
