//! Prose on a screen: lines that are too long for it go on below, between words and further in.
//!
//! In a file or a pipe a line stays a line, for whoever looks for something in it.

use ahead_study::table;

/// Further in than the line that goes on.
const FURTHER_IN: usize = 6;

/// What a command line begins with that is there to be copied: it stays whole.
const COMMAND: &str = "repair: ";

/// As the terminal shows it best, if there is one.
pub(crate) fn for_terminal(text: String) -> String {
    match table::terminal_columns() {
        Some(columns) => broken(&text, columns.into()),
        None => text,
    }
}

/// `text` in lines of at most `columns` characters, but for commands.
pub(crate) fn broken(text: &str, columns: usize) -> String {
    let mut all = String::new();
    for line in text.lines() {
        let own = line.chars().take_while(|one| *one == ' ').count();
        let further_in = " ".repeat(own + FURTHER_IN);
        let columns = columns.max(further_in.len() * 2);
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > columns && !line.trim_start().starts_with(COMMAND) {
            // At a space, unless that leaves less than half.
            let space = rest[..=columns].iter().rposition(|one| *one == ' ');
            let end = space.filter(|place| *place > columns / 2);
            let end = end.unwrap_or(columns);
            let behind: String = rest[end..].iter().collect();
            all.extend(&rest[..end]);
            all.push('\n');
            rest = format!("{further_in}{}", behind.trim_start())
                .chars()
                .collect();
        }
        all.extend(&rest);
        all.push('\n');
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_below_between_words_and_a_command_stays_whole() {
        let sentence = "sda: a window of 128 KiB is smaller than a request that the disk likes to be asked for";
        let command = format!("    repair: sudo ahead device set {} 128K", "x".repeat(60));
        let text = format!("{sentence}\n  note: {sentence}\n{command}\n");
        let broken = broken(&text, 60);
        let lines: Vec<_> = broken.lines().collect();
        assert_eq!(
            lines,
            [
                "sda: a window of 128 KiB is smaller than a request that the",
                "      disk likes to be asked for",
                "  note: sda: a window of 128 KiB is smaller than a request",
                "        that the disk likes to be asked for",
                &command,
            ]
        );
    }

    #[test]
    fn what_has_no_space_is_broken_where_the_screen_ends() {
        let broken = broken(&"x".repeat(50), 30);
        let lengths: Vec<_> = broken.lines().map(str::len).collect();
        assert_eq!(lengths, [30, 26]);
    }
}
