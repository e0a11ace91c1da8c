"""Stock TensorFlow as the oracle: a server process, spoken to over gRPC with hand-written messages."""
import os
import socket
import subprocess
import sys

import wire

ENVIRONMENT = {"TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
os.environ.update(ENVIRONMENT)  # before TensorFlow is imported

if __name__ == "__main__":
    import tensorflow as tf

    tf.distribute.Server({"worker": [sys.argv[1]]}, job_name="worker", task_index=0).join()

import grpc
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

CALL_SECONDS = 15


def plain_config(**fields):
    """No optimisers: what a node answers is what its kernel answers.  State is the session's own."""
    config = config_pb2.ConfigProto(isolate_session_state=True, **fields)
    config.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.pin_to_host_optimization = rewriter_config_pb2.RewriterConfig.OFF
    return config


class Crashed(Exception):
    """The server died or did not answer: such a case is left out, with a word on stderr."""


class Oracle:
    def __init__(self):
        self.server = None

    def start(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % s.getsockname()[1]
        self.server = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), address],
                                       stderr=subprocess.DEVNULL)
        self.channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])
        grpc.channel_ready_future(self.channel).result(timeout=120)

    def stop(self):
        if self.server:
            self.channel.close()
            self.server.kill()
            self.server.wait()
            self.server = None

    def call(self, method, request):
        """Returns (code, message, reply bytes)."""
        if self.server is None:
            self.start()
        f = self.channel.unary_unary("/tensorflow.MasterService/" + method)
        try:
            return 0, "", f(request, timeout=CALL_SECONDS)
        except grpc.RpcError as e:
            code = e.code().value[0]
            if code in (4, 14):
                self.stop()
                raise Crashed("%s: %s" % (method, e.details())) from None
            return code, e.details() or "", b""

    def create(self, graph, config):
        code, message, reply = self.call("CreateSession", wire.data(1, graph) + wire.data(2, config))
        return code, message, wire.first(reply, 1).decode()

    def extend(self, handle, graph, version):
        request = wire.data(1, handle) + wire.data(2, graph) + wire.integer(3, version)
        return self.call("ExtendSession", request)[:2]

    def run(self, handle, feeds, fetches, targets):
        """Returns (code, message, {name: TensorProto bytes})."""
        request = wire.data(1, handle)
        request += b"".join(wire.named(2, n, t) for n, t in feeds)
        request += b"".join(wire.data(3, n) for n in fetches)
        request += b"".join(wire.data(4, n) for n in targets)
        request += wire.data(5, b"") + wire.integer(7, 1)
        code, message, reply = self.call("RunStep", request)
        found = {}
        for number, value in wire.fields(reply):
            if number == 1:
                found[wire.first(value, 1).decode()] = wire.first(value, 2)
            elif number == 3:
                code = value
            elif number == 4:
                message = value.decode(errors="replace")
        return code, message, found

    def close(self, handle):
        self.call("CloseSession", wire.data(1, handle))


def complain(text):
    print(text, file=sys.stderr, flush=True)
