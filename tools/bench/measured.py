"""What the scripts around `bough bench` share: one time of one program, the machine in words, files of results."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tools" / "bench" / "results"
PASSES = ("forward", "forward+backward")  # of attention


def lines_of(bough, threads, benchmark, only, repeats):
    """What `bough bench` reports of the cases that begin with `only`, each as soon as it is there."""
    command = [bough, "--threads", str(threads), "bench", benchmark, "--json", "--repeats", str(repeats), "--only", only]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as process:
        try:
            yield from map(json.loads, process.stdout)
        finally:
            process.kill()  # the caller may stop reading early
    if process.returncode > 0:
        sys.exit(f"'{' '.join(command)}' failed")


def milliseconds_of(bough, threads, benchmark, case, repeats):
    """The median of one case; other cases may begin with the same words."""
    for line in lines_of(bough, threads, benchmark, case, repeats):
        if line["case"] == case:
            return line["milliseconds"]
    sys.exit(f"{bough} did not measure '{case}'")


def machine(threads):
    """Processor, widest instruction set, cores, memory, threads used; Linux only."""
    processor = pathlib.Path("/proc/cpuinfo").read_text()

    def of(key):
        return re.search(rf"^{key}\s*: (.*)$", processor, re.MULTILINE).group(1)

    flags = of("flags").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "SSE2")
    kilobytes = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1))
    return (f"{of('model name')} (family {of('cpu family')}, model {of('model')}) with {vectors}, {os.cpu_count()} cores, "
            f"{kilobytes / 1e6:.0f} GB; {threads} threads, float32")


def record(name, command, threads, rows, identity):
    """Adds rows to results/NAME.json; those that have the same values of the keys `identity` are replaced.

    Rows of another machine are dropped: figures of one file can be compared with each other.
    """
    path = RESULTS / f"{name}.json"
    here = machine(threads)
    before = json.loads(path.read_text()) if path.exists() else {}
    kept = before["results"] if before.get("machine") == here else []
    merged = {tuple(row[key] for key in identity): row for row in kept + rows}
    lines = ",\n    ".join(map(json.dumps, merged.values()))
    path.write_text(f'{{\n  "command": {json.dumps(command)},\n  "machine": {json.dumps(here)},\n'
                    f'  "results": [\n    {lines}\n  ]\n}}\n')
