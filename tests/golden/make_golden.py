"""Writes data/FAMILY.bin: what TensorFlow 2.21 answers to the cases of cases/FAMILY.py.

python make_golden.py [FAMILY ...] [--only SUBSTRING]     with --only nothing is written, the answers are printed
"""
import argparse
import importlib
import os

from oracle import Oracle  # first: it sets TensorFlow's environment
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = ["elementwise", "arrays", "places", "sources", "reductions", "segments", "linear", "nn", "state", "streams", "lists", "queues"]


def answers(oracle, cases, only=None):
    """The cases whose name contains `only`, each with TensorFlow's answers."""
    made, names = [], set()
    for case in cases:
        if only and only not in case.name:
            continue
        if case.name in names:
            raise SystemExit("two cases named " + case.name)
        names.add(case.name)
        if case.ask(oracle) and (case.steps or case.create_code):
            made.append(case)
            if only:
                show(case)
    return made


def show(case):
    print(case.name, "create", case.create_code, case.create_message)
    for s in case.steps:
        values = [(n, suite.as_text(t)) for n, t in s.expected]
        print("  ", [n for n, _ in s.feeds], s.fetches, s.targets, "code", s.code, s.message, values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("family", nargs="*")
    parser.add_argument("--only")
    args = parser.parse_args()
    oracle = Oracle()
    try:
        for family in args.family or FAMILIES:
            made = answers(oracle, importlib.import_module("cases." + family).cases(), args.only)
            if not args.only:
                suite.write(os.path.join(HERE, "data", family + ".bin"), made)
    finally:
        oracle.stop()


if __name__ == "__main__":
    main()
