"""Conditionals and loops as TF1 clients write them: tf.compat.v1.cond and while_loop, control flow v2 off."""
import tensorflow as tf

from flow import boolean, f32, i32
from suite import Case

v1 = tf.compat.v1


def case(name, build, *steps):
    """`build` makes the graph; a step is (feeds, names to fetch or `=name` to run)."""
    v1.disable_control_flow_v2()
    c = Case("client/" + name)
    graph = tf.Graph()
    with graph.as_default():
        build()
    c.raw = graph.as_graph_def().SerializeToString(deterministic=True)
    for feeds, names in steps:
        c.step([(k + ":0", v) for k, v in feeds.items()], [n if ":" in n else n + ":0" for n in names if n[0] != "="], [n[1:] for n in names if n[0] == "="],
               tolerance=(1e-5, 1e-6))
    return c


def place(name, dtype, shape=()):
    return v1.placeholder(dtype, shape, name=name)


def conditionals():
    def simple():
        x, p = place("x", tf.float32, [2]), place("p", tf.bool)
        tf.identity(v1.cond(p, lambda: x * 2.0, lambda: tf.square(x) - 1.0), name="out")

    yield case("cond", simple, *[({"p": boolean(p), "x": f32([3, -1])}, ["out"]) for p in (True, False)])

    def nested():
        a, b, x = place("a", tf.bool), place("b", tf.bool), place("x", tf.float32)
        tf.identity(v1.cond(a, lambda: v1.cond(b, lambda: x + 1.0, lambda: x + 2.0), lambda: v1.cond(b, lambda: x * 3.0, lambda: -x)), name="out")

    yield case("cond in cond", nested, *[({"a": boolean(a), "b": boolean(b), "x": f32(5)}, ["out"]) for a in (True, False) for b in (True, False)])

    def tuples():
        p, x = place("p", tf.bool), place("x", tf.int32, [3])
        one, two = v1.cond(p, lambda: (x, tf.constant("yes")), lambda: (-x, tf.constant("no")))
        tf.identity(one, name="one"), tf.identity(two, name="two")

    yield case("cond with several results", tuples, *[({"p": boolean(p), "x": i32([1, 2, 3])}, ["one", "two"]) for p in (True, False)])

    def assigns():
        p = place("p", tf.bool)
        v = v1.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False)
        w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
        tf.group(v.initializer, w.initializer, name="init")
        tf.identity(v1.cond(p, lambda: v1.assign_add(v, [10.0, 10.0]), lambda: v1.assign(v, [0.0, 0.0])), name="out")
        v1.cond(p, lambda: tf.identity(w.assign_add([1.0, 1.0])), lambda: tf.identity(w.read_value()))
        tf.identity(v1.cond(p, lambda: tf.identity(w.assign_add([1.0, 1.0])), lambda: w.read_value()), name="wout")
        tf.identity(w.read_value(), name="wread")

    yield case("cond with assignments", assigns, ({"p": boolean(True)}, ["out"]), ({}, ["=init"]), *[({"p": boolean(p)}, ["out", "wout"]) for p in (True, True, False)],
               ({}, ["v", "wread"]))

    def training_flag():
        training, x = place("training", tf.bool), place("x", tf.float32, [2, 3])
        mean = v1.get_variable("mean", initializer=tf.zeros([3]), use_resource=False)
        batch = tf.reduce_mean(x, 0)

        def update():
            with tf.control_dependencies([v1.assign(mean, mean * 0.9 + batch * 0.1)]):
                return tf.identity(batch)

        tf.subtract(x, v1.cond(training, update, lambda: tf.identity(mean)), name="out")
        tf.group(mean.initializer, name="init")

    x = f32([[1, 2, 3], [3, 4, 7]])
    yield case("cond as in batch normalisation", training_flag, ({}, ["=init"]), *[({"training": boolean(t), "x": x}, ["out"]) for t in (False, True, True, False)], ({}, ["mean"]))

    def cases_():
        n = place("n", tf.int32)
        tf.identity(v1.case([(tf.less(n, 0), lambda: tf.constant(-1)), (tf.equal(n, 0), lambda: tf.constant(0))], default=lambda: tf.constant(1), exclusive=True), name="out")

    yield case("case", cases_, *[({"n": i32(n)}, ["out"]) for n in (-7, 0, 7)])

    def asserts():
        x = place("x", tf.int32)
        with tf.control_dependencies([v1.Assert(tf.less(x, 5), [x, "too large"])]):
            tf.multiply(x, 2, name="out")

    yield case("guarded assert", asserts, *[({"x": i32(n)}, ["out"]) for n in (4, 5, 4)])


def loops():
    for parallel in (1, 10):
        def counting():
            n = place("n", tf.int32)
            i, s = v1.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + tf.cast(i, tf.float32)), [tf.constant(0), tf.constant(0.0)], parallel_iterations=parallel)
            tf.identity(i, name="i"), tf.identity(s, name="s")

        yield case("while, parallel_iterations %d" % parallel, counting, *[({"n": i32(n)}, ["i", "s"]) for n in (0, 1, 10, 50)])

        def nested():
            n = place("n", tf.int32)

            def outer(i, s):
                _, t = v1.while_loop(lambda j, t: j < n, lambda j, t: (j + 1, t + i * j), [tf.constant(0), s], parallel_iterations=parallel)
                return i + 1, t

            tf.identity(v1.while_loop(lambda i, s: i < n, outer, [tf.constant(0), tf.constant(0)], parallel_iterations=parallel)[1], name="out")

        yield case("nested while, parallel_iterations %d" % parallel, nested, *[({"n": i32(n)}, ["out"]) for n in (0, 1, 10)])

    def collatz():
        n = place("n", tf.int32)

        def body(x, k):
            return v1.cond(tf.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1), k + 1

        tf.identity(v1.while_loop(lambda x, k: x > 1, body, [n, tf.constant(0)])[1], name="out")

    yield case("while with cond in its body", collatz, *[({"n": i32(n)}, ["out"]) for n in (1, 6, 27)])

    def in_branch():
        p, n = place("p", tf.bool), place("n", tf.int32)
        tf.identity(v1.cond(p, lambda: v1.while_loop(lambda i: i < n, lambda i: i + 3, [tf.constant(0)]), lambda: tf.constant(-1)), name="out")

    yield case("while in an untaken branch", in_branch, *[({"p": boolean(p), "n": i32(10)}, ["out"]) for p in (True, False, True)])

    def shapes():
        n = place("n", tf.int32)
        i, x = v1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), tf.constant([1.5])],
                             shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
        tf.identity(x, name="out")

    yield case("while with growing shape", shapes, *[({"n": i32(n)}, ["out"]) for n in (0, 3)])

    def variables():
        n = place("n", tf.int32)
        v = v1.get_variable("v", initializer=tf.constant(0.0), use_resource=False)
        w = v1.get_variable("w", initializer=tf.constant(0.0), use_resource=True)
        tf.group(v.initializer, w.initializer, name="init")

        def body(i):
            with tf.control_dependencies([v1.assign_add(v, 1.0), w.assign_add(2.0)]):
                return tf.add(i, 1)

        tf.identity(v1.while_loop(lambda i: i < n, body, [tf.constant(0)], parallel_iterations=1), name="out")
        tf.identity(w.read_value(), name="w/now")

    yield case("while that assigns variables", variables, ({}, ["=init"]), *[({"n": i32(n)}, ["out"]) for n in (4, 0, 3)], ({}, ["v", "w/now"]))

    def newton():
        x = place("x", tf.float32, [3])
        tf.identity(v1.while_loop(lambda y: tf.reduce_any(tf.abs(y * y - x) > 1e-3), lambda y: (y + x / y) / 2.0, [tf.ones([3])]), name="out")

    yield case("while until converged", newton, ({"x": f32([2, 9, 100])}, ["out"]))

    def asserts():
        n = place("n", tf.int32)

        def body(i):
            with tf.control_dependencies([v1.Assert(tf.less(i, 5), [i])]):
                return i + 1

        tf.identity(v1.while_loop(lambda i: i < n, body, [tf.constant(0)]), name="out")

    yield case("while with an assert in its body", asserts, *[({"n": i32(n)}, ["out"]) for n in (5, 6, 5)])


def cases():
    yield from conditionals()
    yield from loops()
