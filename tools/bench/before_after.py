#!/usr/bin/env python3
"""Two builds of bough in turns: is the second one slower?

    python3 tools/bench/before_after.py BEFORE AFTER [--benchmark attention] [--cases CASE,...] [--turns N]

BEFORE and AFTER are programs of release builds. Every turn measures each case once with either program, beginning with
the other one than the turn before, so that both see the same noise of the machine. Prints median and minimum of the
turns, and the ratio after / before of both.
"""
import argparse
import statistics

from measured import machine, milliseconds_of

CASES = "bpt_k4 n=8192 forward,bpt_k4 n=8192 forward+backward,bpt_k64 n=8192 forward,bpt_k64 n=8192 forward+backward"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--benchmark", default="attention")
    parser.add_argument("--cases", default=CASES, help="whole names, with commas between")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=11, help="timed calls of a case in each turn; their median counts")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    cases = arguments.cases.split(",")
    sides = {"before": arguments.before, "after": arguments.after}
    times = {(case, side): [] for case in cases for side in sides}
    for turn in range(arguments.turns):
        for case in cases:
            for side in sorted(sides, reverse=turn % 2 == 0):
                times[case, side].append(milliseconds_of(sides[side], arguments.threads, arguments.benchmark, case,
                                                         arguments.repeats))
    print(machine(arguments.threads))
    for name, choose in (("median", statistics.median), ("minimum", min)):
        for case in cases:
            before, after = (choose(times[case, side]) for side in ("before", "after"))
            print(f"{case:<34}{name:<9}{before:>9.2f} -> {after:>9.2f} ms {after / before:>7.3f}")


if __name__ == "__main__":
    main()
