#!/usr/bin/env python3
"""Tuning on a cluster of one machine: test_slurm.py PROGRAM

The script that `gemmtune slurm` prints, on a slurmctld, slurmd and munged of the test's own, with the software GPU. Needs
root and Debian's slurmctld, slurmd and munge.
"""
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
NEEDED = ["slurmctld", "slurmd", "munged", "sbatch", "scontrol", "sinfo", "squeue", "srun"]
TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernel_templates")
TASKS = 6


def skip():
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [name for name in NEEDED if not shutil.which(name, path=path)]
    if missing:
        return "no " + ", ".join(missing) + " on this machine"
    return "" if os.geteuid() == 0 else "starting slurmd takes root"


def run(*words, check=True, **env):
    done = subprocess.run(words, text=True, capture_output=True, timeout=170, env={**os.environ, **env})
    if check and done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def winners(path):
    with sqlite3.connect(path) as db:
        return db.execute("SELECT m, family, params, us FROM best_configs ORDER BY m").fetchall()


def read(path):
    with open(path) as file:
        return file.read()


def wait_for(condition, seconds, what, pause=0.1):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"no {what} after {seconds} s: " + run("squeue", "-a", check=False))
        time.sleep(pause)


class Cluster:
    """Daemons in a folder of their own."""

    def __init__(self, folder):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        self.folder, host, user = folder, socket.gethostname().split(".")[0], "root"
        os.chmod(folder, 0o755)  # the socket is for all
        for name in ["munge", "state", "spool"]:
            os.mkdir(f"{folder}/{name}", 0o700)
        with open(f"{folder}/munge/key", "wb", opener=lambda p, f: os.open(p, f, 0o400)) as key:
            key.write(os.urandom(1024))
        ports = []
        for _ in range(2):
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                ports.append(s.getsockname()[1])
        with open(f"{folder}/slurm.conf", "w") as conf:
            conf.write(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"

    def start(self):
        folder = self.folder
        run("munged", "--force", f"--key-file={folder}/munge/key", f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munge/log", f"--seed-file={folder}/munge/seed")
        run("slurmctld")
        run("slurmd")
        wait_for(lambda: "idle" in run("sinfo", "-h", "-o", "%T", check=False), 30, "node")
        run("srun", "--immediate=30", "true")  # jobs run at all

    def stop(self):
        for name in ["slurmd", "slurmctld", "munged"]:
            try:
                with open(f"{self.folder}/{name}.pid") as file:
                    os.kill(int(file.read()), signal.SIGTERM)
            except (OSError, ValueError):
                pass
        time.sleep(1)


@unittest.skipIf(skip(), skip())
class Slurm(unittest.TestCase):
    def test_six_tasks_one_of_them_requeued_find_what_one_run_finds(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # daemons end with the test
        with tempfile.TemporaryDirectory(prefix="gemmtune-slurm-") as folder:
            cluster = Cluster(folder)
            try:
                try:
                    cluster.start()
                except AssertionError as failure:
                    self.skipTest(f"Slurm does not start here: {failure}")
                self.tune(folder)
            finally:
                cluster.stop()

    def one(self, work):
        """A family that has one configuration for each problem, not the same for all: what is looked at is who tunes what."""
        os.mkdir(f"{work}/one")
        shutil.copy(f"{TEMPLATES}/naive.cu", f"{work}/one/one.cu")
        with open(f"{TEMPLATES}/naive.sql") as old, open(f"{work}/one/one.sql", "w") as new:
            new.write(old.read().rstrip().rstrip(";") + " AND bm = iif(:m % 16, 16, 32) LIMIT 1")
        return f"{work}/one"

    def is_done(self, requeued):
        queue = run("squeue", "-h", "-r", "-o", "%i %r", check=False)
        if f"{requeued} BeginTime" in queue:  # it would wait for two minutes
            run("scontrol", "update", f"JobId={requeued}", "StartTime=now", check=False)
        return not queue.strip()

    def tune(self, folder):
        work = tempfile.mkdtemp(dir=folder)  # of mode 0700
        result, script, alone = f"{work}/all.db", f"{work}/tune.sh", f"{work}/alone.db"
        tune = ["--device", "soft", "--shapes", "16,24,32,40,48,56", "--family", "one", "--templates", self.one(work)]
        with open(script, "w") as file:
            file.write(run(PROGRAM, "slurm", "--shards", str(TASKS), "--db", result, "--", *tune))
        self.assertEqual(run("bash", "-n", script), "")
        out = run("bash", script)
        array = out.split("array ")[1].split()[0]
        task = f"{array}_3"
        log = f"{result}.shards/none/3.log"
        wait_for(lambda: os.path.exists(log) and "shard 3/6" in read(log), 90, "third task")
        run("scontrol", "requeue", task)
        wait_for(lambda: self.is_done(task), 150, "end", pause=0.5)
        logs = "".join(read(f"{result}.shards/none/{name}.log") for name in [*range(1, TASKS + 1), "merge"])
        self.assertTrue(os.path.exists(result), logs)
        self.assertEqual([m for m, *_ in winners(result)], [16, 24, 32, 40, 48, 56], logs)
        run(PROGRAM, *tune, "--shapes", "16,24", "--quiet", "--db", alone)  # one of each configuration: the rest is as dear
        self.assertEqual(winners(result)[:2], winners(alone), logs)
        self.assertEqual(read(log).count("shard 3/6"), 2, logs)  # it began twice
        self.assertEqual(os.stat(result).st_mode & 0o777, 0o644)


class Script(unittest.TestCase):
    """What needs no Slurm."""

    def test_words_stay_words_whatever_is_in_them(self):
        odd = "it's $HOME `date` \"x\""
        out = run(PROGRAM, "slurm", "--db", "/tmp/a b.db", "--", "--templates", odd)
        done = subprocess.run(["bash", "-c", out.split("set -u")[0] + 'printf "%s|" "${tune[@]}" "$database"'], text=True,
                              capture_output=True)
        self.assertEqual(done.stdout, f"--templates|{odd}|/tmp/a b.db|", done.stderr)

    def test_without_sbatch_the_script_is_printed_and_says_so_when_run(self):
        with tempfile.TemporaryDirectory(prefix="gemmtune-slurm-") as folder:
            script = f"{folder}/tune.sh"
            with open(script, "w") as file:
                file.write(run(PROGRAM, "slurm", "--gpus", "h200,a100", PATH=folder))
            bash = shutil.which("bash")
            done = subprocess.run([bash, script], env={"PATH": folder, "HOME": folder}, text=True, capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
            self.assertIn("no sbatch", done.stderr)

    def test_what_makes_no_sense_is_refused(self):
        for words, says in [(["--gpus", "a;b"], "--gpus takes"), (["--shards", "0"], "--shards takes"),
                            (["--", "--shard", "1/2"], "leave them out"), (["--", "--nonsense"], "unknown option"),
                            (["--", "--wanted"], "leave --wanted out"), (["--", "--help"], "tune nothing"),
                            (["--", "--shapes", "64,@-"], "in place of @-"), (["--", "--shapes=@-"], "in place of @-")]:
            done = subprocess.run([PROGRAM, "slurm", *words], text=True, capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), words)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
