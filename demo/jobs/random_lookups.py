"""Looks up records at random places of a big file: nothing can be predicted, so nothing may be
lost. Arguments: FILE RECORD_BYTES LOOKUPS."""

import os
import random
import sys
import zlib

path, record_bytes, lookups = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
file = os.open(path, os.O_RDONLY)
records = os.fstat(file).st_size // record_bytes
places = random.Random(7)
check = 0
for _ in range(lookups):
    record = os.pread(file, record_bytes, places.randrange(records) * record_bytes)
    check = zlib.crc32(record, check)
print(lookups, check)
