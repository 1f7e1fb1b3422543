"""Virtual environments with the peers that benchmarks compare with, outside the source tree.

They are made on first use under $BOUGH_PEERS, by default bough-peers in the user's cache folder, and kept.
"""
import os
import pathlib
import subprocess
import sys

PACKAGES = {
    "dgl": ["torch==2.2.1", "numpy<2", "dgl==2.1.0", "torchdata==0.7.1", "pandas", "pydantic", "pyyaml", "scipy"],
    "torch": ["torch==2.13.0", "torch_geometric==2.8.1", "numpy"],
}


def folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("BOUGH_PEERS") or pathlib.Path(cache) / "bough-peers")


def python_of(name):
    """The interpreter of the environment, which is made if it is not there. Installing takes minutes and gigabytes."""
    home = folder() / name
    python = home / "bin" / "python"
    complete = home / "complete"
    if not complete.exists():
        print(f"installing {', '.join(PACKAGES[name])} into {home}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        complete.touch()
    return str(python)
