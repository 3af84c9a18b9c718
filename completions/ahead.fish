# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ahead_global_optspecs
    string join \n h/help V/version
end

function __fish_ahead_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ahead_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ahead_using_subcommand
    set -l cmd (__fish_ahead_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ahead -n "__fish_ahead_needs_command" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_needs_command" -s V -l version -d 'Print version'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "run" -d 'Run a command with its file reads predicted and prefetched'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "daemon" -d 'Read ahead for every program of this machine, from outside (needs root)'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "status" -d 'What the daemon sees, does, and why'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "explain" -d 'Why the daemon does with a file what it does, and what it decided before'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "top" -d 'What the daemon sees and does, on the terminal, again every second'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "device" -d 'The read-ahead window of every device and file system: list, get, set, undo'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "doctor" -d 'What is wrong with the read-ahead windows of this machine, and the command that repairs it'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "disk" -d 'Emulated disks under the real page cache, to try things on (needs root)'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "bench" -d 'Measure read-ahead here: patterns, policies, distance to the ceiling'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "lab" -d 'Run programs over the real kernel in virtual time, on a modelled disk, without noise'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "simulate" -d 'Simulate one workload under one policy, with the full account of the run'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "compare" -d 'Simulate policies on workloads, disks and memory sizes, and compare them'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "reproduce" -d 'Reproduce published read-ahead figures in the simulator'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "record" -d 'Record the reads of every process of this machine as a trace (needs root)'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "convert" -d 'Convert a trace of reads to another format'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "stat" -d 'Print statistics of a trace: sizes, runs, re-use'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "replay" -d 'Replay the reads of a trace on a real file system'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "settings" -d 'Print the settings of `run`, with the values that would be used'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "man" -d 'Print the manual page (roff), or write the pages of all commands to a folder'
complete -c ahead -n "__fish_ahead_using_subcommand run" -l policy -d 'Who decides what is read ahead: the same as --set policy=…' -r -f -a "adaptive\t''
off\t''
kernel\t''"
complete -c ahead -n "__fish_ahead_using_subcommand run" -l set -d 'Change one setting; may be repeated' -r
complete -c ahead -n "__fish_ahead_using_subcommand run" -l config -d 'Read settings from this file too' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l report -d 'When CMD has ended, print what was seen and done per file, and what was left alone and why' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l explain-to -d 'Print decisions to this file instead (implies --explain)' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l record -d 'Record the reads of CMD as a trace: .csv (also without an ending), .parquet, .fio, each also with .zst or .gz' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l device-cache -d 'Whether to begin with what earlier runs learned of the disks, and to keep what this one learns [default: yes; inside another run what that one does]' -r -f -a "yes\t''
no\t''"
complete -c ahead -n "__fish_ahead_using_subcommand run" -l json -d 'Write the report as JSON (implies --report)'
complete -c ahead -n "__fish_ahead_using_subcommand run" -l explain -d 'Print decisions while they are made'
complete -c ahead -n "__fish_ahead_using_subcommand run" -l no-children -d 'Do not act in the processes that CMD starts'
complete -c ahead -n "__fish_ahead_using_subcommand run" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand daemon" -l mode -d 'How far it goes: observe asks for nothing, advise asks for pages, full also takes the window from open files whose mapping is read at random [default: what the settings say, or full]' -r -f -a "observe\t'Watches, asks for nothing'
advise\t'Asks for pages'
full\t'Also takes windows from open files'"
complete -c ahead -n "__fish_ahead_using_subcommand daemon" -l config -d 'Read settings from this file too' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand daemon" -l log -d 'Also log a line for each change of mind about a file, a few a second at most' -r -f -a "service\t'What it says of itself'
changes\t'Also a line for each change of mind'"
complete -c ahead -n "__fish_ahead_using_subcommand daemon" -l metrics -d 'Answer Prometheus at this address of this machine, as in 127.0.0.1:9752 [default: nowhere]' -r
complete -c ahead -n "__fish_ahead_using_subcommand daemon" -l undo -d 'Put back what a daemon that was killed has left, and end'
complete -c ahead -n "__fish_ahead_using_subcommand daemon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand status" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand status" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand explain" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand explain" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand top" -l interval -d 'Seconds between two looks' -r
complete -c ahead -n "__fish_ahead_using_subcommand top" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "list" -d 'List the window of every device, and of every file system that has its own'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "get" -d 'Show the layers below a path, mount or device, and which window counts'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "set" -d 'Set the window that counts for a path, mount or device (needs root)'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "apply" -d 'Set the window now, as `set` does: nothing is written that the next boot would read (needs root)'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "persist" -d 'Set the window now and at every boot, by one file that is shown before it is written (needs root)'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "verify" -d 'Whether what was persisted holds, after a boot or after the device came again; who changed it otherwise'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "revert" -d 'Bring back what was there before `persist`: the file and the window (needs root)'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "undo" -d 'Put back the window from before the last `set` (needs root)'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "measure" -d 'Measure a device by reading: access time, bandwidth, depth, the curve over sizes, windows'
complete -c ahead -n "__fish_ahead_using_subcommand device; and not __fish_seen_subcommand_from list get set apply persist verify revert undo measure recommend" -f -a "recommend" -d 'Which window serves a mix of reads, or a trace, best on a measured device, and what it costs'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from list" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from get" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from get" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from set" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from set" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from apply" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from apply" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from persist" -l as -d 'What is to set it at boot; without it, what sets windows here already, and else what is installed' -r -f -a "udev\t'A rule in /etc/udev/rules.d'
tmpfiles\t'A line in /etc/tmpfiles.d'
systemd\t'A unit in /etc/systemd/system and its link'
tuned\t'A section of the active profile of tuned'
sysfs.d\t'A line in /etc/sysfs.d'
nfs\t'The section nfsrahead of /etc/nfs.conf'
hotplug\t'A script in /etc/hotplug.d/block (OpenWRT)'"
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from persist" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from persist" -l yes -d 'Write without asking; with --json nothing is written without it, and the plan alone is printed'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from persist" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from persist" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from verify" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from verify" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from revert" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from revert" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from revert" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from undo" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from undo" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l time -d 'Time of all steps together' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l bytes -d 'Bytes that are read at most' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l json -d 'Write the whole measurement as JSON, for `recommend`; `-` prints it instead of the table' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l svg -d 'Draw throughput, latency and utilisation over the size of requests' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l fio -d 'Write a job file of fio for each step to this folder' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l with-fio -d 'Run these job files with fio as well, and show both side by side'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l no-ladder -d 'Leave out the ladder of windows through the page cache'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -l no-store -d 'Do not store the estimate for `ahead run`'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from measure" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l model -d 'A disk model instead of a measurement: hdd, ssd, cloud, …, or a file ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l sequential-streams -d 'Programs that each read a file from its start' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l random-share -d 'Part of their reads that goes to random places: 0 to 1' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l request -d 'Bytes of a read' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l latency-limit -d '99 of 100 random reads must not take longer; without random ones, of all reads' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l memory -d 'Memory for the programs and the page cache, as a container\'s limit' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l reader-rate -d 'Bytes per second that a program takes at most' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l trace -d 'The reads of a recorded trace (`ahead run --record`) instead of a mix' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l from -d 'Format of the trace (default: recognised by its first bytes)' -r -f -a "fio\t''
blkparse\t''
strace\t''
msr\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l columns -d 'What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l objects -d 'What an object of a cache trace is: files, or blocks:BYTES' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l action -d 'Which action of a block request counts in blkparse text: Q queued, D issued, C completed' -r -f -a "Q\t''
D\t''
C\t''"
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l what-if -d 'Say what this window would change, and recommend nothing' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l prove -d 'Read the mix at every window over a real kernel, and end with 1 where the recommended one is over 3 % slower than the fastest: `lab` in a guest, in virtual time; a folder, or hdd, ssd, cloud (emulated), in real time and as root' -r
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l svg -d 'Draw throughput and latency over the window' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand device; and __fish_seen_subcommand_from recommend" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand doctor" -l root -d 'The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand doctor" -l mappings -d 'Look also at what running programs said of their mapped files; reads /proc/PID/smaps, a moment for each gigabyte in use'
complete -c ahead -n "__fish_ahead_using_subcommand doctor" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "create" -d 'Create an emulated disk and mount a fresh file system on it'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "list" -d 'List the emulated disks of this machine; removes what crashed ones left behind'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "stats" -d 'Print the counters of an emulated disk'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "destroy" -d 'Unmount an emulated disk and remove it with its contents'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l model -d 'hdd, ssd, cloud, or a model file ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l size -d 'Size of the disk; it lives in memory (suffixes K, M, G, T are powers of 1024)' -r
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l mount -d 'Empty folder to mount it on; created when missing' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l scale -d 'Speed relative to the real disk: 4, 0.5, 1/3' -r
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l order -d 'Order of service; the default belongs to the model' -r -f -a "fifo\t'First come, first served'
c-look\t'Sweeps in one direction, with ageing so that no request starves'"
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from stats" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from stats" -l reset -d 'Set the counters to zero afterwards'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from stats" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from destroy" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -f -a "run" -d 'Run patterns under several arms, interleaved, and compare them'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -f -a "list" -d 'List the patterns and arms'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -f -a "predict" -d 'Compare the simulator with the running kernel: throughput of both, cell by cell (needs root)'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -f -a "overhead" -d 'Measure the overhead where there is nothing to gain: process starts, calls, cached reads'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -f -a "programs" -d 'Measure real programs with and without `ahead run`: speed, device bytes, the same output'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list predict overhead programs report" -f -a "report" -d 'Print the table of an earlier run again, draw it, or compare two'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l disk -d 'hdd, ssd, cloud (emulated, needs root), or a folder on the disk to measure' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l pattern -d 'Patterns, comma separated; `ahead bench list` names them; all of them without a plan' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l plan -d 'Measure the workloads of this plan, in its memory sizes, and on its disk if it names one' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l arm -d 'Arms, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l repeat -d 'How often each pair of pattern and arm is run' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l seed -d 'Random seed: the same seed reads the same places (default: the plan\'s, or 1)' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l scale -d 'Speed of an emulated disk relative to the real one: 4, 0.5, 1/3' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l size -d 'Size of an emulated disk; it lives in memory, and the test files shrink to fit' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l model -d 'What the disk is (a model\'s name or a .toml file): names it in the report, and tells the ceiling which holes are cheaper to read than to skip' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l seconds -d 'End each run after so many seconds' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l bytes -d 'End each run after so many bytes' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l sweep -d 'Read-ahead sizes in KiB that `static-best` tries, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l json -d 'Write the results as JSON' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l keep -d 'Leave the test files, and an emulated disk, for the next run'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l places -d 'Look up where the files lie before each run, and write it to the results'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l sleep -d 'Sleep where a workload computes: in a guest, whose processors take no time'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l each -d 'Write the results after each run: a guest that hangs leaves those before'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l quick -d 'Short runs, for a first look; not for publishing'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l patterns -d 'Patterns, comma separated; `ahead bench list` names them' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l disks -d 'Emulated disks, comma separated; `@1/8` behind one makes it eight times slower than real' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l windows -d 'Read-ahead sizes in KiB, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l repeat -d 'How often each cell is measured' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l seconds -d 'Longest run of a cell' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l seed -d 'Random seed: the same seed reads the same places' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l size -d 'Size of an emulated disk; it lives in memory, and the test files shrink to fit' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l json -d 'Write the results as JSON' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -l png -d 'Write the picture as PNG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from predict" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l row -d 'Rows, comma separated; `dd` means `dd-cold` and `dd-warm`' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l repeat -d 'How often each row is run in each arm' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l on -d 'Folder for the test files; the disk below it serves the cold rows' -r -f -a "(__fish_complete_directories)"
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l disk -d 'Emulated disk for the rows `files-800`: hdd, ssd, cloud (needs root and 8 GiB of memory)' -r -f -a "hdd\t''
ssd\t''
cloud\t''"
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l against -d 'Measure another library in the same run, beside the usual one' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l quick -d 'A quarter of the operations and three repeats, for a first look'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l check -d 'End with 1 when a row misses its bound'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -l json -d 'Print JSON, with every single run'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from overhead" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l program -d 'Programs, comma separated; `sqlite` means all that begin with `sqlite-`' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l list -d 'Programs and their data from this TOML file, instead of our own list; `trees`: programs that go through trees of 4000 small files, 100 000 tiny and 500 large ones, as written at once and as grown; `mapped`: programs that map the files that they read; `unnamed`: programs that nothing was tuned on' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l data -d 'Only programs that read one of these data, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l cache -d 'What is in memory when a program starts: nothing (cold), or what fits of its data (warm)' -r -f -a "cold\t''
warm\t''"
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l percent -d 'Size of the data, in per cent; a tenth does for a first look' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l set -d 'Change one setting of `ahead run`; may be repeated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l arm -d 'What programs by themselves are compared with: `run`, under `ahead run`; `daemon`, beside `ahead daemon`' -r -f -a "run\t''
daemon\t''"
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l disk -d 'hdd, ssd, cloud (emulated, needs root), or a folder on the disk to measure' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l scale -d 'Speed of an emulated disk relative to the real one: 4, 0.5, 1/3' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l size -d 'Size of an emulated disk; it lives in memory' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l read-ahead -d 'Read-ahead of the disk meanwhile, in KiB; `kept`: as this machine has it' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l rounds -d 'Rounds of each program' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l rounds-max -d 'Rounds of a program whose interval is not narrow' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l narrow -d 'An interval is narrow when its ends are no more than so many per cent apart' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l model -d 'What the disk is (a model\'s name or a .toml file): names it in the report' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l json -d 'Write the results as JSON' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l keep -d 'Leave the data, and an emulated disk, for the next bench'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l prepare-only -d 'Make the data, and measure nothing'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -l check -d 'End with 1 when a program is slower than 0.98 of plain or produces something else'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from programs" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from report" -l beside -d 'Other results of the same disk: print how far the two are apart, cell by cell' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from report" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "build" -d 'Build the guest\'s kernel (some minutes the first time, seconds after a change)'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "run" -d 'Run one command in a guest and print what its disk had to do'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "compare" -d 'Run one command in several guests, in several arms, and compare them'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "bench" -d 'Run the bench\'s patterns in guests, in all arms, and compare them'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "predict" -d 'Compare the simulator with guests: throughput of both, cell by cell'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "programs" -d 'Run real programs in guests with and without `ahead run`, and compare them'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and not __fish_seen_subcommand_from build run compare bench predict programs shell" -f -a "shell" -d 'Look around in a guest'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from build" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from build" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l disk -d 'hdd, ssd, nvme, cloud, array, another disk as `ahead simulate --list` names it, or a model file ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l size -d 'Size of the disk' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l memory -d 'Memory of the guest' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l fs -d 'File system: ext4, xfs or btrfs (needs its mkfs), or nfs: ext4, served by the guest and mounted by it' -r -f -a "ext4\t''
xfs\t''
btrfs\t''
nfs\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l with -d 'Copy this file or folder to the disk first; may be repeated' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l prepare -d 'Run this first with the shell, on the disk, outside of the measurement' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l wall-limit -d 'End the guest after so many seconds of the host\'s clock' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l read-ahead -d 'Read-ahead of the disk' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l no-ahead -d 'Run the command by itself, not under `ahead run`'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l disk -d 'hdd, ssd, nvme, cloud, array, another disk as `ahead simulate --list` names it, or a model file ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l size -d 'Size of the disk' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l memory -d 'Memory of the guest' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l fs -d 'File system: ext4, xfs or btrfs (needs its mkfs), or nfs: ext4, served by the guest and mounted by it' -r -f -a "ext4\t''
xfs\t''
btrfs\t''
nfs\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l with -d 'Copy this file or folder to the disk first; may be repeated' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l prepare -d 'Run this first with the shell, on the disk, outside of the measurement' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l wall-limit -d 'End the guest after so many seconds of the host\'s clock' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l arm -d 'Arms, comma separated: off, stock:KIB, run, patched (needs `lab build --kernel 6.12-patched`), ceiling' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l repeat -d 'How often each arm is run' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l disk -d 'Disks, comma separated: as `ahead simulate --list` names them, or model files ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l pattern -d 'Patterns, comma separated; `ahead bench list` names them' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l seconds -d 'End each run after so many virtual seconds' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l bytes -d 'End each run after so many bytes' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l memory -d 'Memory of each guest' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l guests -d 'Guests at once' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l arm -d 'Arms, comma separated: off, stock:KIB, static-best, run, run:KEY=VALUE, patched, ceiling' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l repeat -d 'How often each pair of pattern and arm is run' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l fs -d 'File system: ext4, or xfs, which has large folios (needs its mkfs)' -r -f -a "ext4\t''
xfs\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l scale -d 'Speed of the disk relative to the real one (default: 4 for rotating disks, else 1)' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l json -d 'Write the results of each disk as JSON to this folder' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -l svg -d 'Write a picture of each disk as SVG to this folder' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from bench" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l disk -d 'Disks, comma separated: as `ahead simulate --list` names them, or model files ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l pattern -d 'Patterns, comma separated; `ahead bench list` names them' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l seconds -d 'End each run after so many virtual seconds' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l bytes -d 'End each run after so many bytes' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l memory -d 'Memory of each guest' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l guests -d 'Guests at once' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l arm -d 'Arms, comma separated: off, stock:KIB, run, run:KEY=VALUE' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l seed -d 'Random seed: the same seed reads the same places' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l tree -d 'Instead of patterns, compare programs that go through a tree (small: 4000 files, many: 100 000, large: 500 of 2 MB): tar, grep -r and diff -r, by themselves and under `ahead run --set trees=on`' -r -f -a "small\t''
many\t''
large\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l percent -d 'Size of the tree, in per cent' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l reclaim -d 'Only patterns with a limit of memory (such as sep64@64m), each simulated under these rules by which pages leave memory: two-lists, watermarks, generations, group (what guests do)' -r -f -a "two-lists\t''
watermarks\t''
generations\t''
group\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l measured -d 'Keep what guests measured in this folder, and use it where it is there' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l requests -d 'Write every request of both disks to this folder, as CSV' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l json -d 'Write the results as JSON' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from predict" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l disk -d 'Disks, comma separated: as `ahead simulate --list` names them, or model files ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l fs -d 'File system: ext4, xfs or btrfs (needs its mkfs)' -r -f -a "ext4\t''
xfs\t''
btrfs\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l program -d 'Programs, comma separated; `sqlite` means all that begin with `sqlite-`' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l list -d 'Programs and their data from this TOML file, instead of our own list; `trees`: programs that go through trees of 4000 small files, 100 000 tiny and 500 large ones, as written at once and as grown; `mapped`: programs that map the files that they read; `unnamed`: programs that nothing was tuned on' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l data -d 'Only programs that read one of these data, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l cache -d 'What is in memory when a program starts: nothing (cold), or what fits of its data (warm)' -r -f -a "cold\t''
warm\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l percent -d 'Size of the data, in per cent; a tenth does for a first look' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l set -d 'Change one setting of `ahead run`; may be repeated' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l memory -d 'Memory of each guest' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l json -d 'Write the results of each disk as JSON to this folder' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l svg -d 'Write a picture of each disk as SVG to this folder' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -l check -d 'End with 1 when a program is slower than 0.98 of plain or produces something else'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from programs" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l kernel -d 'Kernel of the guest: 6.12, 6.1, or 6.12-patched: with the adaptive read-ahead of kernel/patches. Only for `lab build`, and for `make kernel-test`: 6.12-patched-smp, 6.12-x86 and 6.12-patched-x86' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l disk -d 'hdd, ssd, nvme, cloud, array, another disk as `ahead simulate --list` names it, or a model file ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l size -d 'Size of the disk' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l memory -d 'Memory of the guest' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l fs -d 'File system: ext4, xfs or btrfs (needs its mkfs), or nfs: ext4, served by the guest and mounted by it' -r -f -a "ext4\t''
xfs\t''
btrfs\t''
nfs\t''"
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l with -d 'Copy this file or folder to the disk first; may be repeated' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l prepare -d 'Run this first with the shell, on the disk, outside of the measurement' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -l wall-limit -d 'End the guest after so many seconds of the host\'s clock' -r
complete -c ahead -n "__fish_ahead_using_subcommand lab; and __fish_seen_subcommand_from shell" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l policy -d 'Who decides what is read ahead' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l workload -d 'What is read: a workload, a trace, or the name of one in the plan' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l disk -d 'A disk as --list names it, or a model file ending in .toml (default: PLAN\'s, or hdd)' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l memory -d 'Memory for the page cache (default: PLAN\'s, or 256M)' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l seed -d 'Random seed: the same seed reads the same places' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l cpus -d 'Processors of the machine' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l from -d 'Format of the trace (default: recognised by its first bytes)' -r -f -a "fio\t''
blkparse\t''
strace\t''
msr\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l columns -d 'What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l objects -d 'What an object of a cache trace is: files, or blocks:BYTES' -r
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l action -d 'Which action of a block request counts in blkparse text: Q queued, D issued, C completed' -r -f -a "Q\t''
D\t''
C\t''"
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l svg -d 'Write a picture of processor use over time as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l png -d 'The same picture as PNG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l timing -d 'Issue the accesses of a trace at their recorded times, not as fast as they are answered'
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l list -d 'List policies, workloads and disks'
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l explain -d 'Print every decision of the library, and every read that waited, instead of the account'
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand simulate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l policies -d 'Policies' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l sizes -d 'Windows of the running kernel\'s algorithm, such as 128K,512K,8M: a policy for each, instead of or beside --policies' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l workloads -d 'Workloads and traces' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l generated -d 'Generated workloads by seed, as FROM..TO: the distribution of times, and the worst places' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l odd-reads -d 'The same for reads at odd places of one file: steps that drift, tiles, cursors, records of any length' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l in -d 'Where: simulator, or lab: guests over the real kernel, which have linux-6.12 with sizes, adaptive and patched: the kernel of `lab build --kernel 6.12-patched`' -r -f -a "simulator\t''
lab\t''"
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l disks -d 'Disks as `ahead simulate --list` names them, or model files ending in .toml (default: the plan\'s, or hdd and ssd)' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l disks-by-chance -d 'For each workload by seed so many disks that chance makes of the same seed, instead of --disks' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l memory -d 'Memory sizes (default: the plan\'s, or 256M)' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l seed -d 'Random seed: the same seed reads the same places' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l cpus -d 'Processors of the machine' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l from -d 'Format of the trace (default: recognised by its first bytes)' -r -f -a "fio\t''
blkparse\t''
strace\t''
msr\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l columns -d 'What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l objects -d 'What an object of a cache trace is: files, or blocks:BYTES' -r
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l action -d 'Which action of a block request counts in blkparse text: Q queued, D issued, C completed' -r -f -a "Q\t''
D\t''
C\t''"
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l journal -d 'Keep finished runs in this file; after an interruption the same command resumes from it' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l parquet -d 'Write the table of --csv as Parquet' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l svg -d 'Write a picture as SVG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l png -d 'The same picture as PNG' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l timing -d 'Issue the accesses of a trace at their recorded times, not as fast as they are answered'
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l summary -d 'Only `adaptive` against the best of the kernels: tables and picture'
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand compare" -l csv -d 'Print CSV'
complete -c ahead -n "__fish_ahead_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand reproduce" -l out -d 'Folder for a page of each publication, with its pictures (SVG and PNG); created when missing' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand reproduce" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand reproduce" -l sensitivity -d 'Halve and double every free number, and say which verdicts change; takes many times as long'
complete -c ahead -n "__fish_ahead_using_subcommand reproduce" -l strict -d 'Exit with 1 when a row does not hold or is refuted'
complete -c ahead -n "__fish_ahead_using_subcommand reproduce" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand record" -l for -d 'How long, as in 30s or 5m [default: until Ctrl-C]' -r
complete -c ahead -n "__fish_ahead_using_subcommand record" -l system -d 'Of all processes'
complete -c ahead -n "__fish_ahead_using_subcommand record" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand convert" -l to -d 'Format to write (default: by the extension of OUTPUT: .csv, .parquet, .fio, …)' -r -f -a "fio\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand convert" -l from -d 'Format of the trace (default: recognised by its first bytes)' -r -f -a "fio\t''
blkparse\t''
strace\t''
msr\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand convert" -l columns -d 'What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0' -r
complete -c ahead -n "__fish_ahead_using_subcommand convert" -l objects -d 'What an object of a cache trace is: files, or blocks:BYTES' -r
complete -c ahead -n "__fish_ahead_using_subcommand convert" -l action -d 'Which action of a block request counts in blkparse text: Q queued, D issued, C completed' -r -f -a "Q\t''
D\t''
C\t''"
complete -c ahead -n "__fish_ahead_using_subcommand convert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand stat" -l from -d 'Format of the trace (default: recognised by its first bytes)' -r -f -a "fio\t''
blkparse\t''
strace\t''
msr\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand stat" -l columns -d 'What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0' -r
complete -c ahead -n "__fish_ahead_using_subcommand stat" -l objects -d 'What an object of a cache trace is: files, or blocks:BYTES' -r
complete -c ahead -n "__fish_ahead_using_subcommand stat" -l action -d 'Which action of a block request counts in blkparse text: Q queued, D issued, C completed' -r -f -a "Q\t''
D\t''
C\t''"
complete -c ahead -n "__fish_ahead_using_subcommand stat" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l root -d 'Folder that takes the place of / in the recorded names' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l from -d 'Format of the trace (default: recognised by its first bytes)' -r -f -a "fio\t''
blkparse\t''
strace\t''
msr\t''
oracle-general\t''
csv\t''
parquet\t''"
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l columns -d 'What the columns of a table mean: at=0:us,offset=lba:512,length=4,operation=3:read=0' -r
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l objects -d 'What an object of a cache trace is: files, or blocks:BYTES' -r
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l action -d 'Which action of a block request counts in blkparse text: Q queued, D issued, C completed' -r -f -a "Q\t''
D\t''
C\t''"
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l fast -d 'Read as fast as possible, without the recorded pauses'
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l timing -d 'At the recorded times (the default)'
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l create -d 'Create missing files below --root, sparse and as large as the trace needs them'
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l cold -d 'Drop each file from the page cache before its first read'
complete -c ahead -n "__fish_ahead_using_subcommand replay" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand settings" -l config -d 'Read settings from this file too' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand settings" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand settings" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand man" -l dir -d 'Folder to write the pages to, one per command' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand man" -s h -l help -d 'Print help'
