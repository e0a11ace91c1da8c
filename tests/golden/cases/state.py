"""Variables of both kinds and the optimisers that change them; each case is a short life of a session."""
import numpy as np

from cases.arrays import i32
from graphs import Value, signatures
from suite import TOLERANCE, Case


def f32(x):
    return Value(x, "float32")


class Life(Case):
    """Short names for the nodes of variables."""

    def variable(self, name, dtype="float32", shape=(2,), **attrs):
        self.graph.node(name, "VariableV2", dtype=dtype, shape=shape, **attrs)
        self.graph.node(name + "/read", "Identity", [name], T=dtype)
        self.graph.node(name + "/initialized", "IsVariableInitialized", [name], dtype=dtype)
        return name

    def handle(self, name, dtype="float32", shape=(2,), **attrs):
        attrs.setdefault("shared_name", name)  # as clients do: an empty one names a variable too, the same for all
        self.graph.node(name, "VarHandleOp", dtype=dtype, shape=shape, **attrs)
        self.graph.node(name + "/read", "ReadVariableOp", [name], dtype=dtype)
        self.graph.node(name + "/initialized", "VarIsInitializedOp", [name])
        return name

    def fed(self, name, dtype="float32"):
        return self.graph.placeholder(name, dtype)


def ref_variables():
    for t in [x for (x,) in signatures("Assign", "T") if x not in ("resource", "variant")]:
        c = Life("Assign/%s" % t)
        c.variable("v", t)
        c.fed("x", t)
        c.graph.node("set", "Assign", ["v", "x"], T=t)
        c.step([], ["v/initialized:0"])
        c.step([], ["v/read:0"])
        c.step([], ["v:0"])
        first, second = c.values((2,), t), c.values((2,), t)
        c.step([("x:0", first)], ["set:0"], exact=True)
        c.step([], ["v/initialized:0", "v/read:0", "v:0"], exact=True)
        c.step([("x:0", second)], [], ["set"])
        c.step([], ["v/read:0"], exact=True)
        c.step([("x:0", c.values((3,), t))], ["set:0"])
        c.step([], ["v/read:0"], exact=True)
        yield c
    for op in ("AssignAdd", "AssignSub"):
        for (t,) in signatures(op, "T"):
            c = Life("%s/%s" % (op, t))
            c.variable("v", t)
            c.fed("x", t)
            c.graph.node("set", "Assign", ["v", "x"], T=t)
            c.graph.node("change", op, ["v", "x"], T=t, use_locking=t == "float32")
            c.step([("x:0", c.values((2,), t))], ["change:0"])
            c.step([("x:0", c.values((2,), t))], [], ["set"])
            for _ in range(3):
                c.step([("x:0", c.values((2,), t))], ["change:0"], exact=True)
            c.step([("x:0", c.values((), t))], ["change:0"])
            c.step([("x:0", c.values((3,), t))], ["change:0"])
            c.step([], ["v/read:0"], exact=True)
            yield c

    c = Life("Assign/validate_shape")
    c.variable("v", shape=(2,))
    c.fed("x")
    c.graph.node("free", "Assign", ["v", "x"], T="float32", validate_shape=False)
    c.graph.node("strict", "Assign", ["v", "x"], T="float32")
    for n, name in [(3, "strict"), (2, "strict"), (3, "strict"), (3, "free"), (2, "strict"), (3, "strict"), (0, "free"), (0, "strict")]:
        c.step([("x:0", c.values((n,), "float32"))], [name + ":0"], exact=True)
    c.step([("x:0", c.values((2, 2), "float32"))], ["free:0"], exact=True)
    c.step([], ["v/read:0"], exact=True)
    yield c

    c = Life("Assign/unknown shape and value order")
    c.variable("v", shape=None)
    c.fed("x")
    c.graph.node("set", "Assign", ["v", "x"], T="float32", validate_shape=False)
    c.graph.const("one", f32(1))
    c.graph.node("add", "AssignAdd", ["set", "one"], T="float32")
    c.graph.node("after", "Identity", ["v", "^add"], T="float32")
    c.graph.node("twice", "AssignAdd", ["add", "one"], T="float32")
    c.graph.node("end", "Identity", ["twice"], T="float32")
    c.step([("x:0", f32(4))], ["end:0"])
    c.step([("x:0", f32(7))], ["after:0"])
    c.step([("x:0", f32(7))], ["add:0"])
    c.step([("x:0", f32([7, 8]))], ["add:0"])
    yield c

    c = Life("Assign/from an uninitialised variable")
    c.variable("v")
    c.variable("u")
    c.graph.node("copy", "Assign", ["v", "u"], T="float32")
    c.graph.const("k", f32([1, 2]))
    c.graph.node("fill", "Assign", ["u", "k"], T="float32")
    c.graph.node("both", "Assign", ["v", "u", "^fill"], T="float32")
    c.step([], [], ["copy"])
    c.step([], ["v/initialized:0", "u/initialized:0"])
    c.step([], ["both:0"], exact=True)
    c.step([], ["copy:0"], exact=True)
    c.step([], ["v/read:0", "u/read:0"], exact=True)
    yield c

    c = Life("VariableV2/shared_name and container")
    for name, attrs in [("a", {"shared_name": "s"}), ("b", {"shared_name": "s"}), ("c", {"shared_name": "s", "container": "other"}), ("d", {"shared_name": "_x"}),
                        ("e", {"container": "-bad name"}), ("f", {})]:
        c.variable(name, **attrs)
    c.graph.const("k", f32([1, 2]))
    for name in "acdef":
        c.graph.node(name + "/set", "Assign", [name, "k"], T="float32")
    for name in "acdef":
        c.step([], [name + "/initialized:0"])
        c.step([], [], [name + "/set"])
        c.step([], ["b/initialized:0"])
    c.step([], ["b/read:0"], exact=True)
    c.step([], ["f/read:0", "a/read:0"], exact=True)
    yield c

    c = Life("VariableV2/shape of another declaration")
    c.variable("a", shape=(2,), shared_name="s")
    c.variable("b", shape=(3,), shared_name="s")
    c.variable("t", dtype="int32", shape=(2,), shared_name="s")
    c.graph.const("k", f32([1, 2]))
    c.graph.node("set", "Assign", ["a", "k"], T="float32")
    c.step([], [], ["set"])
    c.step([], ["b/read:0"], exact=True)
    c.step([], ["t/read:0"])
    yield c


def resource_variables():
    types = [x for (x,) in signatures("AssignVariableOp", "dtype") if x not in ("resource", "variant")]
    for t in types:
        c = Life("AssignVariableOp/%s" % t)
        c.handle("v", t)
        c.fed("x", t)
        c.graph.node("set", "AssignVariableOp", ["v", "x"], dtype=t)
        c.graph.node("destroy", "DestroyResourceOp", ["v"], ignore_lookup_error=False)
        c.graph.node("forget", "DestroyResourceOp", ["v"])
        c.graph.node("shape", "VariableShape", ["v"])
        c.step([], ["v/initialized:0"])
        c.step([], ["v/read:0"])
        c.step([], ["shape:0"])
        c.step([("x:0", c.values((2,), t))], [], ["set"])
        c.step([], ["v/initialized:0", "v/read:0", "shape:0"], exact=True)
        c.step([("x:0", c.values((3,), t))], [], ["set"])
        c.step([], ["v/read:0", "shape:0"], exact=True)
        c.step([], [], ["destroy"])
        c.step([], ["v/initialized:0"])
        c.step([], ["v/read:0"])
        c.step([], [], ["destroy"])
        c.step([], [], ["forget"])
        c.step([("x:0", c.values((2,), t))], [], ["set"])
        c.step([], ["v/read:0"], exact=True)
        yield c
    for op in ("AssignAddVariableOp", "AssignSubVariableOp"):
        for (t,) in signatures(op, "dtype"):
            if t in ("resource", "variant"):
                continue
            c = Life("%s/%s" % (op, t))
            c.handle("v", t)
            c.fed("x", t)
            c.graph.node("set", "AssignVariableOp", ["v", "x"], dtype=t)
            c.graph.node("change", op, ["v", "x"], dtype=t)
            c.graph.node("after", "ReadVariableOp", ["v", "^change"], dtype=t)
            c.step([("x:0", c.values((2,), t))], [], ["change"])
            c.step([("x:0", c.values((2,), t))], [], ["set"])
            for _ in range(3):
                c.step([("x:0", c.values((2,), t))], ["after:0"], exact=True)
            c.step([("x:0", c.values((), t))], ["after:0"])
            c.step([("x:0", c.values((3,), t))], ["after:0"])
            c.step([], ["v/read:0"], exact=True)
            yield c

    c = Life("AssignVariableOp/validate_shape and dtypes")
    c.handle("v")
    c.fed("x")
    c.fed("n", "int32")
    c.graph.node("strict", "AssignVariableOp", ["v", "x"], dtype="float32", validate_shape=True)
    c.graph.node("wrong", "AssignVariableOp", ["v", "n"], dtype="int32")
    c.graph.node("misread", "ReadVariableOp", ["v"], dtype="int32")
    c.graph.node("misadd", "AssignAddVariableOp", ["v", "n"], dtype="int32")
    c.step([("n:0", i32([1, 2]))], [], ["wrong"])
    c.step([("x:0", f32([1, 2, 3]))], [], ["strict"])
    c.step([("x:0", f32([1, 2]))], [], ["strict"])
    c.step([("x:0", f32([1, 2, 3]))], [], ["strict"])
    c.step([], ["misread:0"])
    c.step([("n:0", i32([1, 2]))], [], ["wrong"])
    c.step([("n:0", i32([1, 2]))], [], ["misadd"])
    c.step([], ["v/read:0"], exact=True)
    yield c

    c = Life("VarHandleOp/shared names")
    for name, attrs in [("a", {"shared_name": "s"}), ("b", {"shared_name": "s"}), ("o", {"shared_name": "s", "container": "other"}), ("p", {"shared_name": ""}), ("q", {"shared_name": ""}),
                        ("u", {"shared_name": "_x"}), ("m", {"shared_name": "s", "dtype": "int32"})]:
        c.handle(name, **attrs)
        c.graph.node(name + "/pass", "Identity", [name], T="resource")
        c.graph.node(name + "/read2", "ReadVariableOp", [name + "/pass"], dtype=attrs.get("dtype", "float32"))
    c.graph.const("k", f32([1, 2]))
    c.graph.const("l", f32([3, 4]))
    c.graph.node("a/set", "AssignVariableOp", ["a", "k"], dtype="float32")
    c.graph.node("p/set", "AssignVariableOp", ["p", "l"], dtype="float32")
    for name in "abopqum":
        c.step([], [name + "/initialized:0"])
    c.step([], [], ["a/set"])
    c.step([], [], ["p/set"])
    for name in "abopqum":
        c.step([], [name + "/read2:0"], exact=True)
    yield c

    c = Life("ReadVariableOp/keeps its value while the variable changes")
    c.handle("v")
    c.graph.const("k", f32([1, 2]))
    c.graph.node("set", "AssignVariableOp", ["v", "k"], dtype="float32")
    c.graph.node("before", "ReadVariableOp", ["v"], dtype="float32")
    c.graph.node("add", "AssignAddVariableOp", ["v", "k", "^before"], dtype="float32")
    c.graph.node("after", "ReadVariableOp", ["v", "^add"], dtype="float32")
    c.graph.node("sum", "AddV2", ["before", "after"], T="float32")
    c.step([], [], ["set"])
    for _ in range(3):
        c.step([], ["before:0", "after:0", "sum:0"], exact=True)
    yield c


SLOTS = {"GradientDescent": 0, "Momentum": 1, "Adam": 2}


def apply_nodes(c, kind, t, resource, shape, **attrs):
    """An update node `apply` on variables var0, var1, …; the rest is fed."""
    names = ["var%d" % i for i in range(SLOTS[kind] + 1)]
    for n in names:
        (c.handle if resource else c.variable)(n, t, shape)
        c.fed(n + "/x", t)
        c.graph.node(n + "/set", "AssignVariableOp" if resource else "Assign", [n, n + "/x"], **{"dtype" if resource else "T": t})
    scalars = {"GradientDescent": ["alpha"], "Momentum": ["lr"], "Adam": ["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"]}[kind]
    inputs = names + scalars + (["grad", "momentum"] if kind == "Momentum" else ["grad"])
    if kind == "GradientDescent":
        inputs = names + ["alpha", "grad"]
    for n in inputs[len(names):]:
        c.fed(n, t)
    c.graph.node("apply", ("ResourceApply" if resource else "Apply") + kind, inputs, T=t, **attrs)
    return names, inputs[len(names):]


SCALARS = {"alpha": 0.1, "lr": 0.05, "momentum": 0.9, "beta1_power": 0.9, "beta2_power": 0.999, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3}


def optimisers():
    for kind in SLOTS:
        for resource in (False, True):
            op = ("ResourceApply" if resource else "Apply") + kind
            for t in [x for (x,) in signatures(op, "T")]:
                variants = [{}]
                if kind != "GradientDescent" and t in ("float32", "float64"):
                    variants = [{}, {"use_nesterov": True}, {"use_locking": True, "use_nesterov": True}]
                elif t == "float32":
                    variants = [{}, {"use_locking": True}]
                for i, attrs in enumerate(variants):
                    yield optimiser(kind, resource, op, t, attrs, i)


def optimiser(kind, resource, op, t, attrs, i):
    c = Life("%s/%s/%d" % (op, t, i))
    shape = (2, 3)
    names, fed = apply_nodes(c, kind, t, resource, shape, **attrs)
    reads = [n + "/read:0" for n in names]
    tolerance = TOLERANCE[t]

    def feeds(step, **changed):
        out = {n + ":0": Value(np.array(SCALARS[n] ** (step + 1 if n.endswith("power") else 1)), t) for n in fed if n != "grad"}
        out["grad:0"] = c.values(shape, t)
        out.update({k + ":0": v for k, v in changed.items()})
        return out

    run = dict(tolerance=tolerance)
    fetch, target = ([], ["apply"]) if resource else (["apply:0"], [])
    c.step(feeds(0), fetch, target, **run)
    for n in names:
        start = c.values(shape, t, low=0.0, high=1.0) if "float" in t else c.values(shape, t)
        c.step([(n + "/x:0", start)], [], [n + "/set"])
    for step in range(3):
        c.step(feeds(step), fetch, target, **run)
        c.step([], reads, **run)
    if t == "float32":
        c.step(feeds(0, grad=c.values((2,), t)), fetch, target, **run)
        c.step(feeds(0, grad=c.values((3, 2), t)), fetch, target, **run)
        c.step(feeds(0, **{fed[0]: c.values((2,), t)}), fetch, target, **run)
        c.step([], reads, **run)
    return c


def cases():
    for family in (ref_variables, resource_variables, optimisers):
        yield from family()
