#!/usr/bin/env python3
"""What each refinement of the attention plan buys, as a table in kernels/attention/README.md.

    python3 tools/bench/attention_ablation.py build/release/bin/bough [--only PREFIX]

Runs `bough bench attention_ablation`, keeps what it prints in tools/bench/results/attention_ablation.json and writes the
table from it. Cases that do not begin with PREFIX keep their lines.
"""
import argparse

import measured
import readme_table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bough", help="the program")
    parser.add_argument("--only", default="", metavar="PREFIX")
    parser.add_argument("--repeats", type=int, default=7, help="timed calls of each plan; the median counts")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for row in measured.lines_of(arguments.bough, arguments.threads, "attention_ablation", arguments.only,
                                 arguments.repeats):
        print(f"{row['case']:<52}{row['milliseconds']:>10.2f} ms {row['ratio']:>7.2f} {row['note']}", flush=True)
        measured.record("attention_ablation", "python3 tools/bench/attention_ablation.py build/release/bin/bough",
                        arguments.threads, [row], identity=("case",))
    readme_table.write_all()


if __name__ == "__main__":
    main()
