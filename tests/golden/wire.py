"""Protocol buffer fields by hand: enough to write golden.proto and to call a master without generated code."""
import struct


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def data(number, value):
    """A length-delimited field; strings are encoded."""
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def integer(number, value):
    return varint(number << 3) + varint(value) if value else b""


def double(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value) if value else b""


def fields(message):
    """Yields (number, value) of a message: int for varints, bytes for the rest."""
    at = 0

    def number():
        nonlocal at
        shift = value = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = number()
        kind = key & 7
        if kind == 0:
            value = number()
        else:
            size = {1: 8, 5: 4}.get(kind) or number()
            value = message[at : at + size]
            at += size
        yield key >> 3, value


def first(message, wanted, default=b""):
    return next((value for number, value in fields(message) if number == wanted), default)


def named(number, name, tensor):
    """NamedTensorProto and golden.Feed have the same fields."""
    return data(number, data(1, name) + data(2, tensor))
