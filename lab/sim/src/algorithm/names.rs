//! The names of all policies, and what each takes behind its colon.

/// Every policy's name, its keys with their defaults, and what it is.
pub const NAMES: &[(&str, &str, &str)] = &[
    ("none", "", "no read-ahead: what is asked for is read"),
    (
        "linux-2.2",
        "n=18,min=3,cluster=16",
        "Linux 2.2; sizes in pages",
    ),
    (
        "advise-original",
        "n=16",
        "advice of 2000, stock: clusters of n pages on a miss",
    ),
    (
        "advise-true",
        "n=16,period=n",
        "advice of 2000, true read-ahead: groups of n pages, tried every period touches",
    ),
    ("linux-2.4", "n=31,min=3,cluster=16", "Linux 2.4"),
    ("linux-2.6.9", "ra_kb=128", "Linux 2.6.9"),
    ("linux-2.6.11", "ra_kb=128", "Linux 2.6.11, two windows"),
    ("linux-2.6.18", "ra_kb=128", "Linux 2.6.18, two windows"),
    (
        "ara-v1",
        "ra_kb=128,ratio=50",
        "adaptive read-ahead, first version",
    ),
    (
        "ara-v15",
        "ra_kb=1024,ratio=50,hit_rate=1",
        "adaptive read-ahead V15",
    ),
    (
        "ara-june",
        "ra_kb=1024,ratio=50,hit_rate=1",
        "adaptive read-ahead, June 2006",
    ),
    (
        "ara-v16",
        "ra_kb=1024,ratio=50,hit_rate=1,nfsd=0",
        "adaptive read-ahead V16",
    ),
    ("linux-2.6.24", "ra_kb=128", "on-demand read-ahead"),
    ("linux-2.6.31", "ra_kb=128", "with context"),
    ("linux-3.12", "ra_kb=128", "with careful context"),
    ("linux-4.19", "ra_kb=128", "the last before folios"),
    (
        "thrash-safe-2010",
        "ra_kb=512",
        "the thrashing-safe patches of 2010",
    ),
    ("linux-6.12", "ra_kb=128", "folios"),
    ("linux-6.18", "ra_kb=128", "folios"),
    (
        "obl",
        "when=tagged",
        "one block look-ahead: always, miss, tagged",
    ),
    ("fixed-sync", "n=32", "n pages more with each miss of a run"),
    (
        "fixed-async",
        "n=32,trigger=n/2",
        "n pages more at the trigger",
    ),
    ("adaptive-sync", "n=128", "degree doubles up to n"),
    (
        "adaptive-async",
        "n=128,trigger=n/4",
        "degree doubles up to n, at the trigger",
    ),
    ("amp", "n=256", "AMP, FAST 2007: n pages at most"),
    (
        "sarc",
        "track=8",
        "SARC, ATC 2005: its prefetching, tracks of so many pages",
    ),
    ("leap", "", "majority trend, ATC 2020"),
    (
        "competitive",
        "access_us=disk,bandwidth_mb=disk",
        "as much as passes in an access, EuroSys 2007",
    ),
    ("rocksdb", "", "8 KiB doubling to 256 KiB after two reads"),
    (
        "mountpoint",
        "mib=2048",
        "an object store client: 1 MiB, then parts, up to mib",
    ),
    (
        "adaptive",
        "ratio=50,hit_rate=1,ra_kb=128,budget_mib=0,window_mib_max=8,access_us=0,bandwidth_mb=0,depth=0",
        "ahead's policy over linux-6.18",
    ),
    (
        "oracle",
        "window_mib=128",
        "knows the future: a ceiling under the same memory",
    ),
];
