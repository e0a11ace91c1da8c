"""Functions: calls, conditionals and loops as TensorFlow's own front end writes them, and definitions written by hand.

Graphs with If, Case and While are asked twice: marked for lowering, as the front end does, and not marked ("kernel")."""
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import function as legacy

from graphs import Value
from suite import Case

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.enable_control_flow_v2()
v1.enable_resource_variables()

TABLE = []


def f32(x):
    return Value(np.asarray(x, np.float32), "float32")


def i32(x):
    return Value(np.asarray(x, np.int32), "int32")


def boolean(x):
    return Value(np.asarray(x, bool), "bool")


class Made(Case):
    """A case of a graph that TensorFlow's front end made."""

    def __init__(self, name, graph):
        super().__init__(name)
        self.raw, self.refused = graph.SerializeToString(deterministic=True), True
        self.keep_unimplemented = True

    def run(self, *fetches, feeds=(), targets=()):
        self.step(list(feeds), [f if ":" in f else f + ":0" for f in fetches], list(targets), tolerance=(1e-6, 1e-6))
        return self


def clean(graph):
    """Without what only the front end reads."""
    for node in [*graph.node, *(n for f in graph.library.function for n in f.node_def)]:
        node.ClearField("experimental_debug_info")
        for attr in ("_output_shapes", "config_proto", "_read_only_resource_inputs", "_num_original_outputs"):
            node.attr.pop(attr, None)
    for f in graph.library.function:
        f.ClearField("arg_attr")
        f.ClearField("resource_arg_unique_id")
    return graph


def graph_of(build):
    with tf.Graph().as_default() as graph:
        build()
    return clean(graph.as_graph_def())


def all_nodes(graph):
    return [*graph.node, *(n for f in graph.library.function for n in f.node_def)]


def marked(attr):
    """Marks all functions of a graph."""

    def change(graph):
        for f in graph.library.function:
            f.attr[attr].b = True

    return change


def made(name, steps, change=lambda graph: None):
    """Decorates a function that builds a graph.  `steps` gets each case made of it."""

    def decorate(build):
        graph = graph_of(build)
        change(graph)
        forms = {"": graph}
        if any("_lower_using_switch_merge" in n.attr for n in all_nodes(graph)):
            kernels = graph_pb2.GraphDef()
            kernels.CopyFrom(graph)
            for n in all_nodes(kernels):
                n.attr.pop("_lower_using_switch_merge", None)
            forms[", kernel"] = kernels
        for form, graph in forms.items():
            case = Made(name + form, graph)
            steps(case)
            TABLE.append(case)
        return build

    return decorate


def initialised(case, *names):
    case.step([], [], [n + "/Assign" for n in names])
    return case


def variable(name="v", value=1.0):
    return v1.get_variable(name, initializer=tf.constant(value), use_resource=True)


def feed(name, dtype=tf.float32, shape=()):
    return v1.placeholder(dtype, shape, name=name)


# --- calls


@made("call/two outputs, used apart", lambda c: c.run("a", "b", feeds=[("x:0", f32(5))]).run("a", feeds=[("x:0", f32(6))]).run("b", feeds=[("x:0", f32(7))]))
def _():
    @tf.function
    def fn(x):
        return x * 2.0, x + 1.0

    a, b = fn(feed("x"))
    tf.identity(a, "a"), tf.identity(b, "b")


@made("call/nested and repeated", lambda c: c.run("y", feeds=[("x:0", f32([1, 2]))]))
def _():
    @tf.function
    def inner(x):
        return tf.reduce_sum(x) * 3.0

    @tf.function
    def middle(x):
        return inner(x) + inner(x * x)

    @tf.function
    def outer(x):
        return middle(x) - middle(-x)

    tf.identity(outer(feed("x", shape=[2])) + outer(tf.constant([3.0, 4.0])), "y")


@made("call/no inputs", lambda c: c.run("y"))
def _():
    @tf.function
    def fn():
        return tf.constant(2.0) + tf.constant(3.0)

    tf.identity(fn(), "y")


def effects(c):
    initialised(c, "v").run("z").run("r").run("after").run("r").run("StatefulPartitionedCall:1").run("r")
    c.step([], [], ["StatefulPartitionedCall"])
    c.run("r")


@made("call/effects happen whatever is fetched", effects)
def _():
    v = variable()

    @tf.function
    def fn(x):
        v.assign_add(x)
        return x * 2.0, x * 3.0

    z = fn(tf.constant(5.0))[1]
    tf.identity(z, "z")
    tf.identity(v.read_value(), "r")
    with tf.control_dependencies([z]):
        tf.identity(v.read_value(), "after")


@made("call/effects alone", lambda c: initialised(c, "v").run("r").run("after").run("r"))
def _():
    v = variable()

    @tf.function
    def fn():
        v.assign_add(1.0)
        v.assign(v * 2.0)

    tf.identity(v.read_value(), "r")
    fn()
    with tf.control_dependencies(["StatefulPartitionedCall"]):
        tf.identity(v.read_value(), "after")


@made("call/a variable's value comes before what follows in the body", lambda c: initialised(c, "v", "w").run("y").run("y"))
def _():
    v, w = variable(), variable("w", 10.0)

    @tf.function
    def bump(by):
        old = v.read_value()
        v.assign_add(by)
        return old

    @tf.function
    def fn(x):
        first = bump(x)
        w.assign_sub(first)
        second = bump(x * 2.0)
        return tf.stack([first, second, v.read_value(), w.read_value()])

    tf.identity(fn(tf.constant(3.0)), "y")


@made("call/noinline", lambda c: initialised(c, "v").run("y").run("y"), marked("_noinline"))
def _():
    v = variable()

    @tf.function
    def fn(x):
        return v.assign_add(x) * 2.0

    tf.identity(fn(tf.constant(3.0)), "y")


@made("call/compiled by XLA where there is XLA", lambda c: c.run("y", feeds=[("x:0", f32(3))]), marked("_XlaMustCompile"))
def _():
    @tf.function
    def fn(x):
        return x * 2.0 + 1.0

    tf.identity(fn(feed("x")), "y")


@made("call/what fails without being needed", lambda c: c.run("ok").run("asserts"))
def _():
    @tf.function
    def fn(x):
        tf.debugging.check_numerics(x / 0.0, "unneeded")
        return x * 2.0

    @tf.function
    def asserting(x):
        v1.Assert(x > 100.0, [x])
        return x * 2.0

    tf.identity(fn(tf.constant(3.0)), "ok"), tf.identity(asserting(tf.constant(3.0)), "asserts")


@made("call/outputs fed", lambda c: c.run("y", feeds=[("PartitionedCall:0", f32(50))]).run("y").run("PartitionedCall", "PartitionedCall:1"))
def _():
    @tf.function
    def fn(x):
        return x * 2.0, x * 3.0

    a, b = fn(tf.constant(1.0))
    tf.add(a, b, "y")


@made("call/an input passed through", lambda c: c.run("y", "PartitionedCall:0", "PartitionedCall:1", feeds=[("x:0", f32(4))]))
def _():
    @tf.function
    def fn(x, y):
        return y, x

    a, b = fn(feed("x"), tf.constant(2.0))
    tf.subtract(a, b, "y")


@made("call/inside a v1 conditional", lambda c: [initialised(c, "v")] + [c.run("y", "r", feeds=[("p:0", boolean(p))]) for p in (True, False, True)])
def _():
    v = variable()

    @tf.function
    def constants():
        v.assign_add(1.0)
        return tf.constant(1.0) + tf.constant(2.0)

    @tf.function
    def double(x):
        return x * 2.0

    p = feed("p", tf.bool)
    off, on = v1.raw_ops.Switch(data=tf.constant(5.0), pred=p)
    with tf.control_dependencies([tf.identity(on)]):
        a = constants()
    y = v1.raw_ops.Merge(inputs=[a + double(on), double(off)]).output
    tf.identity(y, "y")
    with tf.control_dependencies([y]):
        tf.identity(v.read_value(), "r")


# --- conditionals


def both(*fetches, **feeds):
    def steps(c):
        for p in (True, False):
            c.run(*fetches, feeds=[("p:0", boolean(p)), *((k + ":0", v) for k, v in feeds.items())])

    return steps


@made("cond/values", both("y", "z", "cond:0", "cond:1", x=f32(3)))
def _():
    x = feed("x")
    y, z = tf.cond(feed("p", tf.bool), lambda: (x * 2.0, tf.constant(1)), lambda: (tf.constant(7.0), tf.cast(x, tf.int32)), name="cond")
    tf.identity(y, "y"), tf.identity(z, "z")


@made("cond/nested", lambda c: [c.run("y", feeds=[("p:0", boolean(p)), ("q:0", boolean(q)), ("x:0", f32(3))]) for p in (True, False) for q in (True, False)])
def _():
    x, q = feed("x"), feed("q", tf.bool)
    inner = lambda a: tf.cond(q, lambda: a + 1.0, lambda: a - x)
    tf.identity(tf.cond(feed("p", tf.bool), lambda: inner(x * 10.0) * 2.0, lambda: inner(x * 100.0)), "y")


def cond_effects(c):
    initialised(c, "v")
    for p in (True, False):
        for fetch in ("z", "cond", "after"):
            c.run(fetch, feeds=[("p:0", boolean(p))]).run("r")


@made("cond/effects outside functions", cond_effects)
def _():
    v = variable()
    y = tf.cond(feed("p", tf.bool), lambda: (v.assign_add(5.0), tf.constant(2.0))[1], lambda: tf.constant(3.0), name="cond")
    tf.identity(y + 1.0, "z")
    tf.identity(v.read_value(), "r")
    with tf.control_dependencies([y]):
        tf.identity(v.read_value(), "after")


@made("cond/effects inside a function", lambda c: [initialised(c, "v")] + [c.run("z", feeds=[("p:0", boolean(p))]).run("r") for p in (True, False, True)])
def _():
    v = variable()

    @tf.function
    def fn(p):
        if p:
            v.assign_add(5.0)
        else:
            v.assign_sub(1.0)
        return v.read_value()

    tf.identity(fn(feed("p", tf.bool)), "z")
    tf.identity(v.read_value(), "r")


@made("cond/no outputs", lambda c: [initialised(c, "v")] + [(c.step([("p:0", boolean(p))], [], ["done"]), c.run("r")) for p in (True, False, True)])
def _():
    v = variable()
    op = tf.cond(feed("p", tf.bool), lambda: v.assign_add(5.0).op, lambda: tf.no_op(), name="cond")
    with tf.control_dependencies([op]):
        tf.no_op("done")
    tf.identity(v.read_value(), "r")


@made("cond/calls in branches", both("y", x=f32(3)))
def _():
    @tf.function
    def sq(x):
        return x * x

    x = feed("x")
    tf.identity(tf.cond(feed("p", tf.bool), lambda: sq(x) + sq(x + 1.0), lambda: sq(tf.constant(2.0))), "y")


@made("cond/gradient", both("y", "g", x=f32(3)))
def _():
    x = feed("x")
    y = tf.cond(feed("p", tf.bool), lambda: x * x * tf.sin(x), lambda: tf.exp(x))
    tf.identity(y, "y"), tf.identity(tf.gradients(y, x)[0], "g")


@made("cond/error in the branch taken", both("y", x=i32(0)))
def _():
    x = feed("x", tf.int32)
    tf.identity(tf.cond(feed("p", tf.bool), lambda: 7 // x, lambda: x + 1), "y")


@made("cond/dead", lambda c: [c.run("y", feeds=[("p:0", boolean(p)), ("q:0", boolean(q))]) for p, q in ((True, True), (True, False), (False, True))])
def _():
    off, on = v1.raw_ops.Switch(data=tf.constant(5.0), pred=feed("p", tf.bool))
    y = tf.cond(feed("q", tf.bool), lambda: on * 2.0, lambda: tf.constant(3.0))
    tf.identity(v1.raw_ops.Merge(inputs=[y, off]).output, "y")


# --- case


@made("case/in and out of range", lambda c: [c.run("y", "z", feeds=[("i:0", i32(i)), ("x:0", f32(3))]) for i in (0, 1, 2, 3, 100, -1)])
def _():
    x = feed("x")
    y = tf.switch_case(feed("i", tf.int32), [lambda: x * 2.0, lambda: x + 10.0, lambda: tf.constant(-1.0)], name="case")
    tf.identity(y, "y")
    tf.identity(tf.switch_case(tf.constant(0), [lambda: x]), "z")


@made("case/effects and nesting", lambda c: [initialised(c, "v")] + [c.run("y", feeds=[("i:0", i32(i)), ("j:0", i32(j))]).run("r") for i in (0, 1, 2) for j in (0, 1)])
def _():
    v = variable()

    @tf.function
    def fn(i, j):
        def add(by):
            return lambda: v.assign_add(by).read_value()

        return tf.switch_case(i, [add(1.0), lambda: tf.switch_case(j, [add(10.0), add(100.0)]), lambda: tf.constant(0.5)])

    tf.identity(fn(feed("i", tf.int32), feed("j", tf.int32)), "y")
    tf.identity(v.read_value(), "r")


# --- loops


@made("while/zero and more iterations", lambda c: [c.run("i", "s", feeds=[("n:0", i32(n))]) for n in (0, 1, 2, 50)])
def _():
    n = feed("n", tf.int32)
    i, s = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.cast(i, tf.float32) * 0.5), [0, 1.5], name="loop")
    tf.identity(i, "i"), tf.identity(s, "s")


@made("while/nested", lambda c: [c.run("y", feeds=[("n:0", i32(n)), ("m:0", i32(m))]) for n in (0, 3) for m in (0, 4)])
def _():
    n, m = feed("n", tf.int32), feed("m", tf.int32)

    def body(i, s):
        _, t = tf.while_loop(lambda j, t: j < m + i, lambda j, t: (j + 1, t * 2 + j + n), [0, s])
        return i + 1, t

    tf.identity(tf.while_loop(lambda i, s: i < n, body, [0, 1])[1], "y")


@made("while/conditionals within loops within functions within loops", lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (0, 1, 7)])
def _():
    @tf.function
    def collatz(x):
        steps = 0
        while x > 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            steps += 1
        return steps

    n = feed("n", tf.int32)
    tf.identity(tf.while_loop(lambda i, s: i <= n, lambda i, s: (i + 1, s * 3 + collatz(i)), [1, 0])[1], "y")


@made("while/variables", lambda c: initialised(c, "v").run("y").run("r").run("y"))
def _():
    v = variable()

    @tf.function
    def fn(n):
        total = 0.0
        for i in tf.range(n):
            v.assign_add(tf.cast(i, tf.float32))
            if v > 6.0:
                v.assign(2.0)
            total += v
        return total, v.read_value()

    y, z = fn(tf.constant(9))
    tf.stack([y, z], name="y")
    tf.identity(v.read_value(), "r")


@made("while/effects alone", lambda c: initialised(c, "v").run("r").run("after").run("r"))
def _():
    v = variable()

    @tf.function
    def fn(n):
        i = 0
        while i < n:
            v.assign(v * 2.0)
            i += 1

    tf.identity(v.read_value(), "r")
    fn(tf.constant(5))
    with tf.control_dependencies(["StatefulPartitionedCall"]):
        tf.identity(v.read_value(), "after")


@made("while/one iteration at a time", lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (0, 5)])
def _():
    n = feed("n", tf.int32)
    tf.identity(tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [0, 0], parallel_iterations=1)[1], "y")


@made("while/shapes change", lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (0, 1, 4)])
def _():
    n = feed("n", tf.int32)
    grow = lambda i, x: (i + 1, tf.concat([x, [tf.cast(i, tf.float32)]], 0))
    tf.identity(tf.while_loop(lambda i, x: i < n, grow, [0, tf.constant([1.0])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1], "y")


@made("while/swapped values", lambda c: [c.run("a", "b", "k", feeds=[("n:0", i32(n))]) for n in (0, 1, 2, 5)])
def _():
    n = feed("n", tf.int32)
    _, a, b, k = tf.while_loop(lambda i, a, b, k: i < n, lambda i, a, b, k: (i + 1, b, a, k), [0, 1.0, 2.0, 3.0])
    tf.identity(a, "a"), tf.identity(b, "b"), tf.identity(k, "k")


@made("while/error within", lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (2, 5)])
def _():
    n = feed("n", tf.int32)
    tf.identity(tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + 6 // (3 - i)), [0, 0])[1], "y")


@made("while/gradient", lambda c: [c.run("y", "g", feeds=[("x:0", f32(1.5)), ("n:0", i32(n))]) for n in (0, 1, 6)])
def _():
    x, n = feed("x"), feed("n", tf.int32)
    y = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * x + tf.sin(s)), [0, x])[1]
    tf.identity(y, "y"), tf.identity(tf.gradients(y, x)[0], "g")


@made("while/gradient of a conditional in it", lambda c: [c.run("y", "g", feeds=[("x:0", f32(1.5)), ("n:0", i32(n))]) for n in (0, 5)])
def _():
    x, n = feed("x"), feed("n", tf.int32)
    step = lambda i, s: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: s * x, lambda: s + x * x))
    y = tf.while_loop(lambda i, s: i < n, step, [0, x])[1]
    tf.identity(y, "y"), tf.identity(tf.gradients(y, x)[0], "g")


@made("while/gradient of a gradient", lambda c: [c.run("g", feeds=[("x:0", f32(1.5)), ("n:0", i32(n))]) for n in (0, 3)])
def _():
    x, n = feed("x"), feed("n", tf.int32)
    y = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * x), [0, x])[1]
    tf.identity(tf.gradients(tf.gradients(y, x)[0], x)[0], "g")


@made("while/list of what each iteration made", lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (1, 4)])
def _():
    n = feed("n", tf.int32)

    def body(i, a):
        return i + 1, a.write(i, tf.cast(i, tf.float32) * 2.0)

    a = tf.while_loop(lambda i, a: i < n, body, [0, tf.TensorArray(tf.float32, size=n)])[1]
    tf.identity(a.stack(), "y")


@made("while/control flow of TF1 in a function", lambda c: [c.run("y", feeds=[("n:0", i32(n)), ("p:0", boolean(p))]) for n in (0, 4) for p in (True, False)])
def _():
    v1.disable_control_flow_v2()
    try:
        @legacy.Defun(tf.int32, tf.bool)
        def fn(n, p):
            i = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i * i), [0, 0], name="w")[1]
            return tf.cond(p, lambda: i + 1, lambda: -i)

        p = feed("p", tf.bool)
        n = feed("n", tf.int32)
        tf.identity(fn(n, p) * 1000 + fn(n + 1, p), "y")
    finally:
        v1.enable_control_flow_v2()


@made("legacy/calls by name", lambda c: c.run("y", "z", feeds=[("x:0", f32(3))]).run("fn", feeds=[("x:0", f32(4))]))
def _():
    @legacy.Defun(tf.float32)
    def inner(x):
        return x + 1.0, x * 2.0

    @legacy.Defun(tf.float32, func_name="fn_of_legacy")
    def fn(x):
        a, b = inner(x)
        return a * b

    x = feed("x")
    tf.identity(fn(x, name="fn"), "y"), tf.identity(inner(x)[1], "z")


# --- definitions by hand


def text(name, graph, steps=lambda c: None):
    from google.protobuf import text_format

    parsed = graph_pb2.GraphDef()
    text_format.Parse(graph, parsed)
    parsed.versions.producer = 2474
    case = Made(name, parsed)
    steps(case)
    TABLE.append(case)


def attr(name, value):
    return 'attr { key: "%s" value { %s } }' % (name, value)


def node(name, op, *inputs, attrs=()):
    inputs = "".join('input: "%s" ' % i for i in inputs)
    return 'name: "%s" op: "%s" %s %s' % (name, op, inputs, " ".join(attr(k, v) for k, v in attrs))


def const(name, value, dtype="DT_FLOAT", field="float_val"):
    return node(name, "Const", attrs=[("dtype", "type: " + dtype), ("value", "tensor { dtype: %s tensor_shape { } %s: %s }" % (dtype, field, value))])


def many(*nodes):
    return " ".join("node { %s }" % n for n in nodes)


def function(name, args, outs, nodes, ret, attrs="", control="", stateful=False):
    signature = 'name: "%s" %s %s %s is_stateful: %s' % (name, " ".join("input_arg { %s }" % a for a in args), " ".join("output_arg { %s }" % o for o in outs), attrs, str(stateful).lower())
    rets = " ".join('ret { key: "%s" value: "%s" }' % kv for kv in ret.items())
    return "function { signature { %s } %s %s %s }" % (signature, " ".join("node_def { %s }" % n for n in nodes), rets, control)


def library(*functions):
    return "library { %s }" % " ".join(functions)


def floats(kind="type"):
    return "list { type: DT_FLOAT }" if kind == "list" else "type: DT_FLOAT"


def call(name, f, *inputs, tin="list { type: DT_FLOAT }", tout="list { type: DT_FLOAT }", op="PartitionedCall", func=""):
    return node(name, op, *inputs, attrs=[("Tin", tin), ("Tout", tout), ("f", 'func { name: "%s" %s }' % (f, func))])


POLY = function(
    "poly", ['name: "x" type_attr: "T"'], ['name: "y" type_attr: "T"'],
    [node("sum", "AddV2", "x", "x", attrs=[("T", 'placeholder: "T"')])], {"y": "sum:z:0"},
    attrs='attr { name: "T" type: "type" }')
text("definition/attribute of a function", many(
    const("f", 1.5), const("i", 4, "DT_INT32", "int_val"),
    node("a", "poly", "f", attrs=[("T", "type: DT_FLOAT")]), node("b", "poly", "i", attrs=[("T", "type: DT_INT32")]),
    call("c", "poly", "i", tin="list { type: DT_INT32 }", tout="list { type: DT_INT32 }", func=attr("T", "type: DT_INT32")),
) + library(POLY), lambda c: c.run("a", "b", "c"))
text("definition/attribute not given", many(const("f", 1.5), call("c", "poly", "f")) + library(POLY), lambda c: c.run("c").run("f"))

LISTS = function(
    "lists", ['name: "xs" type_attr: "T" number_attr: "N"', 'name: "more" type_list_attr: "L"'],
    ['name: "sum" type_attr: "T"', 'name: "back" type_list_attr: "L"', 'name: "second" type_attr: "T"'],
    [node("add", "AddN", "xs", attrs=[("T", 'placeholder: "T"'), ("N", 'placeholder: "N"')]),
     node("pass", "IdentityN", "more", attrs=[("T", 'placeholder: "L"')]),
     node("first", "Identity", "xs:0", attrs=[("T", 'placeholder: "T"')])],
    {"sum": "add:sum:0", "back": "pass:output", "second": "xs:1"},
    attrs='attr { name: "T" type: "type" } attr { name: "N" type: "int" } attr { name: "L" type: "list(type)" }')
text("definition/lists of arguments", many(
    const("f", 1.5), const("g", 2.5), const("i", 4, "DT_INT32", "int_val"),
    node("a", "lists", "f", "g", "f", "i", "g", attrs=[("T", "type: DT_FLOAT"), ("N", "i: 3"), ("L", "list { type: [DT_INT32, DT_FLOAT] }")]),
) + library(LISTS), lambda c: c.run("a:0", "a:1", "a:2", "a:3"))

IDENT = dict(args=['name: "x" type: DT_FLOAT'], outs=['name: "y" type: DT_FLOAT'])
MUL = [("T", "type: DT_FLOAT")]


def wrong(name, definition, *more, caller=None):
    text("wrong/" + name, many(const("f", 1.5), caller or call("c", "fn", "f"), *more) + library(definition), lambda c: c.run("f").run("c"))


def fn(nodes, ret, **more):
    return function("fn", IDENT["args"], IDENT["outs"], nodes, ret, **more)


GOOD = fn([node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "mul:z:0"})
wrong("nothing", GOOD)
wrong("missing function", GOOD, caller=call("c", "gone", "f"))
wrong("missing function within", fn([call("in", "gone", "x")], {"y": "in:output:0"}))
wrong("unknown op within", fn([node("mul", "NoSuchOp", "x", "x", attrs=MUL)], {"y": "mul:z:0"}))
wrong("unknown input within", fn([node("mul", "Mul", "x", "nope:z:0", attrs=MUL)], {"y": "mul:z:0"}))
wrong("unknown output within", fn([node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "mul:w:0"}))
wrong("output index within", fn([node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "mul:z:1"}))
wrong("input type within", fn([node("mul", "Mul", "x", "x", attrs=[("T", "type: DT_INT32")])], {"y": "mul:z:0"}))
wrong("too few inputs within", fn([node("mul", "Mul", "x", attrs=MUL)], {"y": "mul:z:0"}))
wrong("too many inputs within", fn([node("mul", "Mul", "x", "x", "x", attrs=MUL)], {"y": "mul:z:0"}))
wrong("attribute within", fn([node("mul", "Mul", "x", "x")], {"y": "mul:z:0"}))
wrong("placeholder that is no attribute", fn([node("mul", "Mul", "x", "x", attrs=[("T", 'placeholder: "Q"')])], {"y": "mul:z:0"}))
wrong("no return", fn([node("mul", "Mul", "x", "x", attrs=MUL)], {}))
wrong("return of nothing", fn([node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "gone:0"}))
wrong("return type", fn([node("cast", "Cast", "x", attrs=[("SrcT", "type: DT_FLOAT"), ("DstT", "type: DT_INT32")])], {"y": "cast:y:0"}))
wrong("control return of nothing", fn([node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "mul:z:0"}, control='control_ret { key: "k" value: "gone" }'))
wrong("two nodes of a name", fn([node("mul", "Mul", "x", "x", attrs=MUL), node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "mul:z:0"}))
wrong("cycle", fn([node("a", "Mul", "x", "b:z:0", attrs=MUL), node("b", "Mul", "x", "a:z:0", attrs=MUL)], {"y": "a:z:0"}))
wrong("more inputs than arguments", GOOD, caller=call("c", "fn", "f", "f", tin="list { type: [DT_FLOAT, DT_FLOAT] }"))
wrong("fewer outputs than returned", GOOD, caller=call("c", "fn", "f", tout="list { }"))
wrong("input type of the call", GOOD, const("i", 4, "DT_INT32", "int_val"), caller=call("c", "fn", "i", tin="list { type: DT_INT32 }"))
wrong("output type of the call", GOOD, caller=call("c", "fn", "f", tout="list { type: DT_INT32 }"))

# A tree of calls: 3 to the 60th nodes.
BOMB = [fn([node("mul", "Mul", "x", "x", attrs=MUL)], {"y": "mul:z:0"}).replace('"fn"', '"f0"', 1)]
for level in range(1, 41):
    BOMB.append(function("f%d" % level, IDENT["args"], IDENT["outs"], [call("a", "f%d" % (level - 1), "x"), call("b", "f%d" % (level - 1), "a:output:0")], {"y": "b:output:0"}))


def branch(name, then, other, *inputs, cond="type: DT_BOOL", lower=False, op="If", tin="list { type: DT_INT32 }", tout="list { type: DT_INT32 }"):
    attrs = [("Tcond", cond), ("Tin", tin), ("Tout", tout), ("then_branch", 'func { name: "%s" }' % then), ("else_branch", 'func { name: "%s" }' % other)]
    return node(name, op, *inputs, attrs=attrs + ([("_lower_using_switch_merge", "b: true")] if lower else []))


INT = [("T", "type: DT_INT32")]


def int_function(name, nodes, ret):
    return function(name, ['name: "x" type: DT_INT32'], ['name: "y" type: DT_INT32'], nodes, {"y": ret})


ONE = const("one", 1, "DT_INT32", "int_val")
FACTORIAL = [
    int_function("factorial", [ONE, node("more", "Greater", "x", "one:output:0", attrs=INT), branch("if", "recurse", "base", "more:z:0", "x")], "if:output:0"),
    int_function("base", [ONE], "one:output:0"),
    int_function("recurse", [ONE, node("less", "Sub", "x", "one:output:0", attrs=INT),
                             call("again", "factorial", "less:z:0", tin="list { type: DT_INT32 }", tout="list { type: DT_INT32 }"),
                             node("mul", "Mul", "x", "again:output:0", attrs=INT)], "mul:z:0"),
]
text("recursion/factorial", many(
    node("n", "Placeholder", attrs=[("dtype", "type: DT_INT32")]),
    call("y", "factorial", "n", tin="list { type: DT_INT32 }", tout="list { type: DT_INT32 }"),
) + library(*FACTORIAL), lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (0, 1, 5, 12)])

FIBONACCI = [
    int_function("fibonacci", [ONE, node("more", "Greater", "x", "one:output:0", attrs=INT), branch("if", "recurse", "base", "more:z:0", "x")], "if:output:0"),
    int_function("base", [node("same", "Identity", "x", attrs=INT)], "same:output:0"),
    int_function("recurse", [ONE, node("less", "Sub", "x", "one:output:0", attrs=INT), node("lesser", "Sub", "less:z:0", "one:output:0", attrs=INT),
                             *(call(k, "fibonacci", v + ":z:0", tin="list { type: DT_INT32 }", tout="list { type: DT_INT32 }") for k, v in (("a", "less"), ("b", "lesser"))),
                             node("add", "AddV2", "a:output:0", "b:output:0", attrs=INT)], "add:z:0"),
]
text("recursion/fibonacci", many(
    node("n", "Placeholder", attrs=[("dtype", "type: DT_INT32")]),
    call("y", "fibonacci", "n", tin="list { type: DT_INT32 }", tout="list { type: DT_INT32 }"),
) + library(*FIBONACCI), lambda c: [c.run("y", feeds=[("n:0", i32(n))]) for n in (0, 1, 2, 7)])

SAME = int_function("same", [node("id", "Identity", "x", attrs=INT)], "id:output:0")
NEGATIVE = int_function("negative", [node("neg", "Neg", "x", attrs=INT)], "neg:y:0")


def truth(name, dtype, values, lower=False):
    text("if/on " + name, many(
        node("p", "Placeholder", attrs=[("dtype", "type: " + dtype)]), const("x", 3, "DT_INT32", "int_val"),
        branch("y", "same", "negative", "p", "x", cond="type: " + dtype, lower=lower),
    ) + library(SAME, NEGATIVE), lambda c: [c.run("y", feeds=[("p:0", v)]) for v in values])


truth("int32", "DT_INT32", [i32(0), i32(1), i32(-2), i32([]), i32([0])])
truth("float32", "DT_FLOAT", [f32(0), f32(0.5), f32(np.nan), f32(-0.0)])
truth("int64", "DT_INT64", [Value(np.asarray(v, np.int64), "int64") for v in (0, 2**40)])
truth("string", "DT_STRING", [Value(np.array(s, object), "string") for s in (b"", b"x")])
truth("bool of rank 1", "DT_BOOL", [boolean([]), boolean([False])])
text("if/missing branch", many(
    const("p", "true", "DT_BOOL", "bool_val"), const("x", 3, "DT_INT32", "int_val"), branch("y", "gone", "negative", "p", "x")) + library(NEGATIVE),
    lambda c: c.run("x").run("y"))
text("if/missing branch, lowered", many(
    const("p", "true", "DT_BOOL", "bool_val"), const("x", 3, "DT_INT32", "int_val"), branch("y", "gone", "negative", "p", "x", lower=True)) + library(NEGATIVE),
    lambda c: c.run("x").run("y"))
text("if/StatelessIf", many(
    const("p", "true", "DT_BOOL", "bool_val"), const("x", 3, "DT_INT32", "int_val"), branch("y", "same", "negative", "p", "x", op="StatelessIf")) + library(SAME, NEGATIVE),
    lambda c: c.run("y"))


def loop(name, cond, body, *inputs, types="list { type: DT_INT32 }", op="While", lower=False):
    attrs = [("T", types), ("cond", 'func { name: "%s" }' % cond), ("body", 'func { name: "%s" }' % body)]
    return node(name, op, *inputs, attrs=attrs + ([("_lower_using_switch_merge", "b: true")] if lower else []))


COUNT = int_function("count", [ONE, node("sub", "Sub", "x", "one:output:0", attrs=INT)], "sub:z:0")
POSITIVE = function("positive", ['name: "x" type: DT_INT32'], ['name: "y" type: DT_BOOL'],
                    [const("zero", 0, "DT_INT32", "int_val"), node("gt", "Greater", "x", "zero:output:0", attrs=INT)], {"y": "gt:z:0"})
ITSELF = int_function("itself", [node("id", "Identity", "x", attrs=INT)], "id:output:0")
for form in ("StatelessWhile", "While"):
    text("while/%s on a number" % form, many(const("x", 5, "DT_INT32", "int_val"), loop("y", "itself", "count", "x", op=form)) + library(COUNT, ITSELF), lambda c: c.run("y"))
text("while/body of another type", many(const("x", 5, "DT_INT32", "int_val"), loop("y", "positive", "positive", "x")) + library(POSITIVE), lambda c: c.run("x").run("y"))
text("while/no variables", many(const("x", 5, "DT_INT32", "int_val"), loop("y", "t", "b", types="list { }")) + library(
    function("t", [], ['name: "y" type: DT_BOOL'], [const("no", "false", "DT_BOOL", "bool_val")], {"y": "no:output:0"}), function("b", [], [], [], {})),
    lambda c: c.run("x"))
text("while/condition that never holds with effects", many(const("x", 0, "DT_INT32", "int_val"), loop("y", "positive", "count", "x", lower=True)) + library(COUNT, POSITIVE), lambda c: c.run("y"))
text("while/passes everything on", many(const("x", 0, "DT_INT32", "int_val"), loop("y", "positive", "pass", "x", lower=True)) + library(
    int_function("pass", [], "x"), POSITIVE), lambda c: c.run("y"))


# --- sessions


def grown():
    first, second = graph_pb2.GraphDef(), graph_pb2.GraphDef()
    from google.protobuf import text_format

    text_format.Parse(many(const("f", 3.0), call("c", "fn", "f")) + library(GOOD), first)
    second.CopyFrom(first)
    del second.node[:]
    more = graph_pb2.GraphDef()
    text_format.Parse(many(call("d", "twice", "c"), call("e", "fn", "d")) + library(
        GOOD, function("twice", IDENT["args"], IDENT["outs"], [call("in", "fn", "x"), node("add", "AddV2", "in:output:0", "x", attrs=MUL)], {"y": "add:z:0"})), more)
    changed = graph_pb2.GraphDef()
    text_format.Parse(many(call("g", "fn", "c")) + library(fn([node("mul", "AddV2", "x", "x", attrs=MUL)], {"y": "mul:z:0"})), changed)
    absent = graph_pb2.GraphDef()
    text_format.Parse(many(call("h", "later", "c")), absent)
    later = graph_pb2.GraphDef()
    text_format.Parse(many(call("h", "later", "c")) + library(fn([node("mul", "AddV2", "x", "x", attrs=MUL)], {"y": "mul:z:0"}).replace('"fn"', '"later"', 1)), later)
    for graph in (first, more, changed, absent, later):
        graph.versions.producer = 2474
    case = Made("session/extended by functions", first)
    case.run("c").step([], extend=more.SerializeToString(deterministic=True), version=0)
    case.run("c", "d", "e").step([], extend=changed.SerializeToString(deterministic=True), version=1)
    case.run("e").step([], extend=absent.SerializeToString(deterministic=True), version=1)
    case.run("e").step([], extend=later.SerializeToString(deterministic=True), version=1)
    case.run("e", "h")
    TABLE.append(case)


grown()


def cases():
    return TABLE
