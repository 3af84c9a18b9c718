//! Examples of every command: `--help` ends with them, and manual pages have them as a section.
//!
//! A command line that changes has to change here too: a test parses every example.

use clap::Command;

use super::daemon::DAEMON;
use super::example::{Examples, of};
use super::measure_examples::MEASURE;

mod persist;

/// Those that stand in no file of their own, by the name of the page.
static EXAMPLES: &[Examples] = &[
    of(
        "ahead",
        &[
            ("ahead run -- tac big.log", "speed up one command"),
            (
                "ahead run --policy kernel --report -- ./job",
                "watch a job without prefetching",
            ),
            (
                "ahead compare plans/backward-log.toml",
                "compare policies in the simulator",
            ),
        ],
    ),
    of(
        "ahead-run",
        &[
            (
                "ahead run -- tac big.log",
                "speed up a command and what it starts",
            ),
            (
                "ahead run --report -- sort -m a b c > all",
                "say afterwards what was done per file",
            ),
            (
                "ahead run --set readahead_hit_rate=4 -- ./read-matrix m.bin",
                "read through the holes of a sparse pattern",
            ),
            (
                "ahead run --policy kernel --record job.csv -- ./job",
                "record the reads of a job, prefetch nothing",
            ),
        ],
    ),
    of(
        "ahead-settings",
        &[
            ("ahead settings", "every setting with its value and meaning"),
            (
                "ahead settings --config night.toml",
                "the values that this file would give",
            ),
        ],
    ),
    of(
        "ahead-device",
        &[
            ("ahead device list", "every window, and where it comes from"),
            ("ahead device get /home", "which window counts there"),
        ],
    ),
    of(
        "ahead-device-list",
        &[
            ("ahead device list", "every window of this machine"),
            ("ahead device list --json", "the same for programs"),
        ],
    ),
    of(
        "ahead-device-get",
        &[
            ("ahead device get /var/lib/db", "the layers below a folder"),
            (
                "ahead device get 0:52",
                "the window of an NFS mount, by its number",
            ),
        ],
    ),
    of(
        "ahead-device-set",
        &[
            (
                "sudo ahead device set /data 1M",
                "whatever layer counts there",
            ),
            (
                "sudo ahead device set md0 2048s",
                "as blockdev --setra 2048",
            ),
        ],
    ),
    of("ahead-device-apply", persist::APPLY),
    of("ahead-device-persist", persist::PERSIST),
    of("ahead-device-verify", persist::VERIFY),
    of("ahead-device-revert", persist::REVERT),
    of(
        "ahead-device-undo",
        &[
            ("sudo ahead device undo /data", "put back what was before"),
            ("sudo ahead device undo md0 --json", "the same for programs"),
        ],
    ),
    of(
        "ahead-doctor",
        &[
            (
                "ahead doctor",
                "every window; exit status 1 when one should be looked at",
            ),
            ("ahead doctor /var/lib/db", "the one that counts there"),
            ("ahead doctor --json", "the same for programs"),
        ],
    ),
    of(
        "ahead-disk",
        &[
            (
                "sudo ahead disk create slow --model hdd --size 4G --mount /mnt/slow",
                "a rotating disk to try things on",
            ),
            ("sudo ahead disk stats slow", "its counters"),
            ("sudo ahead disk destroy slow", "remove it and its contents"),
        ],
    ),
    of(
        "ahead-disk-create",
        &[
            (
                "sudo ahead disk create slow --model hdd --size 4G --mount /mnt/slow",
                "a rotating disk",
            ),
            (
                "sudo ahead disk create fast --model ssd --size 2G --mount /mnt/fast --scale 1/8",
                "flash, eight times slower than real",
            ),
            (
                "sudo ahead disk create mine --model mine.toml --size 1G --mount /mnt/mine",
                "a disk of your own description",
            ),
        ],
    ),
    of(
        "ahead-disk-list",
        &[
            ("sudo ahead disk list", "the disks that exist now"),
            ("sudo ahead disk list --json", "the same for a program"),
        ],
    ),
    of(
        "ahead-disk-stats",
        &[
            (
                "sudo ahead disk stats slow",
                "requests, bytes, seeks, busy time",
            ),
            (
                "sudo ahead disk stats slow --reset",
                "the same, then count from zero",
            ),
        ],
    ),
    of(
        "ahead-disk-destroy",
        &[
            (
                "sudo ahead disk destroy slow",
                "unmount and remove one disk",
            ),
            ("sudo ahead disk list", "see what is left"),
        ],
    ),
    of(
        "ahead-lab",
        &[
            ("ahead lab build", "build the guest's kernel, once"),
            (
                "ahead lab compare --with big.log -- tac big.log",
                "one command with several read-ahead sizes and under `ahead run`",
            ),
        ],
    ),
    of(
        "ahead-lab-build",
        &[
            ("ahead lab build", "build the usual kernel"),
            ("ahead lab build --kernel 6.12", "build this kernel"),
        ],
    ),
    of(
        "ahead-lab-run",
        &[
            (
                "ahead lab run --with big.log -- tac big.log",
                "copy a file to the disk and read it backward under `ahead run`",
            ),
            (
                "ahead lab run --no-ahead --disk ssd --read-ahead 512K --with tree -- grep -r word .",
                "without the library, on another disk, with another read-ahead",
            ),
        ],
    ),
    of(
        "ahead-lab-compare",
        &[
            (
                "ahead lab compare --with big.log -- tac big.log",
                "three sizes of read-ahead, `ahead run`, and what the disk needs at the least",
            ),
            (
                "ahead lab compare --disk disk.toml --arm stock:128,run --with big.log -- tac big.log",
                "two arms on a disk of your own",
            ),
        ],
    ),
    of(
        "ahead-lab-bench",
        &[
            (
                "ahead lab bench",
                "all patterns on three disks in five arms",
            ),
            (
                "ahead lab bench --disk hdd,ssd --pattern back64k,one8 --json results",
                "two patterns on two disks",
            ),
        ],
    ),
    of(
        "ahead-lab-predict",
        &[
            (
                "ahead lab predict",
                "hold the simulator against the real kernel, cell by cell",
            ),
            (
                "ahead lab predict --disk hdd --pattern one8,sep8",
                "two patterns on one disk",
            ),
        ],
    ),
    of(
        "ahead-lab-programs",
        &[
            (
                "ahead lab programs --percent 10",
                "all programs on a tenth of the data, on a rotating disk",
            ),
            (
                "ahead lab programs --list trees --data small",
                "tar, grep, cp, rsync and others through 4000 small files, and who knows the list",
            ),
            (
                "ahead lab programs --disk ssd,cloud --program sqlite,tar --json results",
                "some of them on two disks",
            ),
        ],
    ),
    of(
        "ahead-lab-shell",
        &[
            ("ahead lab shell", "look around in a guest"),
            (
                "ahead lab shell --disk nvme --memory 1G --with tree",
                "with a tree of files on a fast disk",
            ),
        ],
    ),
    of(
        "ahead-bench",
        &[
            ("ahead bench list", "the patterns and arms"),
            (
                "sudo ahead bench run --disk hdd --pattern back64k,sep8 --quick",
                "a first look on an emulated disk",
            ),
            (
                "ahead bench overhead --quick",
                "the cost where there is nothing to gain",
            ),
        ],
    ),
    of(
        "ahead-bench-run",
        &[
            (
                "sudo ahead bench run --disk hdd --pattern back64k,sep8 --arm stock:128,run,ceiling",
                "two patterns, three arms, an emulated disk",
            ),
            (
                "sudo ahead bench run --disk /mnt/data --quick --json r.json --svg r.svg",
                "short runs on a disk of this machine",
            ),
            (
                "sudo ahead bench run --plan plans/model-load.toml --disk ssd",
                "the workloads of a plan",
            ),
        ],
    ),
    of(
        "ahead-bench-list",
        &[
            ("ahead bench list", "the patterns and arms"),
            ("ahead bench list --json", "the same for a program"),
        ],
    ),
    of(
        "ahead-bench-predict",
        &[
            (
                "sudo ahead bench predict",
                "the default patterns, disks and window sizes",
            ),
            (
                "sudo ahead bench predict --patterns seq64k,sep8 --disks hdd --windows 128,1024",
                "four cells",
            ),
        ],
    ),
    of(
        "ahead-bench-programs",
        &[
            (
                "sudo ahead bench programs --disk hdd --svg programs.svg",
                "all programs on an emulated disk",
            ),
            (
                "sudo ahead bench programs --disk /mnt/data --program tac,sort-merge,tar --percent 50",
                "some on a disk of this machine",
            ),
            (
                "sudo ahead bench programs --list my-programs.toml --check",
                "one's own programs; ends with 1 when one is slower",
            ),
        ],
    ),
    of(
        "ahead-bench-overhead",
        &[
            ("ahead bench overhead --quick", "a first look at all rows"),
            (
                "ahead bench overhead --row pread,open --repeat 21",
                "two rows with a narrow interval",
            ),
            (
                "sudo ahead bench overhead --row files-800 --disk hdd",
                "the rows that need an emulated disk",
            ),
            (
                "ahead bench overhead --against /old/libahead_preload.so --svg overhead.svg",
                "an older library beside the usual one",
            ),
        ],
    ),
    of(
        "ahead-bench-report",
        &[
            ("ahead bench report r.json", "print the tables again"),
            ("ahead bench report r.json --svg r.svg", "and draw them"),
            (
                "ahead bench report r.json --beside other.json",
                "the same disk on two kernels, or in real and in virtual time",
            ),
        ],
    ),
    of(
        "ahead-simulate",
        &[
            (
                "ahead simulate --workload backward --disk hdd --memory 256M",
                "one run with its whole account",
            ),
            (
                "ahead simulate --workload random:read-kib=16 --policy linux-6.18:ra_kb=512",
                "a policy and a workload with keys",
            ),
            (
                "ahead simulate plans/database.toml --disk ssd --svg processors.svg",
                "the workload of a plan",
            ),
            ("ahead simulate --list", "all policies, workloads and disks"),
        ],
    ),
    of(
        "ahead-compare",
        &[
            (
                "ahead compare plans/backward-log.toml",
                "one plan: table and picture",
            ),
            (
                "ahead compare plans/database.toml --summary --journal sweep.journal",
                "only adaptive against the best; can be resumed",
            ),
            (
                "ahead compare --workloads readers --sizes 128K,512K,2M,8M",
                "which read_ahead_kb, and what a read waits and memory holds with it",
            ),
            (
                "ahead compare --odd-reads 0..50 --disks-by-chance 6 --policies adaptive",
                "reads and disks that nobody chose",
            ),
        ],
    ),
    of(
        "ahead-reproduce",
        &[
            ("ahead reproduce list", "what each figure shows"),
            (
                "ahead reproduce all --out pictures",
                "all of them, a page with pictures for each publication",
            ),
        ],
    ),
    of(
        "ahead-convert",
        &[
            (
                "ahead convert trace.txt reads.parquet",
                "the format is recognised",
            ),
            (
                "ahead convert --columns at=0:s,offset=1:sectors,length=2:sectors volume.csv reads.csv",
                "a table with columns of its own",
            ),
            (
                "ahead convert --to fio job.csv -",
                "to standard output, for fio --read_iolog",
            ),
        ],
    ),
    of(
        "ahead-record",
        &[
            (
                "sudo ahead record --system --for 60s machine.parquet",
                "what all programs read from devices in a minute",
            ),
            (
                "ahead simulate --workload machine.parquet --disk hdd",
                "the same on another disk, under our policy",
            ),
        ],
    ),
    of(
        "ahead-stat",
        &[
            ("ahead stat reads.csv", "sizes, runs, re-use"),
            (
                "ahead stat --json reads.parquet",
                "with the distributions, for a program",
            ),
        ],
    ),
    of(
        "ahead-replay",
        &[
            (
                "ahead replay reads.csv",
                "the recorded files at the recorded times",
            ),
            (
                "ahead replay reads.csv --fast --cold",
                "without pauses, from an empty cache",
            ),
            (
                "ahead replay reads.csv --root /mnt/test --create",
                "on sparse files below a folder",
            ),
            (
                "ahead run -- ahead replay reads.csv --fast --cold",
                "under the policy of ahead",
            ),
        ],
    ),
    of(
        "ahead-completions",
        &[
            (
                "ahead completions bash > ~/.local/share/bash-completion/completions/ahead",
                "for bash",
            ),
            (
                "ahead completions fish > ~/.config/fish/completions/ahead.fish",
                "for fish",
            ),
        ],
    ),
    of(
        "ahead-man",
        &[
            ("ahead man > ahead.1", "the page of the program itself"),
            ("ahead man --dir man1", "the pages of all commands"),
        ],
    ),
];

/// All of them.
fn all() -> impl Iterator<Item = &'static Examples> {
    EXAMPLES.iter().chain(DAEMON).chain(MEASURE)
}

/// The examples of the command with this page.
#[must_use]
pub fn of_page(page: &str) -> Option<&'static Examples> {
    all().find(|examples| examples.page == page)
}

/// The command `page` with all below it, each with its examples at the end of its help.
pub(super) fn added(command: Command, page: &str) -> Command {
    let notes = command.get_after_help().map(ToString::to_string);
    let command = match of_page(page) {
        Some(examples) => command.after_help(help(notes, examples)),
        None => command,
    };
    command.mut_subcommands(|sub| {
        let page = format!("{page}-{}", sub.get_name());
        added(sub, &page)
    })
}

fn help(notes: Option<String>, examples: &Examples) -> String {
    let mut text = notes.map(|notes| notes + "\n\n").unwrap_or_default();
    text += "Examples:";
    for (typed, about) in examples.lines {
        text += &format!("\n  {typed}\n      {about}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn pages(command: &Command, page: String) -> Vec<String> {
        let below = command.get_subcommands();
        let below: Vec<_> = below
            .flat_map(|sub| pages(sub, format!("{page}-{}", sub.get_name())))
            .collect();
        [vec![page], below].concat()
    }

    #[test]
    fn every_command_has_two_to_four_examples_and_nothing_else_has_any() {
        let mut expected = pages(&Arguments::command(), "ahead".to_owned());
        let mut found: Vec<_> = all().map(|one| one.page.to_owned()).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        for examples in all() {
            assert!((2..=4).contains(&examples.lines.len()), "{}", examples.page);
        }
    }

    /// What a shell would do with `>` is cut off.
    #[test]
    fn every_example_can_be_typed() {
        for (typed, _) in all().flat_map(|examples| examples.lines) {
            let command = typed.split(" > ").next().unwrap_or_default();
            let words = command.split(' ').skip_while(|word| *word == "sudo");
            if let Err(error) = super::super::command().try_get_matches_from(words) {
                panic!("{typed}: {error}");
            }
        }
    }

    #[test]
    fn help_ends_with_the_examples_behind_the_notes() {
        let mut command = super::super::command();
        let run = command.find_subcommand_mut("run").expect("the command");
        let help = run.render_long_help().to_string();
        let notes = help.find("Exit codes:").expect("notes");
        let examples = help.find("Examples:").expect("examples");
        assert!(notes < examples, "{help}");
        assert!(help.contains("\n  ahead run -- tac big.log\n"), "{help}");
    }
}
