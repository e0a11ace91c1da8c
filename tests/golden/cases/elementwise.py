"""Element by element: arithmetic, comparison, logic and unary functions, with broadcasting."""
import numpy as np

from graphs import Value, declared, numpy_type, op_def, signatures
from suite import Case

BROADCASTS = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (2, 2)), ((1,), (5,)), ((0, 3), (1, 3)),
              ((2, 3, 1, 1, 2, 2), (1, 1, 2, 2, 2, 2)), ((17,), ()), ((0,), ()), ((2, 3, 1, 2), (3, 2, 2))]
WRONG = [((2,), (3,)), ((2, 3), (2,)), ((0,), (2,))]
UNARY_SHAPES = [(), (3,), (2, 3), (0,), (2, 0, 3), (1, 2, 1, 2, 2, 1), (33,)]

# Ops whose float result is one correctly rounded operation, hence equal bit for bit.  Not Relu: what it makes of -0
# depends on the element's place in a vector.
EXACT = {"Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "Maximum", "Minimum", "Neg", "Abs", "Sign", "Square", "Floor",
         "Ceil", "Rint", "Round", "DivNoNan"}

BINARY = {
    "Add": {}, "AddV2": {}, "Sub": {}, "Mul": {}, "RealDiv": {}, "Div": {}, "FloorDiv": {}, "FloorMod": {}, "Mod": {},
    "TruncateDiv": {}, "TruncateMod": {}, "Maximum": {}, "Minimum": {}, "SquaredDifference": {}, "DivNoNan": {},
    "Equal": {}, "NotEqual": {}, "Less": {}, "LessEqual": {}, "Greater": {}, "GreaterEqual": {},
    "LogicalAnd": {}, "LogicalOr": {},
    "Pow": {"low": 0, "high": 4},
}
DIVISIONS = ("RealDiv", "Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod", "DivNoNan")

# What TensorFlow gets wrong is not asked for: infinities here, and Round of integers, which answers zeros.
OWN_FAULTS = {("Erf", "float64")}

# Unary functions and the domain drawn from beside the default one.
UNARY = {
    "LogicalNot": None, "Neg": None, "Abs": None, "Sign": None, "Square": None, "Sqrt": (0, 50), "Rsqrt": (0.01, 50),
    "Reciprocal": None, "Inv": None, "Exp": (-20, 20), "Expm1": (-3, 3), "Log": (0.001, 100), "Log1p": (-0.9, 50),
    "Tanh": (-12, 12), "Sigmoid": (-30, 30), "Sin": (-30, 30), "Cos": (-30, 30), "Floor": None, "Ceil": None,
    "Round": None, "Rint": None, "IsNan": None, "IsInf": None, "IsFinite": None, "Erf": (-4, 4), "Softplus": (-40, 40),
    "Elu": None, "Selu": None, "LeakyRelu": None, "Relu": None, "Relu6": (-2, 9),
}
# Gradients given (input or output of the function, incoming gradient): which argument comes first differs.
GRADIENTS = {
    "ReluGrad": None, "Relu6Grad": (-2, 9), "TanhGrad": (-1, 1), "SigmoidGrad": (0, 1), "SqrtGrad": (0.1, 9),
    "RsqrtGrad": (0.1, 3), "EluGrad": None, "SeluGrad": None, "SoftplusGrad": (-20, 20), "LeakyReluGrad": None,
    "ReciprocalGrad": None, "InvGrad": None,
}


def type_attr(op):
    attrs = [a.name for a in op_def(op).attr if a.type == "type"]
    return attrs[0] if attrs else None


def integer(dtype):
    return "int" in dtype and not dtype.startswith("q")


def typed(op):
    attr = type_attr(op)
    return [t for t, in signatures(op, attr) if t in declared(op, attr)] if attr else ["bool"]


def binary(op, how):
    for dtype in typed(op):
        c = Case("%s/%s" % (op, dtype))
        exact = op in EXACT and not dtype.startswith("complex")
        for i, (a, b) in enumerate(BROADCASTS):
            x, y = c.values(a, dtype, **how), c.values(b, dtype, **how)
            if op in DIVISIONS and integer(dtype):
                y = Value(np.where(y.array == 0, np.ones_like(y.array), y.array), dtype)
            c.run(op, x, y, exact=exact)
        floats = not integer(dtype) and dtype not in ("bool", "string") and not dtype.startswith(("complex", "q"))
        if floats and op != "Pow" and "float8" not in dtype:
            s = np.array([np.nan, np.inf, -np.inf, 0.0, 2.5, -2.5, 1.0, -7.0], dtype=np.float64)
            if op in ("Maximum", "Minimum"):
                s = s[1:]
            x, y = np.meshgrid(s, s)
            c.run(op, Value(x.astype(numpy_type(dtype)), dtype), Value(y.astype(numpy_type(dtype)), dtype), exact=exact)
        if integer(dtype) and op in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "Less", "GreaterEqual", "Equal"):
            c.run(op, c.values((9,), dtype, extreme=True), c.values((9,), dtype, extreme=True), exact=exact)
        if op in DIVISIONS and integer(dtype):
            signs = np.array([7, -7, 8, -8, 0, 1, -1, 9], dtype=np.int64)
            if dtype.startswith("u"):
                signs = np.abs(signs)
            x, y = np.meshgrid(signs, signs[signs != 0])
            c.run(op, Value(x.astype(numpy_type(dtype)), dtype), Value(y.astype(numpy_type(dtype)), dtype))
            zero = Value(np.array([1, 0, 2]).astype(numpy_type(dtype)), dtype)
            c.run(op, c.values((3,), dtype), zero, mode="feed")
            c.run(op, c.values((3,), dtype), Value(np.zeros((), numpy_type(dtype)), dtype), mode="const")
        if op == "Pow" and integer(dtype) and not dtype.startswith("u"):
            c.run(op, c.values((4,), dtype, low=-3, high=3), Value(np.array([0, 1, 2, 3]).astype(numpy_type(dtype)), dtype))
            c.run(op, c.values((2,), dtype, low=2, high=3), Value(np.array([1, -1]).astype(numpy_type(dtype)), dtype), mode="feed")
        if op == "Pow" and floats:
            for y in ([0.0, 0.5, 2.0, -1.0], [3.0, -2.0, 1.0, 1.5]):
                c.run(op, c.values((4,), dtype, low=0.1, high=4), Value(np.array(y).astype(numpy_type(dtype)), dtype))
            c.run(op, Value(np.array([-2.0, -2.0, 0.0, np.inf, 1.0, -1.5]).astype(numpy_type(dtype)), dtype),
                  Value(np.array([3.0, 0.5, 0.0, -1.0, np.nan, 2.0]).astype(numpy_type(dtype)), dtype))
        for a, b in WRONG:
            c.run(op, c.values(a, dtype, **how), c.values(b, dtype, **how))
        yield c
    if op in ("Equal", "NotEqual"):
        c = Case("%s/incompatible_shape_error" % op)
        for a, b in [((2,), (3,)), ((2, 2), (2, 2)), ((2, 3), (2,))]:
            c.run(op, c.values(a, "int32"), c.values(b, "int32"), incompatible_shape_error=False)
        yield c


def unary(op, domain):
    for dtype in typed(op):
        if op == "Round" and integer(dtype):
            continue
        c = Case("%s/%s" % (op, dtype))
        exact = op in EXACT and not dtype.startswith("complex")
        floats = "float" in dtype
        how = {"low": domain[0], "high": domain[1]} if domain and floats else {}
        if op in ("Log", "Sqrt", "Rsqrt") and not floats:
            how = {}
        for shape in UNARY_SHAPES:
            c.run(op, c.values(shape, dtype, **how), exact=exact)
        if floats and (op, dtype) not in OWN_FAULTS:
            c.run(op, c.values((12,), dtype, special=True), exact=exact)
            if op in ("Round", "Rint", "Floor", "Ceil"):
                c.run(op, Value(np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.49, -3.51, 1e4, -1e4]).astype(numpy_type(dtype)), dtype), exact=True)
        if integer(dtype) and op in ("Neg", "Abs", "Sign", "Relu", "Relu6"):
            c.run(op, c.values((9,), dtype, extreme=True), exact=exact)
        if op == "LeakyRelu":
            for alpha in (0.0, 0.5, 1.0, 2.0, -0.25):
                c.run(op, c.values((2, 5), dtype), alpha=alpha)
        yield c


def gradient(op, domain):
    for dtype in typed(op):
        c = Case("%s/%s" % (op, dtype))
        how = {"low": domain[0], "high": domain[1]} if domain and "float" in dtype else {}
        for shape in UNARY_SHAPES:
            c.run(op, c.values(shape, dtype, **how), c.values(shape, dtype, **how))
        for a, b in [((2,), (3,)), ((2, 2), (2,)), ((), (2,)), ((2, 3), (3, 2))]:
            c.run(op, c.values(a, dtype, **how), c.values(b, dtype, **how))
        yield c


def cases():
    for op, how in BINARY.items():
        yield from binary(op, how)
    for op, domain in UNARY.items():
        yield from unary(op, domain)
    for op, domain in GRADIENTS.items():
        yield from gradient(op, domain)
