"""What tables of programs compare: one script with the front and without it, as several processes each that take turns."""
import json
import subprocess
import sys


class Side:
    """Processes that run `SCRIPT --serve` behind these words: a line of JSON in, one out."""

    def __init__(self, words, script, count):
        self.processes = [subprocess.Popen([*words, sys.executable, script, "--serve"], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True) for _ in range(count)]

    def tell(self, i, asked):
        print(json.dumps(asked), file=self.processes[i].stdin, flush=True)

    def hear(self, i):
        return json.loads(self.processes[i].stdout.readline())

    def ask(self, i, asked):
        self.tell(i, asked)
        return self.hear(i)

    def tell_all(self, asked):
        for i in range(len(self.processes)):
            self.tell(i, asked)

    def hear_all(self):
        return [self.hear(i) for i in range(len(self.processes))]

    def end(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()
