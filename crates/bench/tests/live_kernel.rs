//! The replica of 6.18 against the kernel that runs.
#![forbid(unsafe_code)]
#![allow(unreachable_pub, dead_code)]
mod live { pub(crate) mod event; pub(crate) mod machine; pub(crate) mod pattern; pub(crate) mod generated; pub(crate) mod patterns; pub(crate) mod recorder; pub(crate) mod kernel_side; pub(crate) mod faults; pub(crate) mod replica_side; }
use live::{machine::*, recorder::*, kernel_side, replica_side, event::line};
use ahead_policy::kernel::folio::Release;

#[test]
fn compare() {
    let only = std::env::var("ONLY").ok();
    let mut bad = 0; let mut all = 0;
    for folios in [Folios::Large, Folios::Single] {
    let scratch = Scratch::new(folios).unwrap();
    let recorder = Recorder::new().unwrap();
    let facts = replica_side::Facts { release: Release::Linux6_18, io_pages: scratch.io_pages().unwrap(), folio_order_max: folios.order_max() };
    let n: u64 = std::env::var("GEN").map_or(0, |n| n.parse().unwrap()); let from: u64 = std::env::var("FROM").map_or(0, |n| n.parse().unwrap());
    for pattern in if n > 0 { (from..from+n).map(live::generated::pattern).collect() } else { live::patterns::all() } {
        if only.as_ref().is_some_and(|only| !pattern.name.contains(only)) { continue; }
        let account = kernel_side::run(&scratch, &recorder, &pattern).unwrap();
        let p = pattern.clone(); let a = account.area_address_pages.clone();
        let replica = std::panic::catch_unwind(move || replica_side::run(&facts, &p, &a)).unwrap_or_default();
        all += 1;
        if replica == account.operations { continue; }
        bad += 1;
        println!("== {folios:?} {} {:?}", pattern.name, account.area_address_pages);
        for (i, op) in pattern.operations.iter().enumerate() {
            let k = &account.operations[i];
            let r = replica.get(i).cloned().unwrap_or_default();
            if *k != r {
               println!("  op {i} {op:?}\n   kernel : {}\n   replica: {}", line(k), line(&r));
               break;
            }
        }
    }
    }
    println!("{bad} of {all} differ");
}

#[test]
fn show() {
    let seed: u64 = std::env::var("SEED").map_or(0, |n| n.parse().unwrap());
    let pattern = live::generated::pattern(seed);
    let scratch = Scratch::new(Folios::Single).unwrap();
    let recorder = Recorder::new().unwrap();
    let facts = replica_side::Facts { release: Release::Linux6_18, io_pages: scratch.io_pages().unwrap(), folio_order_max: 0 };
        let account = kernel_side::run(&scratch, &recorder, &pattern).unwrap();
    println!("{:?} {} {:?}", pattern.read_ahead_kb, pattern.file_bytes, account.area_address_pages);
    for (i, op) in pattern.operations.iter().enumerate() { println!("{i} {op:?}: {}", line(&account.operations[i])); }
    let _ = facts;
}
