"""Writes data/misuse.bin: what creating, extending and running a session refuses, and what it accepts all the same.

python make_session_errors.py [--only SUBSTRING]     with --only nothing is written, the answers are printed
"""
import argparse
import os

from oracle import Oracle  # first: it sets TensorFlow's environment
import suite
from cases import misuse
from make_golden import HERE, answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    only = parser.parse_args().only
    oracle = Oracle()
    try:
        made = answers(oracle, misuse.cases(), only)
    finally:
        oracle.stop()
    if not only:
        suite.write(os.path.join(HERE, "data", "misuse.bin"), made)


if __name__ == "__main__":
    main()
