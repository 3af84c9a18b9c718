"""Reads a log backwards in 64 KiB blocks, as `tac` or a log viewer does, and prints the newest
lines that contain a word. Arguments: FILE WORD LINES."""

import os
import sys

BLOCK_BYTES = 64 * 1024


def newest_lines(path, word, lines_max):
    """The newest `lines_max` lines with `word`, newest first."""
    found = []
    with open(path, "rb", buffering=0) as log:
        position = log.seek(0, os.SEEK_END)
        rest = b""
        while position > 0 and len(found) < lines_max:
            length = min(BLOCK_BYTES, position)
            position -= length
            log.seek(position)
            block = log.read(length) + rest
            # What stands before the first line end may be the end of a line in the block before.
            rest, _, lines = block.partition(b"\n")
            if word in lines:
                found.extend(line for line in reversed(lines.split(b"\n")) if word in line)
        if position == 0 and word in rest:
            found.append(rest)
    return found[:lines_max]


path, word, lines_max = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
for line in newest_lines(path, word, lines_max):
    print(line.decode())
