"""Convolutions, pooling, batch normalisation and softmax, with their gradients."""
import numpy as np

from cases.arrays import both, i32, index, usable
from graphs import Value
from suite import Case

# (input NHWC, filter HWIO, strides HW, padding, dilations HW, explicit paddings)
CONVS = [
    ((1, 4, 5, 1), (3, 3, 1, 2), (1, 1), "SAME", (1, 1)),
    ((2, 5, 6, 3), (2, 3, 3, 4), (1, 1), "VALID", (1, 1)),
    ((1, 7, 7, 2), (3, 3, 2, 3), (2, 2), "SAME", (1, 1)),
    ((1, 6, 6, 4), (3, 3, 2, 6), (1, 1), "SAME", (1, 1)),  # two groups
    ((2, 4, 4, 3), (1, 1, 3, 5), (1, 1), "SAME", (1, 1)),
    ((1, 8, 7, 2), (3, 2, 2, 2), (1, 1), "VALID", (2, 3)),
    ((1, 5, 5, 1), (2, 2, 1, 1), (3, 2), "VALID", (1, 1)),
    ((1, 4, 4, 2), (3, 3, 2, 2), (1, 1), "EXPLICIT", (1, 1)),
    ((1, 3, 3, 2), (4, 4, 2, 1), (2, 1), "SAME", (1, 1)),
    ((0, 4, 4, 2), (3, 3, 2, 2), (1, 1), "SAME", (1, 1)),
    ((1, 10, 9, 3), (3, 3, 3, 8), (2, 2), "VALID", (1, 1)),
    ((1, 1, 1, 8), (1, 1, 8, 9), (1, 1), "VALID", (1, 1)),
    ((1, 4, 4, 1), (2, 2, 1, 1), (1, 2), "EXPLICIT", (1, 1)),
]
EXPLICIT = [0, 0, 1, 2, 0, 1, 0, 0]


def low(c, s, t):
    return c.values(s, t, low=-1, high=1) if "float" in t else c.values(s, t, low=-5, high=5)


def conv_attrs(strides, padding, dilations):
    attrs = dict(strides=[1, *strides, 1], padding=padding, dilations=[1, *dilations, 1])
    if padding == "EXPLICIT":
        attrs["explicit_paddings"] = EXPLICIT
    return attrs


def out_size(n, k, stride, padding, dilation, pads=(0, 0)):
    k = (k - 1) * dilation + 1
    if padding == "SAME":
        return -(-n // stride)
    if padding == "EXPLICIT":
        n += sum(pads)
    return (n - k) // stride + 1


def conv_output(s, f, strides, padding, dilations, depth):
    pads = (EXPLICIT[2:4], EXPLICIT[4:6])
    return (s[0],) + tuple(out_size(s[i + 1], f[i], strides[i], padding, dilations[i], pads[i]) for i in (0, 1)) + (depth,)


WRONG_CONVS = [((1, 4, 4, 3), (3, 3, 2, 4), (1, 1), "SAME", (1, 1)), ((1, 2, 2, 1), (3, 3, 1, 1), (1, 1), "VALID", (1, 1)),
               ((4, 4, 1), (3, 3, 1, 1), (1, 1), "SAME", (1, 1)), ((1, 4, 4, 1), (3, 3, 1), (1, 1), "SAME", (1, 1)),
               ((1, 4, 4, 1), (3, 3, 1, 1), (0, 1), "SAME", (1, 1)), ((1, 4, 4, 1), (3, 3, 1, 1), (1, 1), "SAME", (0, 1)),
               ((1, 4, 4, 2), (0, 3, 2, 1), (1, 1), "SAME", (1, 1)), ((1, 4, 4, 0), (3, 3, 0, 2), (1, 1), "SAME", (1, 1)),
               ((1, 4, 4, 4), (3, 3, 2, 3), (1, 1), "SAME", (1, 1)), ((1, 0, 4, 2), (3, 3, 2, 2), (1, 1), "SAME", (1, 1))]


def conv2d():
    for t in usable("Conv2D", "T"):
        c = Case("Conv2D/%s" % t)
        for s, f, strides, padding, dilations in CONVS:
            c.run("Conv2D", low(c, s, t), low(c, f, t), scale=10.0, **conv_attrs(strides, padding, dilations))
        if t == "float32":
            for s, f, strides, padding, dilations in WRONG_CONVS:
                both(c, "Conv2D", low(c, s, t), low(c, f, t), **conv_attrs(strides, padding, dilations))
            v = low(c, (1, 4, 4, 2), t), low(c, (3, 3, 2, 2), t)
            for attrs in (dict(strides=[1, 1, 1], padding="SAME"), dict(strides=[2, 1, 1, 1], padding="SAME"), dict(strides=[1, 1, 1, 2], padding="SAME"),
                          dict(strides=[1, 1, 1, 1], padding="HALF"), dict(strides=[1, 1, 1, 1], padding="EXPLICIT"),
                          dict(strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, -1, 0, 0, 0, 0, 0]),
                          dict(strides=[1, 1, 1, 1], padding="SAME", explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0]),
                          dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 1, 1]), dict(strides=[1, 1, 1, 1], padding="SAME", data_format="NHCW")):
                c.run("Conv2D", *v, mode="feed", **attrs)
        yield c
        for op in ("Conv2DBackpropInput", "Conv2DBackpropFilter"):
            if t not in usable(op, "T"):
                continue
            c = Case("%s/%s" % (op, t))
            for s, f, strides, padding, dilations in CONVS:
                if (0 in s and op.endswith("Filter")) or s[3] != f[2]:  # TensorFlow has no gradients of grouped ones
                    continue
                grad = low(c, conv_output(s, f, strides, padding, dilations, f[3]), t)
                args = [i32(s), low(c, f, t), grad] if op.endswith("Input") else [low(c, s, t), i32(f), grad]
                c.run(op, *args, scale=30.0, **conv_attrs(strides, padding, dilations))
            if t == "float32":
                attrs = conv_attrs((1, 1), "VALID", (1, 1))
                good = (1, 4, 4, 2), (3, 3, 2, 3), (1, 2, 2, 3)
                for s, f, o in [((1, 4, 4, 2), (3, 3, 2, 3), (1, 3, 2, 3)), ((1, 4, 4, 2), (3, 3, 2, 3), (1, 2, 2, 4)), ((1, 4, 4, 2), (3, 3, 2, 3), (2, 2, 2, 3)),
                                ((4, 4, 2), (3, 3, 2, 3), (1, 2, 2, 3)), ((1, 4, 4, 3), (3, 3, 2, 3), (1, 2, 2, 3)), ((1, 4, -4, 2), (3, 3, 2, 3), (1, 2, 2, 3)), good]:
                    if min(s) < 0 and op.endswith("Filter"):
                        continue
                    args = [i32(s), low(c, f, t), low(c, o, t)] if op.endswith("Input") else [low(c, s, t), i32(f), low(c, o, t)]
                    both(c, op, *args, scale=30.0, **attrs)
            yield c


# (input, filter HWIM, strides, padding, dilations)
DEPTHWISE = [((1, 4, 5, 2), (3, 3, 2, 1), (1, 1), "SAME", (1, 1)), ((2, 5, 5, 3), (2, 2, 3, 2), (1, 1), "VALID", (1, 1)),
             ((1, 7, 7, 4), (3, 3, 4, 1), (2, 2), "SAME", (1, 1)), ((1, 6, 6, 8), (3, 3, 8, 1), (1, 1), "SAME", (1, 1)),
             ((1, 5, 5, 1), (3, 3, 1, 4), (1, 1), "SAME", (1, 1)), ((1, 6, 6, 2), (3, 3, 2, 1), (1, 1), "EXPLICIT", (1, 1)),
             ((0, 4, 4, 2), (3, 3, 2, 1), (1, 1), "SAME", (1, 1)), ((1, 9, 5, 3), (10, 4, 3, 1), (1, 1), "SAME", (1, 1))]


def depthwise():
    for t in usable("DepthwiseConv2dNative", "T"):
        c = Case("DepthwiseConv2dNative/%s" % t)
        for s, f, strides, padding, dilations in DEPTHWISE:
            c.run("DepthwiseConv2dNative", low(c, s, t), low(c, f, t), scale=10.0, **conv_attrs(strides, padding, dilations))
        if t == "float32":
            for s, f in [((1, 4, 4, 2), (3, 3, 3, 1)), ((1, 2, 2, 1), (3, 3, 1, 1)), ((4, 4, 1), (3, 3, 1, 1)), ((1, 4, 4, 1), (3, 3, 1))]:
                both(c, "DepthwiseConv2dNative", low(c, s, t), low(c, f, t), **conv_attrs((1, 1), "VALID", (1, 1)))
            for attrs in (dict(strides=[1, 1, 2, 1], padding="SAME"), dict(strides=[2, 1, 1, 1], padding="SAME"), dict(strides=[1, 1, 1], padding="SAME")):
                c.run("DepthwiseConv2dNative", low(c, (1, 4, 4, 2), t), low(c, (3, 3, 2, 1), t), mode="feed", **attrs)
        yield c
        for op in ("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"):
            c = Case("%s/%s" % (op, t))
            for s, f, strides, padding, dilations in DEPTHWISE:
                if 0 in s and op.endswith("Filter"):
                    continue
                grad = low(c, conv_output(s, f, strides, padding, dilations, f[2] * f[3]), t)
                args = [i32(s), low(c, f, t), grad] if op.endswith("Input") else [low(c, s, t), i32(f), grad]
                c.run(op, *args, scale=30.0, **conv_attrs(strides, padding, dilations))
            if t == "float32":
                for s, f, o in [((1, 4, 4, 2), (3, 3, 2, 1), (1, 3, 2, 2)), ((1, 4, 4, 2), (3, 3, 2, 1), (1, 2, 2, 3)), ((4, 4, 2), (3, 3, 2, 1), (1, 2, 2, 2))]:
                    args = [i32(s), low(c, f, t), low(c, o, t)] if op.endswith("Input") else [low(c, s, t), i32(f), low(c, o, t)]
                    both(c, op, *args, **conv_attrs((1, 1), "VALID", (1, 1)))
            yield c


POOLS = [((1, 4, 4, 1), (2, 2), (2, 2), "VALID"), ((2, 5, 6, 3), (3, 2), (1, 2), "SAME"), ((1, 7, 7, 2), (3, 3), (2, 2), "SAME"),
         ((1, 3, 3, 4), (3, 3), (1, 1), "VALID"), ((1, 5, 5, 1), (2, 2), (3, 3), "SAME"), ((0, 4, 4, 2), (2, 2), (2, 2), "SAME"),
         ((1, 2, 3, 9), (1, 1), (1, 1), "VALID"), ((2, 4, 4, 16), (2, 2), (2, 2), "SAME")]


def pool_attrs(k, strides, padding):
    return dict(ksize=[1, *k, 1], strides=[1, *strides, 1], padding=padding)


def pooled(s, k, strides, padding):
    return (s[0],) + tuple(out_size(s[i + 1], k[i], strides[i], padding, 1) for i in (0, 1)) + (s[3],)


def max_of(x, k, strides, padding):
    """The pooled maximum by plain loops: the gradient's second argument has to be consistent with its first."""
    s = x.shape
    o = pooled(s, k, strides, padding)
    out = np.zeros(o, x.dtype)
    for y in range(o[1]):
        for z in range(o[2]):
            window = []
            for axis, at in ((0, y), (1, z)):
                before = max((o[axis + 1] - 1) * strides[axis] + k[axis] - s[axis + 1], 0) // 2 if padding == "SAME" else 0
                start = at * strides[axis] - before
                window.append(slice(max(start, 0), min(start + k[axis], s[axis + 1])))
            if s[0]:
                out[:, y, z] = x[:, window[0], window[1]].astype(np.float64).max(axis=(1, 2)).astype(x.dtype)
    return out


def pools():
    for op in ("MaxPool", "AvgPool"):
        for t in usable(op, "T"):
            if t == "qint8":
                continue
            c = Case("%s/%s" % (op, t))
            for s, k, strides, padding in POOLS:
                c.run(op, c.values(s, t), exact=op == "MaxPool", **pool_attrs(k, strides, padding))
            if t == "float32":
                if op == "MaxPool":
                    c.run(op, c.values((1, 4, 4, 2), t), padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 1, 1, 0, 0], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1])
                for s, k, strides in [((1, 2, 2, 1), (3, 3), (1, 1)), ((4, 4, 1), (2, 2), (1, 1)), ((1, 4, 4, 1), (0, 2), (1, 1)), ((1, 4, 4, 1), (2, 2), (0, 1)),
                                      ((1, 4, 4, 1), (-2, 2), (1, 1)), ((1, 0, 4, 1), (2, 2), (1, 1))]:
                    both(c, op, c.values(s, t), **pool_attrs(k, strides, "VALID"))
                for attrs in (dict(ksize=[2, 1, 1, 1], strides=[1, 1, 1, 1]), dict(ksize=[1, 2, 2], strides=[1, 1, 1, 1]), dict(ksize=[1, 2, 2, 1], strides=[1, 1]),
                              dict(ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2])):
                    c.run(op, c.values((1, 4, 4, 2), t), padding="VALID", mode="feed", exact=op == "MaxPool", **attrs)
            yield c
    for t in usable("MaxPoolGrad", "T"):
        c = Case("MaxPoolGrad/%s" % t)
        for s, k, strides, padding in POOLS:
            x = c.values(s, t)
            o = Value(max_of(x.array, k, strides, padding), t)
            c.run("MaxPoolGrad", x, o, c.values(o.shape, t), scale=4.0, **pool_attrs(k, strides, padding))
        if t == "float32":
            tie = Value(np.ones((1, 4, 4, 1)), t)
            c.run("MaxPoolGrad", tie, Value(np.ones((1, 2, 2, 1)), t), c.values((1, 2, 2, 1), t), **pool_attrs((2, 2), (2, 2), "VALID"))
            for a, b, g in [((1, 4, 4, 1), (1, 2, 2, 1), (1, 3, 2, 1)), ((1, 4, 4, 1), (1, 3, 2, 1), (1, 2, 2, 1)), ((4, 4, 1), (1, 2, 2, 1), (1, 2, 2, 1)),
                            ((1, 4, 4, 1), (2, 2, 1), (1, 2, 2, 1))]:
                both(c, "MaxPoolGrad", c.values(a, t), c.values(b, t), c.values(g, t), **pool_attrs((2, 2), (2, 2), "VALID"))
        yield c
    for t in usable("AvgPoolGrad", "T"):
        c = Case("AvgPoolGrad/%s" % t)
        for s, k, strides, padding in POOLS:
            c.run("AvgPoolGrad", i32(s), c.values(pooled(s, k, strides, padding), t), scale=4.0, **pool_attrs(k, strides, padding))
        if t == "float32":  # other rows or channels than the window makes are not noticed by TensorFlow, and not asked for
            for s, g in [((4, 4, 1), (1, 2, 2, 1)), ((1, 4, 4, 1), (2, 2, 1)), ((1, 4, 4, -1), (1, 2, 2, 1))]:
                both(c, "AvgPoolGrad", i32(s), c.values(g, t), **pool_attrs((2, 2), (2, 2), "VALID"))
        yield c


def batch_norms():
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        for sig in usable(op, *(("T",) if op == "FusedBatchNorm" else ("T", "U"))):
            t, u = (sig, sig) if isinstance(sig, str) else sig
            grad = op.replace("Norm", "NormGrad")
            c, g = Case("%s/%s" % (op, t)), Case("%s/%s" % (grad, t))
            for i, s in enumerate([(2, 2, 3, 3), (1, 4, 4, 1), (3, 1, 1, 5), (2, 3, 2, 8)]):
                d = s[3]

                # What is kept for the gradient is unset memory when not training: TensorFlow's is not fetched.
                def stats(case):
                    return case.values((d,), u, low=-1, high=1), case.values((d,), u, low=0.5, high=2)

                for training in (True, False):
                    mean, var = stats(c)
                    if training:
                        mean = var = Value(np.zeros((0,)), u)
                    c.run(op, low(c, s, t), *stats(c)[::-1], mean, var, is_training=training, epsilon=0.001 * (i + 1),
                          fetch=range(5 if training else 3), scale=10.0)
                    mean, var = stats(g)
                    args = [low(g, s, t), low(g, s, t), stats(g)[1], mean, var] + ([var] if op.endswith("V3") else [])
                    g.run(grad, *args, is_training=training, epsilon=0.001, fetch=range(3), scale=40.0)
            mean, var = (c.values((3,), u, low=0.1, high=1) for _ in range(2))
            c.run(op, low(c, (2, 2, 3, 3), t), var, mean, mean, var, is_training=True, exponential_avg_factor=0.25, scale=10.0)
            c.run(op, low(c, (0, 2, 3, 3), t), var, mean, mean, var, is_training=False, fetch=range(3), scale=10.0)
            if t == "float32":
                for s, n in [((2, 2, 3), 3), ((2, 2, 2, 3), 2), ((1, 2, 2, 1), 3)]:
                    v = [c.values((n,), u, low=0.1, high=1) for _ in range(4)]
                    both(c, op, low(c, s, t), *v, is_training=False, fetch=range(3))
                v = [c.values((3, 1), u, low=0.1, high=1) for _ in range(4)]
                both(c, op, low(c, (2, 2, 2, 3), t), *v, is_training=False)
                c.run(op, low(c, (2, 3, 2, 2), t), *[c.values((3,), u, low=0.1, high=1) for _ in range(4)], is_training=False, data_format="NCHW", mode="feed",
                      fetch=range(3), scale=10.0)
            yield c
            yield g


def softmaxes():
    for op in ("Softmax", "LogSoftmax"):
        for t in usable(op, "T"):
            c = Case("%s/%s" % (op, t))
            for s in [(3,), (2, 4), (2, 2, 3), (0, 3), (2, 1), (1, 33)]:
                c.run(op, c.values(s, t))
            c.run(op, Value(np.array([[1000.0, 999.0, -1000.0], [-60000.0, -60001.0, -60000.0]]), t))
            c.run(op, c.values((2, 0), t))
            both(c, op, c.values((), t))
            yield c
    for t in usable("SoftmaxCrossEntropyWithLogits", "T"):
        c = Case("SoftmaxCrossEntropyWithLogits/%s" % t)
        for a, b in [((2, 3), (2, 3)), ((4, 10), (4, 10)), ((2, 3), (1, 3)), ((1, 3), (2, 3)), ((0, 3), (0, 3)), ((3, 1), (3, 4))]:
            c.run("SoftmaxCrossEntropyWithLogits", c.values(a, t), c.values(b, t, low=0, high=1), scale=8.0)
        for a, b in [((2, 3), (2, 4)), ((3,), (3,)), ((2, 3, 1), (2, 3, 1)), ((2, 0), (2, 0))]:
            both(c, "SoftmaxCrossEntropyWithLogits", c.values(a, t), c.values(b, t, low=0, high=1), scale=8.0)
        yield c
    for t, tl in usable("SparseSoftmaxCrossEntropyWithLogits", "T", "Tlabels"):
        c = Case("SparseSoftmaxCrossEntropyWithLogits/%s/%s" % (t, tl))
        for s, labels in [((2, 3), [0, 2]), ((4, 10), [1, 9, 0, 3]), ((0, 3), np.zeros((0,))), ((1, 1), [0])]:
            c.run("SparseSoftmaxCrossEntropyWithLogits", c.values(s, t), index(labels, tl), scale=8.0)
        for s, labels in [((2, 3), [0, 3]), ((2, 3), [-1, 0]), ((2, 3), [0]), ((3,), [0]), ((2, 3), [[0], [1]]), ((2, 0), [0, 0])]:
            both(c, "SparseSoftmaxCrossEntropyWithLogits", c.values(s, t), index(labels, tl), scale=8.0)
        yield c


def cases():
    for family in (conv2d, depthwise, pools, batch_norms, softmaxes):
        yield from family()
