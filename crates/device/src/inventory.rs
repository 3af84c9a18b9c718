//! Every window of a machine: of block devices, and of file systems without one.

use crate::block;
use crate::machine::MachineTree;
use crate::stack::{self, Stack};
use crate::target::Target;

/// A stack for each block device that has a window and a size, then one for each bdi without a block device.
#[must_use]
pub fn all(machine: &MachineTree) -> Vec<Stack> {
    let mut stacks = Vec::new();
    let mut numbers = Vec::new();
    for name in machine.names(&machine.sys().join("class/block")) {
        let Some(folder) = block::folder_of(machine, &name) else {
            continue;
        };
        let stack = stack::of(machine, &Target::Device(folder));
        let Some(first) = stack.layers.first() else {
            continue;
        };
        numbers.extend(first.bdi.clone());
        // Loop and zram devices that nothing uses have no size.
        if first.bdi.is_some() && first.size_bytes != Some(0) {
            stacks.push(stack);
        }
    }
    for bdi in machine.names(&machine.sys().join("class/bdi")) {
        if !numbers.contains(&bdi) {
            stacks.push(stack::of(machine, &Target::Bdi(bdi)));
        }
    }
    stacks
}
