//! `/etc/group` - the number of a group of this machine.
//!
//! Groups that come over the network (nsswitch.conf) are not seen.

use std::fs;
use std::path::Path;

/// The number of the group called `name`, below the folder `etc`; `None` when there is none.
#[must_use]
pub fn group_number(etc: &Path, name: &str) -> Option<u32> {
    let text = fs::read_to_string(etc.join("group")).ok()?;
    text.lines().find_map(|line| {
        // name:password:number:members
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let etc = tempfile::tempdir().unwrap();
        let text = "root:x:0:\naheads:x:7:\nbroken\nahead:x:998:anna,bert\n";
        fs::write(etc.path().join("group"), text).unwrap();
        assert_eq!(group_number(etc.path(), "ahead"), Some(998));
        assert_eq!(group_number(etc.path(), "head"), None);
        assert_eq!(group_number(&etc.path().join("none"), "ahead"), None);
    }
}
