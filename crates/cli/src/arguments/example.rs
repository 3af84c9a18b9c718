//! What examples of a command are.

/// Examples of one command.
#[derive(Debug)]
pub struct Examples {
    /// The command's name on its manual page.
    pub(super) page: &'static str,
    /// What is typed, and what it does.
    pub lines: &'static [(&'static str, &'static str)],
}

/// Of the command with this page.
pub(super) const fn of(
    page: &'static str,
    lines: &'static [(&'static str, &'static str)],
) -> Examples {
    Examples { page, lines }
}
