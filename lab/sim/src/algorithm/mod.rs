//! Every read-ahead algorithm by its name.
//!
//! A policy is written `name` or `name:key=value,key=value`; names and keys are in [`NAMES`].
//! [`Algorithm`] is the state of one open file under any of them, [`Policy`] what a name stands
//! for. Two policies act before a read as well: `adaptive` is the library of `ahead run` over the
//! kernel of 6.18, `oracle` knows the future over a kernel that never reads ahead.

mod names;
mod policy;

use ahead_replicas::kernel::advise::Advised;
use ahead_replicas::kernel::ara::Ara;
use ahead_replicas::kernel::ara_v1::AraV1;
use ahead_replicas::kernel::folio::Folio;
use ahead_replicas::kernel::linux_2_2::Linux2_2;
use ahead_replicas::kernel::linux_2_4::Linux2_4;
use ahead_replicas::kernel::linux_2_6_9::Linux2_6_9;
use ahead_replicas::kernel::linux_2_6_11::Stock;
use ahead_replicas::kernel::on_demand::OnDemand;
use ahead_replicas::kernel::{Advice, Fault, Host, Read, ReadAhead};
use ahead_replicas::literature::amp::Amp;
use ahead_replicas::literature::competitive::Competitive;
use ahead_replicas::literature::degree::Degree;
use ahead_replicas::literature::majority_trend::MajorityTrend;
use ahead_replicas::literature::mountpoint::Mountpoint;
use ahead_replicas::literature::one_block::OneBlock;
use ahead_replicas::literature::rocksdb::RocksDb;
use ahead_replicas::literature::sarc::Sarc;

pub use names::NAMES;
pub use policy::{Policy, PolicyError};

macro_rules! algorithms {
    ($($(#[$doc:meta])* $variant:ident($type:ty),)*) => {
        /// The state of one open file under one algorithm.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $($(#[$doc])* $variant($type),)*
        }

        impl ReadAhead for Algorithm {
            fn on_read<H: Host>(&mut self, host: &mut H, read: &Read) {
                match self { $(Self::$variant(state) => state.on_read(host, read),)* }
            }

            #[inline]
            fn on_page<H: Host>(&mut self, host: &mut H, read: &Read, page: u64) {
                match self { $(Self::$variant(state) => state.on_page(host, read, page),)* }
            }

            fn on_missing<H: Host>(&mut self, host: &mut H, page: u64) {
                match self { $(Self::$variant(state) => state.on_missing(host, page),)* }
            }

            fn on_read_done<H: Host>(&mut self, host: &mut H, read: &Read, end: u64) {
                match self { $(Self::$variant(state) => state.on_read_done(host, read, end),)* }
            }

            fn on_fault<H: Host>(&mut self, host: &mut H, fault: &Fault) {
                match self { $(Self::$variant(state) => state.on_fault(host, fault),)* }
            }

            fn on_neighbours_mapped(&mut self, pages: u64) {
                match self { $(Self::$variant(state) => state.on_neighbours_mapped(pages),)* }
            }

            fn on_advice(&mut self, advice: Advice) {
                match self { $(Self::$variant(state) => state.on_advice(advice),)* }
            }

            fn on_will_need<H: Host>(&mut self, host: &mut H, start: u64, pages: u64) {
                match self { $(Self::$variant(state) => state.on_will_need(host, start, pages),)* }
            }

            fn on_close<H: Host>(&mut self, host: &mut H, position: u64) {
                match self { $(Self::$variant(state) => state.on_close(host, position),)* }
            }
        }
    };
}

algorithms! {
    /// 2.2.
    Linux2_2(Linux2_2),
    /// The advice of 2000.
    Advised(Advised),
    /// 2.4.
    Linux2_4(Linux2_4),
    /// 2.6.9.
    Linux2_6_9(Linux2_6_9),
    /// 2.6.11 and 2.6.18.
    Stock(Stock),
    /// Adaptive read-ahead, first version.
    AraV1(AraV1),
    /// Adaptive read-ahead.
    Ara(Ara),
    /// On demand.
    OnDemand(OnDemand),
    /// Folios; with a limit of 0 pages, no read-ahead.
    Folio(Folio),
    /// One block look-ahead.
    OneBlock(OneBlock),
    /// Fixed and adaptive degrees.
    Degree(Degree),
    /// AMP.
    Amp(Amp),
    /// SARC.
    Sarc(Sarc),
    /// Leap.
    MajorityTrend(MajorityTrend),
    /// Competitive prefetching.
    Competitive(Competitive),
    /// RocksDB.
    RocksDb(RocksDb),
    /// Mountpoint.
    Mountpoint(Mountpoint),
}
