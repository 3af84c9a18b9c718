//! `ahead top` on a screen: 80 columns and 24 lines are enough.

use ahead_daemon::status::DaemonStatus;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, TableState};

use super::model::{Model, Row, View};
use crate::asking::pages;
use crate::{explain, figures, prose};

/// Columns behind the name, with their widths: numbers as `1023.9M`.
const COLUMNS: [(&str, u16); 8] = [
    ("", 7),
    ("PATTERN", 10),
    ("WINDOW", 6),
    ("USEFUL", 7),
    ("LATE", 6),
    ("WASTED", 6),
    ("THRASH", 6),
    ("AMPL", 5),
];

/// Shortest name that is shown.
const NAME_WIDTH_MIN: u16 = 12;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);

/// Shows it.
pub(super) fn draw(model: &Model, frame: &mut Frame<'_>) {
    let [head, tabs, body, foot, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(summary(&model.status)), head);
    frame.render_widget(Paragraph::new(views(model)), tabs);
    let below = if model.file.is_some() {
        draw_file(model, frame, body);
        String::new()
    } else {
        draw_rows(model, frame, body)
    };
    let below = model.problem.clone().unwrap_or(below);
    frame.render_widget(Paragraph::new(Span::styled(below, FAINT)), foot);
    frame.render_widget(Paragraph::new(Span::styled(keys_of(model), FAINT)), keys);
}

fn summary(status: &DaemonStatus) -> Vec<Line<'static>> {
    let uptime = status.now_ns.saturating_sub(status.began_ns) / 1_000_000_000;
    let (hours, minutes, seconds) = (uptime / 3600, uptime / 60 % 60, uptime % 60);
    let first = format!(
        "ahead daemon {}, mode {}, up {hours}:{minutes:02}:{seconds:02}, process {}",
        status.program, status.mode, status.process
    );
    let second = format!(
        "{} facts ({} lost), {} decisions, {} watched, {} narrowed, {} unread",
        status.facts,
        status.facts_lost,
        status.decisions,
        status.watched,
        status.narrowed,
        pages(status.unread_pages)
    );
    vec![Line::styled(first, BOLD), Line::from(second)]
}

fn views(model: &Model) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, view) in (1..).zip(View::ALL) {
        let style = if view == model.view { CHOSEN } else { FAINT };
        spans.push(Span::styled(format!("{number} {}", view.title()), style));
        spans.push(Span::raw("  "));
    }
    let order = model.order.title();
    let reversed = if model.is_reversed { ", reversed" } else { "" };
    spans.push(Span::raw(format!("by {order}{reversed}")));
    if model.is_typing || !model.filter.is_empty() {
        let cursor = if model.is_typing { "_" } else { "" };
        spans.push(Span::raw(format!("  /{}{cursor}", model.filter)));
    }
    let inside = model.inside();
    if !inside.is_empty() {
        spans.push(Span::styled(format!("  in {inside}"), BOLD));
    }
    Line::from(spans)
}

/// The table; returns what is said about the row that is chosen.
fn draw_rows(model: &Model, frame: &mut Frame<'_>, area: Rect) -> String {
    let rows = model.rows();
    if rows.is_empty() {
        let nothing = "nothing is known: no file had to be fetched from a device";
        frame.render_widget(Paragraph::new(nothing), area);
        return String::new();
    }
    let number = if model.view == View::Files {
        "PID"
    } else {
        "FILES"
    };
    let name = model.view.title().to_uppercase();
    let fixed: u16 = COLUMNS.iter().map(|(_, width)| width + 1).sum();
    let width = area.width.saturating_sub(fixed).max(NAME_WIDTH_MIN);
    let titles = COLUMNS.iter().map(|(title, _)| match *title {
        "" => right(number),
        "PATTERN" => Cell::from("PATTERN"),
        title => right(title),
    });
    let header = TableRow::new(std::iter::once(Cell::from(name)).chain(titles)).style(BOLD);
    let widths = std::iter::once(Constraint::Length(width))
        .chain(COLUMNS.iter().map(|(_, width)| Constraint::Length(*width)));
    let lines = rows.iter().map(|row| table_row(row, width.into()));
    let table = Table::new(lines, widths)
        .header(header)
        .column_spacing(1)
        .row_highlight_style(CHOSEN);
    let mut state = TableState::default().with_selected(Some(model.selected));
    frame.render_stateful_widget(table, area, &mut state);
    rows.get(model.selected)
        .map_or_else(String::new, |row| model.about(row))
}

fn table_row(row: &Row, name_width: usize) -> TableRow<'static> {
    let account = &row.account;
    let amplification = account.amplification_permille().map_or_else(
        || "-".to_owned(),
        |permille| format!("{}.{:02}", permille / 1000, permille % 1000 / 10),
    );
    TableRow::new([
        Cell::from(end_of(&row.name, name_width)),
        right(&row.number.to_string()),
        Cell::from(row.pattern.clone()),
        right(&short(row.window_pages)),
        right(&short(account.useful)),
        right(&short(account.late)),
        right(&short(account.wasted)),
        right(&short(account.thrashed)),
        right(&amplification),
    ])
}

fn right(text: &str) -> Cell<'static> {
    Cell::from(Line::from(text.to_owned()).right_aligned())
}

/// The end of a long name says more than its beginning.
fn end_of(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length + 1 - width).collect();
    format!("…{end}")
}

/// So many pages, as `64K` or `1.2M`.
fn short(pages: u64) -> String {
    if pages == 0 {
        return "0".to_owned();
    }
    let bytes = ahead_units::PageCount::new(pages).bytes().get();
    let text = figures::size(bytes);
    text.replace(' ', "").replace("iB", "")
}

/// What was decided about a file.
fn draw_file(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let text = match model.shown_file() {
        Some(file) => explain::about_file(file, model.status.now_ns),
        None => "this file is not known any more".to_owned(),
    };
    let text = prose::broken(&text, area.width.into());
    let lines = u16::try_from(text.lines().count()).unwrap_or(u16::MAX);
    let scrolled = model.scrolled.min(lines.saturating_sub(area.height));
    let paragraph = Paragraph::new(text).scroll((scrolled, 0));
    frame.render_widget(paragraph, area);
}

fn keys_of(model: &Model) -> &'static str {
    if model.is_typing {
        "type a part of the name, Enter: done, Esc: no filter"
    } else if model.file.is_some() {
        "up/down: scroll, Esc: back, q: quit"
    } else {
        "1-4: view, up/down, Enter: into, Esc: out, </>: order, r: reverse, /: filter, q"
    }
}

#[cfg(test)]
mod tests {
    use ahead_daemon::status::{DeviceStatus, FileStatus, HistoryEntry, PageAccount};
    use ahead_policy::device::DeviceEstimate;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyCode;

    use super::super::model::Next;
    use super::*;

    fn file(inode: u64, path: &str, process: u32, pattern: &str, useful: u64) -> FileStatus {
        FileStatus {
            device: rustix::fs::makedev(8, 1),
            inode,
            path: Some(path.to_owned()),
            process,
            name: Some("reader".to_owned()),
            cgroup: Some(format!("/system.slice/{process}.service")),
            is_mapped: false,
            pattern: pattern.to_owned(),
            reason: "the reader crossed the marker: the next window".to_owned(),
            window_pages: 256,
            read_ns: inode * 1_000_000_000,
            account: PageAccount {
                accesses: 10,
                pages: useful + 16,
                requested: useful * 3 / 2,
                useful,
                late: 4,
                wasted: inode,
                thrashed: 0,
            },
            history: vec![HistoryEntry {
                at_ns: 1_000_000_000,
                process,
                pages: 4,
                what: "16 KiB at 64 KiB (backward: why)".to_owned(),
            }],
            history_forgotten: 0,
        }
    }

    fn model() -> Model {
        let account = PageAccount {
            useful: 1 << 20,
            requested: 1 << 20,
            ..PageAccount::default()
        };
        let mut model = Model::default();
        model.on_status(DaemonStatus {
            process: 77,
            program: "0.1.0".to_owned(),
            mode: "full".to_owned(),
            now_ns: 3_723_000_000_000,
            facts: 1234,
            decisions: 56,
            watched: 3,
            unread_pages: 512,
            devices: vec![DeviceStatus {
                device: rustix::fs::makedev(8, 1),
                believed: Some(DeviceEstimate::ARM.into()),
                account,
            }],
            files: vec![
                file(
                    1,
                    "/var/lib/postgresql/15/main/base/16384/24576",
                    4242,
                    "random",
                    64,
                ),
                file(2, "/data/log", 17, "backward", 4096),
                file(3, "/data/table", 17, "shuffled sequential", 100_000),
            ],
            ..DaemonStatus::default()
        });
        model
            .devices
            .insert(rustix::fs::makedev(8, 1), "sda1".to_owned());
        model
    }

    fn screen(model: &Model, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(model, frame)).unwrap();
        let text = terminal.backend().to_string();
        let line = |line: &str| line.trim_matches('"').trim_end().to_owned();
        text.lines().map(line).collect()
    }

    fn press(model: &mut Model, keys: &[KeyCode]) -> Next {
        let pressed = keys.iter().map(|key| model.on_key(*key));
        pressed.last().unwrap_or(Next::Show)
    }

    #[test]
    fn files_fit_a_screen_of_80_columns_and_24_lines() {
        let lines = screen(&model(), 80, 24);
        let shown = [
            "ahead daemon 0.1.0, mode full, up 1:02:03, process 77",
            "1234 facts (0 lost), 56 decisions, 3 watched, 0 narrowed, 2 MiB unread",
            "1 devices  2 cgroups  3 processes  4 files  by recent",
            "FILES                   PID PATTERN    WINDOW  USEFUL   LATE WASTED THRASH  AMPL",
            "/data/table              17 shuffled s     1M  390.6M    16K    12K      0  1.50",
            "/data/log                17 backward       1M     16M    16K     8K      0  1.50",
            "…n/base/16384/24576    4242 random         1M    256K    16K     4K      0  1.50",
        ];
        assert_eq!(lines.len(), 24);
        assert_eq!(lines[..shown.len()], shown);
        assert!(lines[shown.len()..22].iter().all(String::is_empty));
        assert_eq!(lines[22], "/data/table");
        assert!(lines[23].ends_with("/: filter, q"), "{}", lines[23]);
    }

    #[test]
    fn a_device_is_drilled_down_to_the_decisions_about_a_file() {
        let mut model = model();
        press(&mut model, &[KeyCode::Char('1')]);
        let devices = screen(&model, 80, 24);
        // With what the daemon has forgotten.
        assert!(devices[4].starts_with("8:1 sda1"), "{}", devices[4]);
        assert!(devices[4].contains(" 3 several "), "{}", devices[4]);
        assert!(devices[4].contains(" 4G "), "{}", devices[4]);
        let about = "8:1 sda1: an access takes 8.000 ms, 120.0 MB/s, 1 at once, as is believed";
        assert_eq!(devices[22], about);
        press(&mut model, &[KeyCode::Enter]);
        let processes = screen(&model, 80, 24);
        assert!(processes[2].ends_with("in 8:1 sda1"), "{}", processes[2]);
        assert!(processes[4].starts_with("17 reader "), "{}", processes[4]);
        assert!(processes[5].starts_with("4242 reader "), "{}", processes[5]);
        press(&mut model, &[KeyCode::Enter]);
        assert_eq!(model.rows().len(), 2);
        let next = press(&mut model, &[KeyCode::Down, KeyCode::Enter]);
        assert_eq!(next, Next::Ask, "its history is asked for");
        let decisions = screen(&model, 80, 24);
        assert!(decisions[3].starts_with("/data/log, read by 17 reader, backward: the reader"));
        assert_eq!(decisions[4], "      window");
        assert_eq!(decisions[8], "  +0.000000 16 KiB at 64 KiB (backward: why)");
        press(&mut model, &[KeyCode::Esc, KeyCode::Esc, KeyCode::Esc]);
        assert_eq!(model.view, View::Devices);
        assert_eq!(press(&mut model, &[KeyCode::Char('q')]), Next::Quit);
    }

    #[test]
    fn rows_are_ordered_and_filtered() {
        let mut model = model();
        let names = |model: &Model| -> Vec<_> {
            let rows = model.rows().into_iter();
            rows.map(|row| row.name.chars().rev().take(3).collect::<String>())
                .collect()
        };
        assert_eq!(names(&model), ["elb", "gol", "675"]);
        press(&mut model, &[KeyCode::Char('>')]);
        assert_eq!(names(&model), ["gol", "elb", "675"], "by name");
        press(&mut model, &[KeyCode::Char('<'), KeyCode::Char('r')]);
        assert_eq!(names(&model), ["675", "gol", "elb"]);
        let filter = ['/', 'L', 'o', 'g', 'q'].map(KeyCode::Char);
        press(&mut model, &filter);
        assert!(names(&model).is_empty());
        assert!(screen(&model, 80, 24)[2].ends_with("reversed  /Logq_"));
        press(&mut model, &[KeyCode::Backspace, KeyCode::Enter]);
        assert_eq!(names(&model), ["gol"]);
        press(&mut model, &[KeyCode::Esc]);
        assert_eq!(names(&model).len(), 3);
    }

    /// Files come and go between two answers.
    #[test]
    fn what_was_chosen_stays_chosen() {
        let mut model = model();
        press(&mut model, &[KeyCode::Down]);
        let mut status = model.status.clone();
        status.files.push(file(9, "/new", 5, "random", 1));
        model.on_status(status.clone());
        assert_eq!(model.rows()[model.selected].name, "/data/log");
        status.files.clear();
        model.on_status(status);
        assert_eq!(model.selected, 0);
        assert_eq!(press(&mut model, &[KeyCode::Enter]), Next::Show);
    }

    #[test]
    fn no_size_of_a_screen_breaks_it() {
        let mut model = model();
        for keys in [&[][..], &[KeyCode::Enter], &[KeyCode::PageDown]] {
            press(&mut model, keys);
            for (width, height) in [(1, 1), (10, 3), (40, 6), (200, 60)] {
                assert_eq!(screen(&model, width, height).len(), usize::from(height));
            }
        }
    }
}
