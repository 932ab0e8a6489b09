#!/usr/bin/env python3
"""How long Buildbot takes over a trivial build, and over a burst of them. See README.md."""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(sys.executable).parent
WORKERS = ["one", "two"]
TIMEOUT = 600


def main():
    arguments = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that what was started is ended too
    folder = Path(tempfile.mkdtemp(prefix="buildbot-", dir=Path(arguments.folder).resolve()))
    processes = []
    try:
        result = measured(arguments, folder, processes)
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)
    if "error" in result:
        sys.exit(f"the benchmark failed: {result['error']}")
    result["buildbot"] = version("buildbot")
    print(json.dumps(result) if arguments.json else text(result))


def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20, help="builds one after the other")
    parser.add_argument("--burst", type=int, default=200, help="builds at once")
    parser.add_argument("--folder", default=".", help="where its data goes: on a disk, not in memory")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of text")
    return parser.parse_args()


def measured(arguments, folder, processes):
    port, result = free_port(), folder / "result.json"
    master = folder / "master"
    quietly([PROGRAMS / "buildbot", "create-master", master])
    shutil.copy(HERE / "master.cfg", master / "master.cfg")
    environment = os.environ | {
        "BENCH_WORKER_PORT": str(port),
        "BENCH_SAMPLES": str(arguments.samples),
        "BENCH_BURST": str(arguments.burst),
        "BENCH_RESULT": str(result),
    }
    leader = started([PROGRAMS / "buildbot", "start", "--nodaemon", master], folder / "master.log", environment)
    processes.append(leader)
    for name in WORKERS:
        quietly([PROGRAMS / "buildbot-worker", "create-worker", folder / name, f"127.0.0.1:{port}", name, "secret"])
        command = [PROGRAMS / "buildbot-worker", "start", "--nodaemon", folder / name]
        processes.append(started(command, folder / f"{name}.log", os.environ))
    leader.wait(timeout=TIMEOUT)
    if not result.exists():
        return {"error": (master / "twistd.log").read_text()[-2000:]}
    return json.loads(result.read_text())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def quietly(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stdout}{done.stderr}")


def started(command, log, environment):
    with open(log, "w") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)


def text(result):
    p50 = result["submit_to_finished_p50_micros"] / 1000
    rate = result["burst_jobs_per_minute"]
    return f"Buildbot {result['buildbot']}: {p50:.0f} ms per trivial build; {rate:.0f} builds/min, {result['burst']} at once"


if __name__ == "__main__":
    main()
