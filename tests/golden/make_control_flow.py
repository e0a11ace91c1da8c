"""Writes data/control_flow.bin: dead values, conditionals and loops of TF1 graphs.

python make_control_flow.py [--only SUBSTRING]     with --only nothing is written, the answers are printed
"""
import argparse
import os

from oracle import Oracle  # first: it sets TensorFlow's environment
import cases.control_flow
import cases.control_flow_clients
import suite
from make_golden import HERE, answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    only = parser.parse_args().only
    oracle = Oracle()
    try:
        table = [*cases.control_flow.cases(), *cases.control_flow_clients.cases()]
        made = answers(oracle, table, only)
    finally:
        oracle.stop()
    if not only:
        suite.write(os.path.join(HERE, "data", "control_flow.bin"), made)


if __name__ == "__main__":
    main()
