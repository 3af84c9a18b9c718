//! Steps through mappings.

use ahead_units::PAGE_BYTES;

use super::parts::{all, one, slot};
use crate::kinds::{Hint, TouchOrder};
use crate::random::{below, mix};
use crate::{FileSpec, Process, Step};

pub(super) fn mapped(
    pages: u64,
    order: TouchOrder,
    advice: Hint,
    touches: u64,
    step_pages: u64,
    seed: u64,
) -> Vec<Process> {
    let start = [map(0, 0, pages, advice)];
    let touch = |page, pages| Step::Touch {
        area: 0,
        page,
        pages,
    };
    match order {
        TouchOrder::Forward => {
            let step = step_pages.max(1);
            let program = (0..pages.div_ceil(step)).map(move |index| {
                let page = index * step;
                touch(page, step.min(pages - page))
            });
            one("mapped", start.into_iter().chain(program))
        }
        TouchOrder::Backward => {
            let program = (0..pages).rev().map(move |page| touch(page, 1));
            one("mapped", start.into_iter().chain(program))
        }
        TouchOrder::Random => {
            let touches = if pages == 0 { 0 } else { touches };
            let program = (0..touches).map(move |index| touch(below(seed, index, pages), 1));
            one("mapped", start.into_iter().chain(program))
        }
    }
}

pub(super) fn libraries(
    files: &[FileSpec],
    clusters: u64,
    cluster_pages: u64,
    seed: u64,
) -> Process {
    let slots = all(files);
    let count = u64::try_from(files.len()).unwrap_or(0);
    let shortest = files.iter().map(|file| file.bytes / PAGE_BYTES).min();
    let pages = shortest.unwrap_or(0);
    let maps = (0..count).map(move |file| map(slot(file), slot(file), pages, Hint::Normal));
    let touches = (0..clusters).map(move |index| {
        let length = 1 + below(mix(seed), index, cluster_pages);
        Step::Touch {
            area: slot(below(seed ^ 1, index, count)),
            page: below(seed, index, pages.saturating_sub(length)),
            pages: length,
        }
    });
    Process::new("libraries", slots, maps.chain(touches))
}

fn map(area: u32, slot: u32, pages: u64, advice: Hint) -> Step {
    Step::Map {
        area,
        slot,
        start: 0,
        pages,
        advice: advice.into(),
        executable: false,
    }
}
