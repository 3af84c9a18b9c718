//! tmp
use ahead_disks::DiskModel;
use ahead_policy::units::PageCount;
use ahead_sim::algorithm::Policy;
use ahead_sim::workload::{Workload, Order, Hint};
use ahead_sim::world::Machine;
fn main() {
    let w = vec![
        ("seq4k", Workload::Sequential { file_mib: 256, read_kib: 4, passes: 1 }),
        ("seq64k", Workload::Sequential { file_mib: 256, read_kib: 64, passes: 1 }),
        ("back", Workload::Backward { file_mib: 128, read_kib: 64 }),
        ("stride", Workload::Strided { file_mib: 256, read_kib: 16, period_kib: 64 }),
        ("one8", Workload::Interleaved { file_mib: 256, streams: 8, read_kib: 64 }),
        ("sep8", Workload::Separate { file_mib: 32, streams: 8, read_kib: 64 }),
        ("thr8", Workload::Threads { file_mib: 256, threads: 8, read_kib: 64 }),
        ("nfsd", Workload::Server { file_mib: 128, daemons: 8, read_kib: 32, shuffle: 8 }),
        ("rand16", Workload::Random { file_mib: 512, read_kib: 16, reads: 2000 }),
        ("mixed", Workload::Mixed { file_mib: 128, read_kib: 64, run: 4, random_kib: 16 }),
        ("loop", Workload::Sequential { file_mib: 128, read_kib: 64, passes: 2 }),
        ("small", Workload::SmallFiles { files: 500, file_kib: 100, read_kib: 64 }),
        ("mseq", Workload::Mapped { file_mib: 128, order: Order::Forward, advice: Hint::Normal }),
        ("mback", Workload::Mapped { file_mib: 32, order: Order::Backward, advice: Hint::Normal }),
        ("mrand", Workload::Mapped { file_mib: 64, order: Order::Random, advice: Hint::Normal }),
        ("streams", Workload::Streams { streams: 100, bytes_per_s: 200_000, read_kib: 64, seconds: 10 }),
        ("db", Workload::Database { heap_mib: 128, index_mib: 64, backends: 4, lookups: 500 }),
    ];
    let names = ["none", "linux-2.6.18", "ara-june", "linux-4.19", "linux-6.18", "linux-6.18:ra_kb=2048", "adaptive", "oracle"];
    for disk in ["hdd", "ssd", "cloud"] {
        println!("{disk:8} {}", names.map(|n| format!("{n:>22}")).join(""));
        for (n, w) in &w {
            let m = Machine::modern(DiskModel::preset(disk).unwrap(), PageCount::new(64 << 8));
            let job = w.job(1);
            print!("{n:8}");
            for p in names {
                let p = Policy::for_disk(p, &m.disk).unwrap();
                let r = ahead_sim::simulate(&m, &p, &job).unwrap();
                print!("{:>22}", format!("{:.1} a{:.2} q{:.1}", r.bytes_per_second() as f64 / 1e6, r.amplification_permille() as f64 / 1e3, r.depth_permille() as f64 / 1e3));
            }
            println!();
        }
    }
}
