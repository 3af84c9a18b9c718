//! A disk in one line: by its name, by its kind and figures, or by a seed.
//!
//! `hdd` is a preset. `arm:media-bytes-per-s=60000000` is the plainest disk of its kind, with what is said of it
//! instead of its own figures. `by-chance:seed=7` is what chance makes of 7.

use crate::limits::ModelError;
use crate::model::DiskModel;

/// What is written instead of a kind where a seed says everything.
const BY_CHANCE: &str = "by-chance";

/// What is typed beside a preset's name, and what that is.
pub const TYPED: [(&str, &str); 4] = [
    (
        "arm:FIGURE=N,…",
        "hdd with other figures: media-bytes-per-s, seek-us-min, seek-us-max, rotation-rpm",
    ),
    (
        "flash:FIGURE=N,…",
        "ssd with other figures: channels, page-us, page-bytes, latency-us",
    ),
    (
        "volume:FIGURE=N,…",
        "cloud with other figures: latency-us, requests-per-s, bytes-per-s",
    ),
    (
        "by-chance:seed=N",
        "one that chance makes; `ahead compare --disks-by-chance` takes many",
    ),
];

impl DiskModel {
    /// The disk that `text` writes.
    ///
    /// # Errors
    /// No preset, no kind that has figures, a figure that it does not have or that makes no sense.
    pub fn typed(text: &str) -> Result<Self, ModelError> {
        let Some((kind, figures)) = text.split_once(':') else {
            return Self::preset(text);
        };
        let plainest = match kind {
            "arm" => Self::hdd(),
            "flash" => Self::ssd(),
            "volume" => Self::cloud(),
            BY_CHANCE => {
                let seed = figures.strip_prefix("seed=").and_then(|it| it.parse().ok());
                let wrong =
                    || ModelError::Syntax(format!("'{text}' takes seed=N and nothing else"));
                return seed.map(Self::by_chance).ok_or_else(wrong);
            }
            _ => return Err(ModelError::UnknownPreset(text.to_owned())),
        };
        plainest.with(figures)
    }

    /// How the disk that chance makes of `seed` is typed.
    #[must_use]
    pub fn typed_by_chance(seed: u64) -> String {
        format!("{BY_CHANCE}:seed={seed}")
    }

    /// Whether `text` stands for a disk that chance makes.
    #[must_use]
    pub fn is_typed_by_chance(text: &str) -> bool {
        text.split_once(':')
            .is_some_and(|(kind, _)| kind == BY_CHANCE)
    }

    /// This disk with other `figures`.
    fn with(&self, figures: &str) -> Result<Self, ModelError> {
        let mut fields =
            toml::Table::try_from(self).map_err(|error| ModelError::Syntax(error.to_string()))?;
        for pair in figures
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let wrong = |reason: &str| ModelError::Syntax(format!("'{pair}' {reason}"));
            let (figure, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = fields.get_mut(figure).filter(|value| value.is_integer());
            let known = known.ok_or_else(|| wrong("is no figure of this kind of disk"))?;
            let value: i64 = value.parse().map_err(|_| wrong("has no whole number"))?;
            *known = value.into();
        }
        Self::from_toml(&fields.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::VolumeModel;

    #[test]
    fn a_disk_is_typed_by_its_name_its_figures_or_a_seed() {
        assert_eq!(DiskModel::typed("hdd"), Ok(DiskModel::hdd()));
        assert_eq!(DiskModel::typed("arm:"), Ok(DiskModel::hdd()));
        let far = DiskModel::Volume(VolumeModel {
            latency_us: 6_667,
            requests_per_s: 133_575,
            bytes_per_s: 125_000_000,
        });
        assert_eq!(
            DiskModel::typed("volume:latency-us=6667,requests-per-s=133575"),
            Ok(far)
        );
        let text = DiskModel::typed_by_chance(7);
        assert!(DiskModel::is_typed_by_chance(&text) && !DiskModel::is_typed_by_chance("hdd"));
        assert_eq!(DiskModel::typed(&text), Ok(DiskModel::by_chance(7)));
    }

    #[test]
    fn what_is_typed_beside_names_is_understood() {
        for (text, meaning) in TYPED {
            let (kind, _) = text.split_once(':').expect("a kind");
            if kind == BY_CHANCE {
                continue;
            }
            let (_, figures) = meaning.split_once(": ").expect("figures");
            for figure in figures.split(", ") {
                let typed = format!("{kind}:{figure}=4096");
                assert!(DiskModel::typed(&typed).is_ok(), "{typed}");
            }
        }
    }

    #[test]
    fn what_is_no_disk_is_refused_with_what_is_wrong() {
        let wrong = [
            ("tape", "no disk model is called"),
            ("tape:speed=1", "no disk model is called"),
            ("volume:speed=1", "'speed=1' is no figure"),
            ("arm:order=7", "'order=7' is no figure"),
            ("arm:kind=7", "'kind=7' is no figure"),
            ("flash:channels=many", "'channels=many' has no whole number"),
            ("flash:channels=0", "channels must be"),
            ("volume:latency-us=-1", "not a disk model"),
            ("by-chance", "no disk model is called"),
            ("by-chance:", "takes seed=N"),
            ("by-chance:seed=-1", "takes seed=N"),
        ];
        for (text, part) in wrong {
            let said = DiskModel::typed(text).expect_err(text).to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
