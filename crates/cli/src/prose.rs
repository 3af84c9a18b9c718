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
            let end = line_end(&rest, columns);
            if end == rest.len() {
                break;
            }
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

/// Where the first line of `text`, which is too long, ends: at a space, unless that leaves less than half, and never between a pair of
/// backquotes, as what stands there is to be copied.
fn line_end(text: &[char], columns: usize) -> usize {
    let is_quoted = between_backquotes(text);
    let is_end = |place: &usize| text[*place] == ' ' && !is_quoted[*place];
    let begin = text.iter().take_while(|one| **one == ' ').count();
    let space = (begin..=columns).rev().find(is_end);
    match space {
        Some(place) if place > columns / 2 || is_quoted[columns] => place,
        _ if is_quoted[columns] => (columns..text.len()).find(is_end).unwrap_or(text.len()),
        _ => columns,
    }
}

/// Of each character, whether a line that begins with it would part a pair of backquotes.
fn between_backquotes(text: &[char]) -> Vec<bool> {
    let all: Vec<_> = (0..text.len())
        .filter(|place| text[*place] == '`')
        .collect();
    let mut is_quoted = vec![false; text.len()];
    for pair in all.chunks_exact(2) {
        is_quoted[pair[0] + 1..=pair[1]].fill(true);
    }
    is_quoted
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

    /// Half a command was copied.
    #[test]
    fn what_stands_between_backquotes_is_not_parted() {
        let lines = |text: &str, columns| -> Vec<String> {
            let broken = broken(text, columns);
            broken.lines().map(ToOwned::to_owned).collect()
        };
        assert_eq!(
            lines("say `ahead device verify sda` to see whether it holds", 24),
            [
                "say",
                "      `ahead device verify sda`",
                "      to see whether it",
                "      holds"
            ]
        );
        assert_eq!(
            lines(
                "it is kept by udev: `ahead device revert sda` takes it back",
                40
            ),
            [
                "it is kept by udev:",
                "      `ahead device revert sda` takes it",
                "      back"
            ]
        );
        let whole = format!("`{}`", "x y ".repeat(20));
        assert_eq!(lines(&whole, 30), [whole.as_str()]);
        // One alone is no pair.
        let alone = lines("a ` of its own is nothing to be copied", 24);
        assert_eq!(
            alone,
            ["a ` of its own is", "      nothing to be", "      copied"]
        );
    }

    #[test]
    fn what_has_no_space_is_broken_where_the_screen_ends() {
        let broken = broken(&"x".repeat(50), 30);
        let lengths: Vec<_> = broken.lines().map(str::len).collect();
        assert_eq!(lengths, [30, 26]);
    }
}
