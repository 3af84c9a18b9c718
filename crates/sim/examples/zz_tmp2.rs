//! tmp
use ahead_disks::DiskModel;
use ahead_policy::units::PageCount;
use ahead_sim::algorithm::Policy;
use ahead_sim::workload::{Workload, Order, Hint};
use ahead_sim::world::{Machine, FrontChoice, OracleSettings, OracleStyle};
fn main() {
    let w = vec![
        ("seq4k", Workload::Sequential { file_mib: 256, read_kib: 4, passes: 1 }),
        ("mseq", Workload::Mapped { file_mib: 128, order: Order::Forward, advice: Hint::Normal }),
    ];
        for (n, w) in &w {
            let m = Machine::modern(DiskModel::preset("ssd").unwrap(), PageCount::new(64 << 8));
            let job = w.job(1);
            print!("{n:8}");
            for style in OracleStyle::ALL {
                let mut p = Policy::for_disk("oracle", &m.disk).unwrap();
                p.front = FrontChoice::Oracle(OracleSettings { style, ..Default::default() });
                let r = ahead_sim::simulate(&m, &p, &job).unwrap();
                println!("{style:?} {:.1} {:?} {:?} {:?} {:?} {:?}", r.bytes_per_second() as f64 / 1e6, r.pages, r.waits, r.device, r.processors, r.prefetch);
            }
            println!();
        }
}
