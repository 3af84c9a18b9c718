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
complete -c ahead -n "__fish_ahead_needs_command" -f -a "disk" -d 'Emulated disks under the real page cache, to try things on (needs root)'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "bench" -d 'Measure read-ahead here: patterns, policies, distance to the ceiling'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "settings" -d 'Print the settings of `run`, with the values that would be used'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c ahead -n "__fish_ahead_needs_command" -f -a "man" -d 'Print the manual page (roff), or write the pages of all commands to a folder'
complete -c ahead -n "__fish_ahead_using_subcommand run" -l policy -d 'Who decides what is read ahead: the same as --set policy=…' -r -f -a "adaptive\t''
off\t''
kernel\t''"
complete -c ahead -n "__fish_ahead_using_subcommand run" -l set -d 'Change one setting; may be repeated' -r
complete -c ahead -n "__fish_ahead_using_subcommand run" -l config -d 'Read settings from this file too' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l report -d 'When CMD has ended, say what was seen and done per file' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l explain-to -d 'Print decisions to this file instead (implies --explain)' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand run" -l json -d 'Write the report as JSON (implies --report)'
complete -c ahead -n "__fish_ahead_using_subcommand run" -l explain -d 'Print decisions while they are made'
complete -c ahead -n "__fish_ahead_using_subcommand run" -l no-children -d 'Leave the processes that CMD starts alone'
complete -c ahead -n "__fish_ahead_using_subcommand run" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "create" -d 'Create an emulated disk and mount a fresh file system on it'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "list" -d 'List the emulated disks of this machine, removing what dead ones left behind'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "stats" -d 'Print the counters of an emulated disk'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and not __fish_seen_subcommand_from create list stats destroy" -f -a "destroy" -d 'Unmount an emulated disk and remove all traces of it, with its contents'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l model -d 'hdd, ssd, cloud, or a model file ending in .toml' -r
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l size -d 'Size of the disk; it lives in memory (suffixes K, M, G, T are powers of 1024)' -r
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l mount -d 'Empty folder to mount it on; created when missing' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l scale -d 'How many times faster than the real thing: 4, 0.5, 1/3' -r
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l order -d 'Order of service; the default belongs to the model' -r -f -a "fifo\t'First come, first served'
c-look\t'Sweeps in one direction, with ageing so that nobody starves'"
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from stats" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from stats" -l reset -d 'Set the counters to zero afterwards'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from stats" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand disk; and __fish_seen_subcommand_from destroy" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list report" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list report" -f -a "run" -d 'Run patterns under several arms, interleaved, and compare them'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list report" -f -a "list" -d 'List the patterns and arms'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and not __fish_seen_subcommand_from run list report" -f -a "report" -d 'Print the table of an earlier run again, or draw it'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l disk -d 'hdd, ssd, cloud (emulated, needs root), or a folder on the disk to measure' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l pattern -d 'Patterns, comma separated; `ahead bench list` names them' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l arm -d 'Arms, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l repeat -d 'How often each pair of pattern and arm is run' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l seed -d 'Seed of all chance: the same seed reads the same places' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l scale -d 'How many times faster than the real thing an emulated disk is' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l size -d 'Size of an emulated disk; it lives in memory, and the test files shrink to fit' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l sweep -d 'Read-ahead sizes in KiB that `static-best` tries, comma separated' -r
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l json -d 'Write the results for machines' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l svg -d 'Write a picture' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l keep -d 'Leave the test files, and an emulated disk, for the next run'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -l quick -d 'Short runs: good for a first look, not for publishing'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from list" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from report" -l svg -d 'Write a picture' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand bench; and __fish_seen_subcommand_from report" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand settings" -l config -d 'Read settings from this file too' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand settings" -l json -d 'Print JSON'
complete -c ahead -n "__fish_ahead_using_subcommand settings" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ahead -n "__fish_ahead_using_subcommand man" -l dir -d 'Folder to write the pages to, one per command' -r -F
complete -c ahead -n "__fish_ahead_using_subcommand man" -s h -l help -d 'Print help'
