//! What `ahead top` shows: the rows of a view, and what a key does to it. Pure.
//!
//! One answer of the daemon is all there is. Devices, control groups and processes are sums over the files that they
//! read last; of devices the daemon also says what happened with files that it has forgotten.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ahead_daemon::status::{DaemonStatus, DeviceStatus, FileStatus, PageAccount};
use ratatui::crossterm::event::KeyCode;

use crate::asking::{believed_of, device_of, name_of, pattern_of, reader_of};

/// What a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    Devices,
    Cgroups,
    Processes,
    #[default]
    Files,
}

impl View {
    pub(super) const ALL: [Self; 4] = [Self::Devices, Self::Cgroups, Self::Processes, Self::Files];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::Cgroups => "cgroups",
            Self::Processes => "processes",
            Self::Files => "files",
        }
    }
}

/// Which row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Device(u64),
    Cgroup(String),
    Process(u32),
    File(u64, u64),
}

impl Key {
    fn of(view: View, file: &FileStatus) -> Self {
        match view {
            View::Devices => Self::Device(file.device),
            View::Cgroups => Self::Cgroup(file.cgroup.clone().unwrap_or_default()),
            View::Processes => Self::Process(file.process),
            View::Files => Self::File(file.device, file.inode),
        }
    }

    fn holds(&self, file: &FileStatus) -> bool {
        let view = match self {
            Self::Device(_) => View::Devices,
            Self::Cgroup(_) => View::Cgroups,
            Self::Process(_) => View::Processes,
            Self::File(..) => View::Files,
        };
        Self::of(view, file) == *self
    }
}

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Recent,
    Name,
    Window,
    Useful,
    Late,
    Wasted,
    Thrashed,
    Amplification,
}

impl Order {
    const ALL: [Self; 8] = [
        Self::Recent,
        Self::Name,
        Self::Window,
        Self::Useful,
        Self::Late,
        Self::Wasted,
        Self::Thrashed,
        Self::Amplification,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Recent => "recent",
            Self::Name => "name",
            Self::Window => "window",
            Self::Useful => "useful",
            Self::Late => "late",
            Self::Wasted => "wasted",
            Self::Thrashed => "thrashed",
            Self::Amplification => "amplification",
        }
    }

    fn moved(self, by: usize) -> Self {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        Self::ALL[(place + by) % Self::ALL.len()]
    }
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) name: String,
    /// The process of a file; how many files, otherwise.
    pub(super) number: u64,
    pub(super) pattern: String,
    pub(super) window_pages: u64,
    pub(super) account: PageAccount,
    read_ns: u64,
}

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Show,
    /// Something is shown that was not asked for.
    Ask,
    Quit,
}

/// A view that was left for one inside of it.
#[derive(Clone, Debug)]
struct Outer {
    view: View,
    selected: usize,
    key: Key,
    name: String,
}

/// All that is shown.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) status: DaemonStatus,
    /// Names of devices by their numbers.
    pub(super) devices: BTreeMap<u64, String>,
    pub(super) view: View,
    pub(super) order: Order,
    pub(super) is_reversed: bool,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) is_typing: bool,
    pub(super) selected: usize,
    /// The file whose decisions are shown.
    pub(super) file: Option<Key>,
    /// Lines of them that are above the screen.
    pub(super) scrolled: u16,
    /// Why the newest question was not answered.
    pub(super) problem: Option<String>,
    inside: Vec<Outer>,
}

impl Model {
    /// The rows in their order.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
        for file in self.files() {
            let key = Key::of(self.view, file);
            let row = rows.entry(key.clone()).or_insert_with(|| Row {
                name: self.name(&key, file),
                key,
                number: 0,
                pattern: pattern_of(file),
                window_pages: 0,
                account: PageAccount::default(),
                read_ns: 0,
            });
            row.number += 1;
            if row.pattern != pattern_of(file) {
                "several".clone_into(&mut row.pattern);
            }
            row.window_pages = row.window_pages.max(file.window_pages);
            row.account.add(&file.account);
            row.read_ns = row.read_ns.max(file.read_ns);
            if self.view == View::Files {
                row.number = u64::from(file.process);
            }
        }
        if self.view == View::Devices {
            self.add_devices(&mut rows);
        }
        let filter = self.filter.to_lowercase();
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.retain(|row| row.name.to_lowercase().contains(&filter));
        self.sort(&mut rows);
        rows
    }

    /// Those that are inside of what was chosen.
    fn files(&self) -> impl Iterator<Item = &FileStatus> {
        let is_inside = |file: &&FileStatus| self.inside.iter().all(|one| one.key.holds(file));
        self.status.files.iter().filter(is_inside)
    }

    fn name(&self, key: &Key, file: &FileStatus) -> String {
        match key {
            Key::Device(number) => self.device(*number),
            Key::Cgroup(path) if path.is_empty() => "(unknown)".to_owned(),
            Key::Cgroup(path) => path.clone(),
            Key::Process(_) => reader_of(file),
            Key::File(..) => name_of(file),
        }
    }

    /// What is said of a row below the table.
    pub(super) fn about(&self, row: &Row) -> String {
        let mut devices = self.status.devices.iter();
        let is_it = |one: &&DeviceStatus| row.key == Key::Device(one.device);
        let believed = devices.find(is_it).and_then(|one| one.believed);
        believed.map_or_else(
            || row.name.clone(),
            |believed| format!("{}: {}", row.name, believed_of(&believed)),
        )
    }

    fn device(&self, number: u64) -> String {
        device_of(number, self.devices.get(&number).map(String::as_str))
    }

    /// What the daemon says of devices holds for files that it has forgotten too.
    fn add_devices(&self, rows: &mut BTreeMap<Key, Row>) {
        for device in &self.status.devices {
            let key = Key::Device(device.device);
            let row = rows.entry(key.clone()).or_insert_with(|| Row {
                key,
                name: self.device(device.device),
                number: 0,
                pattern: "-".to_owned(),
                window_pages: 0,
                account: PageAccount::default(),
                read_ns: 0,
            });
            row.account = device.account;
        }
    }

    fn sort(&self, rows: &mut [Row]) {
        let account = |row: &Row, figure: fn(&PageAccount) -> u64| Reverse(figure(&row.account));
        match self.order {
            Order::Recent => rows.sort_by_key(|row| Reverse(row.read_ns)),
            Order::Name => rows.sort_by(|one, other| one.name.cmp(&other.name)),
            Order::Window => rows.sort_by_key(|row| Reverse(row.window_pages)),
            Order::Useful => rows.sort_by_key(|row| account(row, |one| one.useful)),
            Order::Late => rows.sort_by_key(|row| account(row, |one| one.late)),
            Order::Wasted => rows.sort_by_key(|row| account(row, |one| one.wasted)),
            Order::Thrashed => rows.sort_by_key(|row| account(row, |one| one.thrashed)),
            Order::Amplification => {
                rows.sort_by_key(|row| Reverse(row.account.amplification_permille()));
            }
        }
        if self.is_reversed {
            rows.reverse();
        }
    }

    /// What the rows are inside of, in words.
    pub(super) fn inside(&self) -> String {
        let names: Vec<_> = self.inside.iter().map(|one| one.name.as_str()).collect();
        names.join(" > ")
    }

    /// The file whose decisions are shown, as far as it is known still.
    pub(super) fn shown_file(&self) -> Option<&FileStatus> {
        let key = self.file.as_ref()?;
        self.status.files.iter().find(|file| key.holds(file))
    }

    /// A new answer. What was chosen stays chosen.
    pub(super) fn on_status(&mut self, status: DaemonStatus) {
        let chosen = self.rows().get(self.selected).map(|row| row.key.clone());
        self.status = status;
        self.problem = None;
        let rows = self.rows();
        let place = rows
            .iter()
            .position(|row| Some(&row.key) == chosen.as_ref());
        self.selected = place
            .unwrap_or(self.selected)
            .min(rows.len().saturating_sub(1));
    }

    /// A key was pressed.
    pub(super) fn on_key(&mut self, key: KeyCode) -> Next {
        if self.is_typing {
            return self.on_typed(key);
        }
        if self.file.is_some() {
            return self.on_key_in_file(key);
        }
        let last = self.rows().len().saturating_sub(1);
        match key {
            KeyCode::Char('q') => return Next::Quit,
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(10),
            KeyCode::PageDown => self.selected = (self.selected + 10).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('<') | KeyCode::Left => {
                self.order = self.order.moved(Order::ALL.len() - 1)
            }
            KeyCode::Char('>') | KeyCode::Right => self.order = self.order.moved(1),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char(digit @ '1'..='4') => {
                let place = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or(0);
                self.show(View::ALL[place]);
            }
            KeyCode::Tab => {
                let place = View::ALL.iter().position(|one| *one == self.view);
                self.show(View::ALL[(place.unwrap_or(0) + 1) % View::ALL.len()]);
            }
            KeyCode::Enter => return self.go_in(),
            KeyCode::Esc | KeyCode::Backspace => self.go_out(),
            _ => {}
        }
        Next::Show
    }

    fn show(&mut self, view: View) {
        self.inside.clear();
        (self.view, self.selected) = (view, 0);
    }

    /// Into the row that is chosen: what is in it, or, of a file, what was decided.
    fn go_in(&mut self) -> Next {
        let Some(row) = self.rows().into_iter().nth(self.selected) else {
            return Next::Show;
        };
        if self.view == View::Files {
            (self.file, self.scrolled) = (Some(row.key), 0);
            return Next::Ask;
        }
        self.inside.push(Outer {
            view: self.view,
            selected: self.selected,
            key: row.key,
            name: row.name,
        });
        self.filter.clear();
        self.view = match self.view {
            View::Devices | View::Cgroups => View::Processes,
            View::Processes | View::Files => View::Files,
        };
        self.selected = 0;
        Next::Show
    }

    fn go_out(&mut self) {
        if !self.filter.is_empty() {
            self.filter.clear();
        } else if let Some(outer) = self.inside.pop() {
            (self.view, self.selected) = (outer.view, outer.selected);
        }
    }

    fn on_typed(&mut self, key: KeyCode) -> Next {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(one) if self.filter.len() < 64 => self.filter.push(one),
            _ => {}
        }
        self.selected = 0;
        Next::Show
    }

    fn on_key_in_file(&mut self, key: KeyCode) -> Next {
        match key {
            KeyCode::Char('q') => return Next::Quit,
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Enter => self.file = None,
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scrolled = self.scrolled.saturating_add(1),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(10),
            KeyCode::PageDown => self.scrolled = self.scrolled.saturating_add(10),
            _ => {}
        }
        Next::Show
    }
}
