"""Sums one block of columns of a binary matrix that is stored row by row: a short read at a fixed
distance from the last. Arguments: FILE ROW_BYTES FIRST_BYTE BYTES."""

import os
import sys
import zlib

path, (row_bytes, first_byte, length) = sys.argv[1], map(int, sys.argv[2:5])
matrix = os.open(path, os.O_RDONLY)
rows = os.fstat(matrix).st_size // row_bytes
check = 0
for row in range(rows):
    block = os.pread(matrix, length, row * row_bytes + first_byte)
    check = zlib.crc32(block, check)
print(rows, check)
