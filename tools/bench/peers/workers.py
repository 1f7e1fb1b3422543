"""A peer in a process of its own, with the interpreter of its environment."""
import json
import pathlib
import subprocess
import sys

import environments


class Worker:
    """Answers one order at a time, a line of JSON each. Closing it gives its memory back."""

    def __init__(self, environment, script, *arguments):
        path = pathlib.Path(__file__).with_name(script)
        command = [environments.python_of(environment), path, *map(str, arguments)]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, **order):
        print(json.dumps(order), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the process with the peer ended; its message is above")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
