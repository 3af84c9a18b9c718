//! `ahead top`: what the daemon says, on the terminal, again every second.
//!
//! `model` has what is shown and what a key does, `view` draws it; here are the terminal and the clock.

mod model;
mod view;

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::arguments;
use crate::asking::{About, AskingError, kernels_name};
use model::{Model, Next};

/// Why there is nothing to look at.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// The daemon cannot be asked.
    #[error(transparent)]
    Asking(#[from] AskingError),
    /// It would be written into a file or a pipe.
    #[error(
        "`ahead top` needs a terminal; `ahead status` writes the same as text, and --json for programs"
    )]
    NoTerminal,
    /// The terminal cannot be read or written.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows it until a key ends it.
///
/// # Errors
/// [`TopError`].
pub fn top(arguments: &arguments::Top) -> Result<(), TopError> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(TopError::NoTerminal);
    }
    let mut model = Model::default();
    // A daemon that does not run is one line, not a screen.
    model.on_status(About::All.ask(false)?);
    let every = Duration::from_secs(arguments.interval.into());
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, &mut model, every);
    ratatui::try_restore()?;
    Ok(shown?)
}

fn show(terminal: &mut DefaultTerminal, model: &mut Model, every: Duration) -> io::Result<()> {
    let mut asked = Instant::now();
    loop {
        learn_devices(model);
        terminal.draw(|frame| view::draw(model, frame))?;
        let next = match event::poll(every.saturating_sub(asked.elapsed()))? {
            false => Next::Ask,
            true => on_event(&event::read()?, model),
        };
        match next {
            Next::Quit => return Ok(()),
            Next::Ask => {
                match About::All.ask(model.file.is_some()) {
                    Ok(status) => model.on_status(status),
                    Err(error) => model.problem = Some(error.to_string()),
                }
                asked = Instant::now();
            }
            Next::Show => {}
        }
    }
}

fn on_event(event: &Event, model: &mut Model) -> Next {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            let is_interrupt =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if is_interrupt {
                Next::Quit
            } else {
                model.on_key(key.code)
            }
        }
        // Another size, for one.
        _ => Next::Show,
    }
}

/// What the kernel calls the devices.
fn learn_devices(model: &mut Model) {
    let files = model.status.files.iter().map(|file| file.device);
    let devices = model.status.devices.iter().map(|one| one.device);
    let named = files
        .chain(devices)
        .filter_map(|number| Some((number, kernels_name(number)?)));
    model.devices = named.collect();
}
