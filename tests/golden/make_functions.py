"""Writes data/functions.bin: calls of functions, conditionals and loops of TF2 graphs.

python make_functions.py [--only SUBSTRING]     with --only nothing is written, the answers are printed
"""
import argparse
import os

from oracle import Oracle  # first: it sets TensorFlow's environment
import cases.functions
import suite
from make_golden import HERE, answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    only = parser.parse_args().only
    oracle = Oracle()
    try:
        made = answers(oracle, cases.functions.cases(), only)
    finally:
        oracle.stop()
    if not only:
        suite.write(os.path.join(HERE, "data", "functions.bin"), made)


if __name__ == "__main__":
    main()
