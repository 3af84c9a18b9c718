//! The kinds that can be typed.

/// A kind that can be typed: its name, the values of what is left out, and what it is.
pub type TypedKind = (&'static str, &'static str, &'static str);

/// Every kind that stands alone. Those that contain others need a plan.
pub const KINDS: &[TypedKind] = &[
    (
        "sequential",
        "file-mib=256,read-kib=64,passes=1",
        "one file from its start",
    ),
    (
        "backward",
        "file-mib=256,read-kib=64",
        "one file from its end",
    ),
    (
        "strided",
        "file-mib=256,read-kib=16,period-kib=64",
        "the first part of every period",
    ),
    (
        "interleaved",
        "file-mib=256,streams=8,read-kib=64",
        "parts of one file in turn, one descriptor",
    ),
    (
        "separate",
        "file-mib=64,streams=8,read-kib=64",
        "several files in turn, a descriptor each",
    ),
    (
        "threads",
        "file-mib=256,threads=8,read-kib=64",
        "tasks with one descriptor, a part each",
    ),
    (
        "readers",
        "file-mib=64,readers=8,read-kib=64",
        "processes, a file each",
    ),
    (
        "loaders",
        "file-mib=64,loaders=8,read-kib=64,written-percent=20",
        "processes, a file each, that write part of what they read (simulator only)",
    ),
    (
        "server",
        "file-mib=256,daemons=8,read-kib=32,shuffle=8",
        "workers share a scan that arrives shuffled",
    ),
    (
        "reopen",
        "file-mib=256,read-kib=64,every-kib=1024",
        "sequential, closed and opened again",
    ),
    (
        "random",
        "file-mib=1024,read-kib=4,reads=2000",
        "random places",
    ),
    (
        "epochs",
        "file-mib=1024,read-kib=64,reads=2000,passes=3",
        "the same random places again and again, in one order",
    ),
    (
        "bursts",
        "file-mib=1024,read-kib=16,burst=8,bursts=400",
        "random places, some reads in a row each",
    ),
    (
        "runs",
        "file-mib=256,read-bytes=65536,run-kib=4096,lengths=fixed,gap-kib=6144,gaps=fixed,\
         course=forward,files=1,passes=1",
        "runs of reads with gaps between them",
    ),
    (
        "leaves",
        "file-mib=256,read-kib=16,percent=90,every=200,ahead-kib=900",
        "leaves of a tree, with a look at its inner pages",
    ),
    (
        "rates",
        "file-mib=256,streams=8,read-kib=64",
        "parts of one file at different rates",
    ),
    (
        "mixed",
        "file-mib=512,read-kib=64,run=4,random-kib=16",
        "sequential, with a random read now and then",
    ),
    (
        "sparse",
        "file-mib=128,percent=50",
        "ascending, some of the pages",
    ),
    (
        "odd",
        "file-mib=128,form=drifting,read-bytes=20000,step-bytes=100000,varied-bytes=100,group=8",
        "reads at odd places of one file",
    ),
    (
        "sizes",
        "file-mib=256,factor-max=64",
        "sequential, reads of 1 to factor-max pages",
    ),
    (
        "merge",
        "file-mib=64,runs=8,read-kib=64",
        "sorted runs, the next block from any of them",
    ),
    (
        "small-files",
        "files=1000,file-kib=100,read-kib=32",
        "small files, each read whole",
    ),
    (
        "mapped",
        "file-mib=256,order=forward,advice=normal",
        "a mapping: forward, backward or random",
    ),
    (
        "libraries",
        "files=30,file-mib=8,clusters=500,cluster-pages=8",
        "a program that starts",
    ),
    (
        "streams",
        "streams=100,bytes-per-s=300000,read-kib=16,seconds=20",
        "slow readers, a file each",
    ),
    (
        "tail",
        "file-mib=8,look-kib=16,think-us=2000",
        "what was appended, now and then",
    ),
    (
        "mix",
        "streams=8,reads=1500,read-kib=128,random-permille=300,random-mib=1024",
        "processes, a file each, and random reads of one more in between",
    ),
    (
        "database",
        "heap-mib=256,index-mib=64,backends=4,lookups=500",
        "lookups through an index beside a scan",
    ),
];
