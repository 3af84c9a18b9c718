//! The same figures for Prometheus, over HTTP on a port of this machine.
//!
//! Base units, and labels whose number is bounded: devices, of which the daemon tells 64 apart. Files, processes and
//! control groups are no labels; `ahead top` has them. What is told is for every user of this machine, so it has sums
//! only.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread;

use ahead_sys::block_queue::DeviceNumber;
use ahead_units::{PAGE_BYTES, PageCount};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::control::{Asker, PAUSE, Questions};
use crate::http::{self, HttpAnswer, HttpQuestion};
use crate::protocol::Question;
use crate::status::{Believed, DaemonStatus, DeviceStatus, PageAccount};

/// What Prometheus is told that the text is.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the process of the daemon has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnUse {
    /// Processor time, in seconds.
    pub cpu_seconds: f64,
    /// Memory that is its own or shared, in bytes.
    pub resident_bytes: u64,
}

impl OwnUse {
    /// Of this process, now. What cannot be read is 0.
    #[must_use]
    pub fn now() -> Self {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used = std::time::Duration::try_from(used).unwrap_or_default();
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|word| word.parse().ok());
        Self {
            cpu_seconds: used.as_secs_f64(),
            resident_bytes: PageCount::new(pages.unwrap_or(0)).bytes().get(),
        }
    }
}

/// The figures as text.
#[must_use]
pub fn text(status: DaemonStatus, own: OwnUse) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Figures { status, own }));
    let mut text = String::new();
    // A string takes everything.
    let _ = text::encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Figures {
    status: DaemonStatus,
    own: OwnUse,
}

/// What is believed of each device: what it is called, what it is, in which unit, and where it stands.
type OfBelieved = (
    &'static str,
    &'static str,
    Option<Unit>,
    fn(&Believed) -> f64,
);

const BELIEVED: [OfBelieved; 3] = [
    (
        "ahead_believed_access",
        "Time of one small read, as is believed",
        Some(Unit::Seconds),
        |one| one.access_ns as f64 / 1e9,
    ),
    (
        "ahead_believed_bytes_per_second",
        "What one long read is believed to get",
        None,
        |one| one.bytes_per_second as f64,
    ),
    (
        "ahead_believed_depth",
        "Requests that are believed to be served at the same time",
        None,
        |one| one.depth.into(),
    ),
];

/// Of each device: what it is called, what it is, and where it stands.
type OfDevice = (&'static str, &'static str, fn(&PageAccount) -> u64);

const OF_DEVICES: [OfDevice; 6] = [
    (
        "ahead_read",
        "Read by programs in files that were watched",
        |one| one.pages,
    ),
    ("ahead_requested", "Requested by the daemon", |one| {
        one.requested
    }),
    ("ahead_useful", "Requested and read by programs", |one| {
        one.useful
    }),
    ("ahead_late", "Requested, read and waited for", |one| {
        one.late
    }),
    ("ahead_wasted", "Requested and given up unread", |one| {
        one.wasted
    }),
    (
        "ahead_thrashed",
        "Requested and evicted before it was read",
        |one| one.thrashed,
    ),
];

impl Figures {
    fn device(one: &DeviceStatus) -> [(&'static str, String); 1] {
        let name = match one.device {
            0 => "other".to_owned(),
            number => DeviceNumber::from_dev(number).to_string(),
        };
        [("device", name)]
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self { status, own } = self;
        let mut info = |name, help, label, value: &str| {
            let labels = [(label, value)];
            let mut one = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(1_i64).encode(one.encode_family(&labels)?)
        };
        info(
            "ahead_build_info",
            "The program",
            "version",
            &status.program,
        )?;
        info(
            "ahead_mode_info",
            "How far the daemon goes",
            "mode",
            &status.mode,
        )?;

        let counters = [
            ("ahead_facts", "Facts that the kernel told", status.facts),
            (
                "ahead_facts_lost",
                "Facts that found the ring full",
                status.facts_lost,
            ),
            (
                "ahead_misses",
                "Misses of files that were not watched",
                status.misses,
            ),
            ("ahead_decisions", "Decisions carried out", status.decisions),
            ("ahead_calls", "Calls that decisions took", status.calls),
        ];
        for (name, help, value) in counters {
            let one = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(one)?;
        }
        let gauges = [
            (
                "ahead_watched_files",
                "Files whose accesses are told now",
                None,
                status.watched,
            ),
            (
                "ahead_narrowed_files",
                "Open files without a window",
                None,
                status.narrowed,
            ),
            (
                "ahead_unread",
                "Requested and not read yet",
                Some(Unit::Bytes),
                PageCount::new(status.unread_pages).bytes().get(),
            ),
            (
                "ahead_uptime",
                "Since the daemon began",
                Some(Unit::Seconds),
                status.now_ns.saturating_sub(status.began_ns) / 1_000_000_000,
            ),
            (
                "process_resident_memory",
                "Memory of the daemon",
                Some(Unit::Bytes),
                own.resident_bytes,
            ),
        ];
        for (name, help, unit, value) in gauges {
            let one = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
            ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(one)?;
        }
        let cpu = encoder.encode_descriptor(
            "process_cpu",
            "Processor time of the daemon",
            Some(&Unit::Seconds),
            MetricType::Counter,
        )?;
        ConstCounter::new(own.cpu_seconds).encode(cpu)?;

        let mut accesses = encoder.encode_descriptor(
            "ahead_accesses",
            "Reads and page faults of files that were watched",
            None,
            MetricType::Counter,
        )?;
        for device in &status.devices {
            let labels = Self::device(device);
            let count = ConstCounter::new(device.account.accesses);
            count.encode(accesses.encode_family(&labels)?)?;
        }
        for (name, help, figure) in OF_DEVICES {
            let unit = Some(&Unit::Bytes);
            let mut all = encoder.encode_descriptor(name, help, unit, MetricType::Counter)?;
            for device in &status.devices {
                let labels = Self::device(device);
                let bytes = figure(&device.account).saturating_mul(PAGE_BYTES);
                ConstCounter::new(bytes).encode(all.encode_family(&labels)?)?;
            }
        }
        for (name, help, unit, figure) in BELIEVED {
            let kind = MetricType::Gauge;
            let mut all = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            for device in &status.devices {
                let Some(believed) = &device.believed else {
                    continue;
                };
                let labels = Self::device(device);
                ConstGauge::new(figure(believed)).encode(all.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// An address of this machine alone: the figures are for those who are on it.
///
/// # Errors
/// What is wrong with it, and what would be right.
pub fn local_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => Err(format!(
            "'{text}' can be reached from other machines; say 127.0.0.1:PORT, and let a proxy answer those"
        )),
        Err(_) => Err(format!(
            "'{text}' is no address; say 127.0.0.1:9752, for one"
        )),
    }
}

/// Answers `GET /metrics` at `address` from now on, until the process ends. Returns where it is, for port 0.
///
/// # Errors
/// The address cannot be had.
pub fn serve(address: SocketAddr, questions: Questions) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let here = listener.local_addr()?;
    let answer = move |asked: &HttpQuestion| {
        let is_get = matches!(&*asked.method, "GET" | "HEAD");
        if !is_get || asked.path != "/metrics" {
            return HttpAnswer::line("404 Not Found", "it is at /metrics\n");
        }
        // Whoever asks is any user of this machine, one after another.
        thread::sleep(PAUSE);
        match questions.ask(Asker::DAEMON, Question::all()) {
            None => HttpAnswer::line("503 Service Unavailable", "too busy\n"),
            Some(status) => HttpAnswer {
                status: "200 OK",
                kind: CONTENT_TYPE,
                text: text(status, OwnUse::now()),
            },
        }
    };
    thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || http::answer_all(&listener, answer))?;
    Ok(here)
}

#[cfg(test)]
mod tests {
    use ahead_policy::device::DeviceEstimate;

    use super::*;

    #[test]
    fn figures_have_base_units_and_bounded_labels() {
        let device = |device, pages| DeviceStatus {
            device,
            believed: (device != 0).then_some(DeviceEstimate::ARM.into()),
            account: PageAccount {
                pages,
                requested: 2,
                ..PageAccount::default()
            },
        };
        let status = DaemonStatus {
            program: "1.2.3".to_owned(),
            mode: "full".to_owned(),
            began_ns: 1_000_000_000,
            now_ns: 61_000_000_000,
            unread_pages: 3,
            facts: 7,
            devices: vec![device(rustix::fs::makedev(8, 1), 256), device(0, 1)],
            ..DaemonStatus::default()
        };
        let own = OwnUse {
            cpu_seconds: 1.5,
            resident_bytes: 4096,
        };
        let text = text(status, own);
        for line in [
            "ahead_build_info{version=\"1.2.3\"} 1",
            "ahead_mode_info{mode=\"full\"} 1",
            "ahead_facts_total 7",
            "ahead_unread_bytes 12288",
            "ahead_uptime_seconds 60",
            "process_cpu_seconds_total 1.5",
            "process_resident_memory_bytes 4096",
            "ahead_read_bytes_total{device=\"8:1\"} 1048576",
            "ahead_requested_bytes_total{device=\"8:1\"} 8192",
            "ahead_read_bytes_total{device=\"other\"} 4096",
            "ahead_believed_access_seconds{device=\"8:1\"} 0.008",
            "ahead_believed_bytes_per_second{device=\"8:1\"} 120000000.0",
            "ahead_believed_depth{device=\"8:1\"} 1.0",
            "# TYPE ahead_read_bytes counter",
            "# UNIT ahead_read_bytes bytes",
            "# EOF",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in:\n{text}");
        }
    }

    #[test]
    fn an_address_that_others_can_reach_is_refused() {
        assert!(local_address("[::1]:9752").is_ok());
        for (text, words) in [("0.0.0.0:1", "from other machines"), ("9752", "no address")] {
            assert!(local_address(text).unwrap_err().contains(words));
        }
    }

    #[test]
    fn what_this_process_used_is_known() {
        let own = OwnUse::now();
        assert!(
            own.cpu_seconds > 0.0 && own.resident_bytes > 1 << 20,
            "{own:?}"
        );
    }
}
