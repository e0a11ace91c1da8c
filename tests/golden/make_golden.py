"""Writes data/FAMILY.bin: what TensorFlow 2.21 answers to the cases of cases/FAMILY.py.

python make_golden.py [FAMILY ...] [--only SUBSTRING]     with --only nothing is written, the answers are printed
"""
import argparse
import importlib
import os

from oracle import Oracle  # first: it sets TensorFlow's environment
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = ["elementwise", "arrays", "sources", "reductions", "linear", "nn", "state", "streams"]


def show(case):
    print(case.name, "create", case.create_code)
    for s in case.steps:
        print("  ", [n for n, _ in s.feeds], s.fetches, s.targets, "code", s.code, s.message, [(n, len(t)) for n, t in s.expected])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("family", nargs="*")
    parser.add_argument("--only")
    args = parser.parse_args()
    oracle = Oracle()
    try:
        for family in args.family or FAMILIES:
            made = []
            for case in importlib.import_module("cases." + family).cases():
                if args.only and args.only not in case.name:
                    continue
                if case.ask(oracle) and (case.steps or case.create_code):
                    made.append(case)
                    if args.only:
                        show(case)
            if not args.only:
                suite.write(os.path.join(HERE, "data", family + ".bin"), made)
    finally:
        oracle.stop()


if __name__ == "__main__":
    main()
