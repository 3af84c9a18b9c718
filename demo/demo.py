"""The jobs of the demo: makes the disk and the files, runs each job plain and under `ahead run` in
an interleaved order with the cache dropped in between, compares the results, and cleans up, also
after Ctrl-C. Everything that it prints is measured in this run.

Arguments: `--dir DIR` uses a folder on an existing disk instead of an emulated one."""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import data
import picture

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
AHEAD = os.path.join(TARGET, "release", "ahead")
RESULTS = os.path.join(ROOT, "demo-results")
# The stock value of the kernel, whatever this machine's start-up files set.
READ_AHEAD_KB = 128
DISK_MODEL, DISK_SCALE = "hdd", 4
# A B B A A B: three runs an arm, so that one disturbed run does not decide, and neither arm is
# always the one that comes second.
ORDER = ("plain", "ahead", "ahead", "plain", "plain", "ahead")


class Device:
    """The block device under a folder: its read-ahead, and what it has read."""

    def __init__(self, folder):
        number = os.stat(folder).st_dev
        self.sysfs = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
        # A partition keeps its queue in the disk that it is a part of.
        queue = os.path.join(self.sysfs, "queue")
        self.queue = queue if os.path.isdir(queue) else os.path.join(self.sysfs, "..", "queue")
        self.before = self.read_ahead()

    def read_ahead(self):
        with open(os.path.join(self.queue, "read_ahead_kb"), encoding="ascii") as file:
            return int(file.read())

    def set_read_ahead(self, kib):
        with open(os.path.join(self.queue, "read_ahead_kb"), "w", encoding="ascii") as file:
            file.write(str(kib))

    def read_bytes(self):
        """Bytes read since the device came up: sectors of 512, third number of `stat`."""
        with open(os.path.join(self.sysfs, "stat"), encoding="ascii") as file:
            return int(file.read().split()[2]) * 512


class EmulatedDisk:
    """An emulated disk with a file system on it, until `destroy`."""

    def __init__(self):
        self.name = f"demo-{os.getpid()}"
        self.folder = tempfile.mkdtemp(prefix="ahead-demo-")

    def create(self):
        subprocess.run([AHEAD, "disk", "create", self.name, "--model", DISK_MODEL, "--size", "3G",
                        "--scale", str(DISK_SCALE), "--mount", self.folder],
                       check=True, stdout=subprocess.DEVNULL)

    def destroy(self):
        listed = subprocess.run([AHEAD, "disk", "list", "--json"], capture_output=True, text=True)
        exists = f'"{self.name}"' in listed.stdout
        for attempts_left in reversed(range(20 if exists else 0)):
            # The last of the killed readers may hold its file for another moment.
            said = subprocess.run([AHEAD, "disk", "destroy", self.name], capture_output=True,
                                  text=True)
            if said.returncode == 0:
                break
            if attempts_left == 0:
                print(said.stderr, end="", file=sys.stderr)
            time.sleep(0.25)
        if os.path.isdir(self.folder) and not os.path.ismount(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)


def jobs(paths, target):
    """Name, command and output folder of each job."""
    script = lambda name: [sys.executable, os.path.join(HERE, "jobs", name)]
    row, column = data.MATRIX_ROW_BYTES, 96 * 1024
    copy = "printf '%s\\0' " + shlex.join(paths["copy"]) + " | " + shlex.join(
        ["xargs", "-0", "-n1", "-P4", "cp", "-t", target])
    return [
        ("log, read backwards", script("log_tail.py") + [paths["log"], "TIMEOUT", "2000000"]),
        ("merge of 16 files", ["env", "LC_ALL=C", "sort", "-m", *paths["sorted"]]),
        ("column of a matrix",
         script("matrix_column.py") + [paths["matrix"], str(row), str(column), str(16 * 1024)]),
        ("parallel copy", ["sh", "-c", copy]),
        ("random lookups", script("random_lookups.py") + [paths["matrix"], "16384", "2500"]),
    ]


def warm_programs(arms):
    """Programs and libraries are read before the clock starts: the demo is about data."""
    null = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    for program in ([sys.executable, "-c", "import zlib, random"], ["env", "sort", "--version"],
                    ["sh", "-c", "xargs --version; cp --version"]):
        for arm in arms:
            subprocess.run(arm + program, **null)


def digest(stream, target):
    """What a job has produced: its output, and the files in `target`."""
    total = hashlib.sha256()
    stream.seek(0)
    for chunk in iter(lambda: stream.read(1 << 20), b""):
        total.update(chunk)
    for name in sorted(os.listdir(target)):
        total.update(name.encode())
        with open(os.path.join(target, name), "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                total.update(chunk)
        os.unlink(os.path.join(target, name))
    return total.hexdigest()


def run_job(command, output):
    """Runs a job to its end. It has a session of its own, so that an interrupted demo leaves
    no process of it behind."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                          start_new_session=True) as process:
        try:
            code = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if code != 0:
        raise subprocess.CalledProcessError(code, command[:4])


def run_once(command, arms, arm, device, target):
    """Seconds, device bytes and digest of one cold run."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
    warm_programs(arms)
    with tempfile.TemporaryFile(dir="/dev/shm") as output:
        bytes_before = device.read_bytes()
        start = time.monotonic()
        run_job(arm + command, output)
        seconds = time.monotonic() - start
        return seconds, device.read_bytes() - bytes_before, digest(output, target)


def measure(paths, device, target):
    """Runs every job in both arms and returns one result per job."""
    plain, ahead = [], [AHEAD, "run", "--"]
    results, all_jobs = [], jobs(paths, target)
    count, total = 0, len(all_jobs) * len(ORDER)
    for name, command in all_jobs:
        runs = {"plain": [], "ahead": []}
        for label in ORDER:
            count += 1
            print(f"  [{count:2}/{total}] {name:<22} {label:<6}", end="", flush=True)
            arm = plain if label == "plain" else ahead
            runs[label].append(run_once(command, [plain, ahead], arm, device, target))
            seconds, read, _ = runs[label][-1]
            print(f" {seconds:6.2f} s, {read / 1e6:6.0f} MB from the device", flush=True)
        middle = lambda label, place: statistics.median(run[place] for run in runs[label])
        results.append({
            "job": name,
            "plain_s": middle("plain", 0), "ahead_s": middle("ahead", 0),
            "plain_mb": middle("plain", 1) / 1e6, "ahead_mb": middle("ahead", 1) / 1e6,
            "same": len({run[2] for label in runs for run in runs[label]}) == 1,
            "runs": {label: [run[:2] for run in runs[label]] for label in runs},
        })
    return results


def report(results, subtitle):
    """Prints the table, writes table, numbers and picture. True when all results agree."""
    os.makedirs(RESULTS, exist_ok=True)
    print(f"\n{picture.table(results)}\n")
    print(f"{subtitle}; each number is the median of three runs, interleaved.")
    with open(os.path.join(RESULTS, "demo.json"), "w", encoding="utf-8") as file:
        json.dump({"disk": subtitle, "jobs": results}, file, indent=2)
    names = picture.write(os.path.join(RESULTS, "demo"), results, subtitle)
    print("picture:", ", ".join(os.path.relpath(name, ROOT) for name in names))
    same = all(result["same"] for result in results)
    if not same:
        print("demo: the two arms did not produce the same bytes", file=sys.stderr)
    return same


def interrupted(number, _frame):
    # The first one starts cleaning up, and cleaning up is not interrupted.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", help="use a folder on an existing disk instead of an emulated one")
    folder = parser.parse_args().dir
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, interrupted)

    started = time.monotonic()
    disk = None if folder else EmulatedDisk()
    target = tempfile.mkdtemp(prefix="ahead-demo-", dir="/dev/shm")
    work = device = None
    try:
        if disk:
            print(f"  an emulated {DISK_MODEL}, {DISK_SCALE} times faster than a real one",
                  flush=True)
            disk.create()
            folder = disk.folder
        device = Device(folder)
        device.set_read_ahead(READ_AHEAD_KB)
        work = tempfile.mkdtemp(prefix="demo-", dir=folder)
        paths = data.make_all(work, lambda what: print(f"  making {what}", flush=True))
        results = measure(paths, device, target)
        kind = (f"Emulated {DISK_MODEL}, {DISK_SCALE} times real speed" if disk else folder)
        subtitle = f"{kind}, read-ahead {READ_AHEAD_KB} KiB, Linux {os.uname().release}"
        good = report(results, subtitle)
    finally:
        print("cleaning up", flush=True)
        if device:
            device.set_read_ahead(device.before)
        shutil.rmtree(target, ignore_errors=True)
        if work:
            shutil.rmtree(work, ignore_errors=True)
        if disk:
            disk.destroy()
    print(f"done in {time.monotonic() - started:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)
