//! Which of the bench's arms the commands of the lab have. A guest has no BPF, so that a daemon in it would do
//! nothing and be measured as the kernel by itself.

use ahead_harness::arm::{Arm, parse_list};

use super::error::LabError;

/// The arms of one command.
pub(super) struct ArmsHere {
    /// As the help of the command names them.
    names: &'static str,
    has: fn(&Arm) -> bool,
}

/// Those of one command in guests.
pub(super) const OF_A_COMMAND: ArmsHere = ArmsHere {
    names: "off, stock:KIB, run, patched, ceiling",
    has: |arm| match arm {
        Arm::Off | Arm::Stock { .. } | Arm::Patched | Arm::Ceiling => true,
        Arm::Run { settings } => settings.is_empty(),
        Arm::StaticBest | Arm::Daemon { .. } => false,
    },
};

/// Those of the bench in guests.
pub(super) const OF_THE_BENCH: ArmsHere = ArmsHere {
    names: "off, stock:KIB, static-best, run, run:KEY=VALUE, patched, ceiling",
    has: |arm| !matches!(arm, Arm::Daemon { .. }),
};

/// Those that the simulator does as well.
pub(super) const OF_PREDICTIONS: ArmsHere = ArmsHere {
    names: "off, stock:KIB, run, run:KEY=VALUE",
    has: |arm| matches!(arm, Arm::Off | Arm::Stock { .. } | Arm::Run { .. }),
};

impl ArmsHere {
    /// The arms in the list that was typed. All are looked at before one is run.
    ///
    /// # Errors
    /// One that there is not, or not here.
    pub(super) fn parse(&self, text: &str) -> Result<Vec<Arm>, LabError> {
        let arms = parse_list(text)?;
        match arms.iter().find(|arm| !(self.has)(arm)) {
            Some(arm) => Err(self.refusal(arm)),
            None => Ok(arms),
        }
    }

    /// What is said of an arm that there is not here.
    pub(super) fn refusal(&self, arm: &Arm) -> LabError {
        LabError::OtherArm {
            arm: arm.clone(),
            known: self.names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_taken_and_the_daemon_is_not() {
        for (here, text) in [
            (&OF_A_COMMAND, "off,stock:128,run,patched,ceiling"),
            (
                &OF_THE_BENCH,
                "off,stock:128,static-best,run,run:trees=off,patched,ceiling",
            ),
            (&OF_PREDICTIONS, "off,stock:128,run,run:trees=off"),
        ] {
            assert!(here.parse(text).is_ok(), "{text}");
            for daemon in ["daemon", "daemon:static"] {
                let refused = here.parse(&format!("{text},{daemon}"));
                let said = refused.expect_err("no BPF").to_string();
                assert!(said.contains(&format!("`{daemon}`")), "{said}");
                assert!(said.ends_with(here.names), "{said}");
            }
        }
    }
}
