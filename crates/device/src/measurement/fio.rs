//! Steps as job files of fio, so that whoever doubts a figure measures it again with another program.

use super::plan::{MeasureStep, RequestOrder};

/// The job file that repeats `step` on `path`. Read-only, as the step is.
#[must_use]
pub fn job_file(path: &str, step: &MeasureStep) -> String {
    let order = match step.order {
        RequestOrder::Random => "randread",
        RequestOrder::Sequential => "read",
    };
    // fio asks for whole seconds, and 0 would be no limit.
    let seconds = step.time_ns_max.div_ceil(1_000_000_000).max(1);
    format!(
        "; {name}: fio --readonly --output-format=json {name}.fio\n\
         [{name}]\n\
         filename={path}\n\
         direct=1\n\
         ioengine=io_uring\n\
         rw={order}\n\
         bs={bytes}\n\
         iodepth={depth}\n\
         offset={start}\n\
         size={size}\n\
         time_based=1\n\
         runtime={seconds}\n\
         number_ios={requests}\n\
         randrepeat=1\n",
        name = step.name(),
        path = escaped(path),
        bytes = step.request_bytes,
        depth = step.depth,
        start = step.start,
        size = step.end - step.start,
        requests = (step.bytes_max / step.request_bytes.max(1)).max(1),
    )
}

/// A colon separates files in fio.
fn escaped(path: &str) -> String {
    path.replace(':', "\\:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::plan::{MeasureBounds, steps};

    #[test]
    fn a_job_says_what_the_step_does() {
        let bounds = MeasureBounds {
            time_ns: 60_000_000_000,
            bytes: 6_400_000_000,
            size_bytes: 1 << 30,
            is_device: true,
        };
        let steps = steps(&bounds);
        let job = job_file("/dev/disk/by-path/pci-0000:00", &steps[2]);
        for line in [
            "[sequential-inner-1m-depth-4]",
            "filename=/dev/disk/by-path/pci-0000\\:00",
            "rw=read",
            "direct=1",
            "bs=1048576",
            "iodepth=4",
            "offset=1006632960",
            "size=67108864",
            "runtime=3",
        ] {
            assert!(job.lines().any(|one| one == line), "{line} in:\n{job}");
        }
        assert!(job_file("x", &steps[0]).contains("rw=randread\n"));
    }
}
