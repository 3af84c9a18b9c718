"""The files that the jobs of the demo read. Made once, the same on every machine."""

import os
import random

LOG_BYTES = 300_000_000
SORTED_FILES = 16
SORTED_BYTES = 24_000_000
MATRIX_ROW_BYTES = 256 * 1024
MATRIX_ROWS = 3072
COPY_FILES = 8
COPY_BYTES = 64_000_000

WORDS = "open close read write sync flush retry accept commit abort merge scan".split()


def make_log(path):
    """Lines of a server's log; one in about two thousand tells of a timeout."""
    chance = random.Random(1)
    lines = []
    for number in range(20_000):
        event = "TIMEOUT" if chance.random() < 0.0005 else chance.choice(WORDS)
        lines.append(f"worker-{chance.randrange(64):02} {event} request={chance.randrange(10**9):09} "
                     f"took={chance.randrange(10**6)}us")
    with open(path, "wb") as log:
        second, size = 0, 0
        while size < LOG_BYTES:
            clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} "
            size += log.write("".join(f"{clock}{line}\n" for line in lines).encode())
            second += 1


def make_sorted(folder):
    """Files of sorted lines whose numbers interleave, so that a merge reads all of them in turn."""
    filler = "x" * 76
    lines = SORTED_BYTES // 92
    paths = []
    for part in range(SORTED_FILES):
        path = os.path.join(folder, f"part-{part:02}")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"{number * SORTED_FILES + part:014} {filler}\n"
                            for number in range(lines))
        paths.append(path)
    return paths


def make_bytes(path, size, seed):
    """Bytes without a pattern."""
    with open(path, "wb") as file:
        block = random.Random(seed).randbytes(1 << 20)
        written = 0
        while written < size:
            # Each block differs from the others: its number stands in front.
            part = (written.to_bytes(8, "little") + block[8:])[: size - written]
            written += file.write(part)


def make_all(folder, progress):
    """Makes every file; `progress` is called with the name of each. Returns the paths by use."""
    paths = {"log": os.path.join(folder, "server.log"), "matrix": os.path.join(folder, "matrix")}
    progress("a log of 300 MB")
    make_log(paths["log"])
    progress(f"{SORTED_FILES} sorted files of 24 MB")
    os.mkdir(os.path.join(folder, "sorted"))
    paths["sorted"] = make_sorted(os.path.join(folder, "sorted"))
    progress("a matrix of 800 MB")
    make_bytes(paths["matrix"], MATRIX_ROW_BYTES * MATRIX_ROWS, seed=2)
    progress(f"{COPY_FILES} files of 64 MB to copy")
    os.mkdir(os.path.join(folder, "copy"))
    paths["copy"] = [os.path.join(folder, "copy", f"file-{n}") for n in range(COPY_FILES)]
    for number, path in enumerate(paths["copy"]):
        make_bytes(path, COPY_BYTES, seed=10 + number)
    return paths
