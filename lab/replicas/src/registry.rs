//! Every replica, one line each. A new algorithm is a file and a line here.
//!
//! The line names the type of an open file's state and the module that has it; the module's
//! `REPLICAS` say the rest (see [`replica`](crate::replica)). From the lines come [`Algorithm`],
//! which is the state of a file under any of them, the list of names in the order of the lines, and
//! what a name makes.

use ahead_policy::device::DeviceEstimate;

use crate::kernel::{Advice, Fault, Host, Read, ReadAhead};
use crate::replica::{About, PairError};

macro_rules! registry {
    ($($variant:ident in $($module:ident)::+;)*) => {
        /// The state of one open file under one algorithm.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $(
                #[doc = concat!("As [`", stringify!($variant), "`](crate::", $(stringify!($module), "::",)+ stringify!($variant), ").")]
                $variant(crate::$($module::)+$variant),
            )*
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

        /// Every name, in the order of the registry.
        pub fn names() -> impl Iterator<Item = &'static About> {
            std::iter::empty()
                $(.chain(crate::$($module::)+REPLICAS.iter().map(|replica| &replica.about)))*
        }

        /// What `name` with `values` behind its colon makes, on a disk of which this is known;
        /// `None` when nothing has that name.
        ///
        /// # Errors
        /// [`PairError`]: the name does not take what is written behind it.
        pub fn make(
            name: &str,
            values: &str,
            device: DeviceEstimate,
        ) -> Option<Result<(&'static About, Algorithm), PairError>> {
            $(
                for replica in crate::$($module::)+REPLICAS {
                    if replica.about.name == name {
                        let values = replica.about.values(values, device);
                        let state = values.map(|values| Algorithm::$variant((replica.make)(&values)));
                        return Some(state.map(|state| (&replica.about, state)));
                    }
                }
            )*
            None
        }
    };
}

registry! {
    Linux2_2 in kernel::linux_2_2;
    Advised in kernel::advise;
    Linux2_4 in kernel::linux_2_4;
    Linux2_6_9 in kernel::linux_2_6_9;
    Stock in kernel::linux_2_6_11;
    AraV1 in kernel::ara_v1;
    Ara in kernel::ara;
    OnDemand in kernel::on_demand;
    Folio in kernel::folio;
    OneBlock in literature::one_block;
    Degree in literature::degree;
    Amp in literature::amp;
    Sarc in literature::sarc;
    MajorityTrend in literature::majority_trend;
    Competitive in literature::competitive;
    RocksDb in literature::rocksdb;
    Mountpoint in literature::mountpoint;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::{Key, KeyKind};

    fn made(name: &str, values: &str) -> Result<(), String> {
        let made = make(name, values, DeviceEstimate::ARM);
        let made = made.ok_or_else(|| format!("nothing is called '{name}'"))?;
        made.map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_name_makes_its_algorithm_and_so_does_every_key_it_shows() {
        for about in names() {
            assert_eq!(made(about.name, ""), Ok(()));
            for Key { name, kind } in about.keys {
                let values = match kind {
                    KeyKind::Number { default } => vec![default.to_string(), "7".to_owned()],
                    KeyKind::Computed { .. } => vec!["7".to_owned()],
                    KeyKind::Word(words) => words.iter().map(ToString::to_string).collect(),
                };
                for value in values {
                    assert_eq!(made(about.name, &format!("{name}={value}")), Ok(()));
                }
            }
        }
    }

    #[test]
    fn a_name_stands_for_one_algorithm() {
        let mut all: Vec<_> = names().map(|about| about.name).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_pair_that_a_name_does_not_take_is_answered_with_what_it_takes() {
        let answer = |pair: &str, known: &str, name: &str| {
            format!("policy '{name}' does not take '{pair}': it takes {known}")
        };
        for (name, values, pair, known) in [
            ("linux-6.18", "n=4", "n=4", "ra_kb=128"),
            ("linux-6.18", "ra_kb=x", "ra_kb=x", "ra_kb=128"),
            ("linux-6.18", "ra_kb", "ra_kb=", "ra_kb=128"),
            ("linux-6.18", "ra_kb=8,ra_kb=9", "ra_kb=9", "ra_kb=128"),
            (
                "linux-6.18",
                "ra_kb=1099511627777",
                "ra_kb=1099511627777",
                "ra_kb=128",
            ),
            ("advise-true", "n=4,m=5", "m=5", "n=16,period=n"),
            ("obl", "when=never", "when=never", "when=tagged"),
            ("leap", "n=1", "n=1", "nothing"),
        ] {
            assert_eq!(made(name, values), Err(answer(pair, known, name)));
        }
        assert!(make("linux-7.0", "", DeviceEstimate::ARM).is_none());
    }
}
