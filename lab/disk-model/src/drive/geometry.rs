//! Where a sector is, and when it passes under its head.
//!
//! The surface is an angle that turns without ever slipping, so the wait for a sector follows from
//! the moment alone. An angle is kept as a number of [`TURN`]ths: nanoseconds times revolutions per
//! minute, which is exact, so nothing adds up over the years of a simulation.

use super::model::{DriveModel, Zone};

/// One revolution: a minute in nanoseconds, because angles are nanoseconds times rpm.
const TURN: u64 = 60_000_000_000;

/// A sector that began to pass less than this ago is still read. Times are rounded up to whole
/// nanoseconds; without this, rounding alone would cost a revolution. Far below a sector (some 10 µs).
const LATE_NS_MAX: u64 = 1_000;

/// The place of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cylinder: u64,
    pub(super) surface: u64,
    /// On its track.
    pub(super) sector: u64,
    pub(super) track_sectors: u64,
    /// Sectors from the index mark to the track's sector 0.
    skew: u64,
}

impl Place {
    /// From this sector to the end of its track.
    pub(super) const fn sectors_left(&self) -> u64 {
        self.track_sectors - self.sector
    }
}

/// The zones of a drive, counted through.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    rpm: u64,
    surfaces: u64,
    zones: Vec<Counted>,
    sectors: u64,
    cylinders: u64,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    zone: Zone,
    first_cylinder: u64,
    first_sector: u64,
}

impl Geometry {
    pub(super) fn new(model: &DriveModel) -> Self {
        let mut zones = Vec::with_capacity(model.zones.len());
        let (mut first_cylinder, mut first_sector) = (0, 0);
        for &zone in &model.zones {
            zones.push(Counted {
                zone,
                first_cylinder,
                first_sector,
            });
            let cylinders = zone.last_cylinder + 1 - first_cylinder;
            first_sector += cylinders * model.surfaces * zone.track_sectors;
            first_cylinder = zone.last_cylinder + 1;
        }
        Self {
            rpm: model.rotation_rpm,
            surfaces: model.surfaces,
            zones,
            sectors: first_sector,
            cylinders: first_cylinder,
        }
    }

    /// How many sectors there are.
    pub(super) const fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How many cylinders there are.
    pub(super) const fn cylinders(&self) -> u64 {
        self.cylinders
    }

    /// The place of a sector; `sector` must exist.
    pub(super) fn locate(&self, sector: u64) -> Place {
        let behind = self
            .zones
            .partition_point(|zone| zone.first_sector <= sector);
        let counted = &self.zones[behind.saturating_sub(1)];
        let zone = counted.zone;
        let inside = sector - counted.first_sector;
        let track = inside / zone.track_sectors;
        let (cylinder, surface) = (track / self.surfaces, track % self.surfaces);
        let cylinder_turns = (self.surfaces - 1) * zone.track_skew + zone.cylinder_skew;
        Place {
            cylinder: counted.first_cylinder + cylinder,
            surface,
            sector: inside % zone.track_sectors,
            track_sectors: zone.track_sectors,
            skew: (cylinder * cylinder_turns + surface * zone.track_skew) % zone.track_sectors,
        }
    }

    /// The first moment from `now_ns` on at which the sector begins to pass under its head.
    pub(super) fn passes_ns(&self, now_ns: u64, place: &Place) -> u64 {
        let track = u128::from(place.track_sectors);
        let steps = u128::from((place.sector + place.skew) % place.track_sectors);
        let target = u64::try_from(steps * u128::from(TURN) / track).unwrap_or(0);
        let turned = u128::from(now_ns) * u128::from(self.rpm) % u128::from(TURN);
        let angle = u64::try_from(turned).unwrap_or(0);
        let wait = (target + TURN - angle) % TURN;
        if TURN - wait <= self.rpm * LATE_NS_MAX {
            return now_ns;
        }
        now_ns.saturating_add(wait.div_ceil(self.rpm))
    }

    /// Nanoseconds in which `sectors` of a track of `track_sectors` pass.
    pub(super) fn passing_ns(&self, sectors: u64, track_sectors: u64) -> u64 {
        let turns = u128::from(sectors) * u128::from(TURN);
        let ns = turns.div_ceil(u128::from(track_sectors) * u128::from(self.rpm));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Whole sectors of a track of `track_sectors` that pass in `ns`.
    pub(super) fn passed_in(&self, ns: u64, track_sectors: u64) -> u64 {
        let turns = u128::from(ns) * u128::from(self.rpm) * u128::from(track_sectors);
        u64::try_from(turns / u128::from(TURN)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::sets;

    #[test]
    fn the_first_sector_of_each_track_lags_by_the_skew() {
        let geometry = Geometry::new(&sets::ibm_dnes());
        let of = |sector| geometry.locate(sector);
        assert_eq!(
            (of(0).surface, of(389).sector, of(390).surface),
            (0, 389, 1)
        );
        assert_eq!(
            (of(390).skew, of(5 * 390).cylinder, of(5 * 390).surface),
            (58, 1, 0)
        );
        assert_eq!(of(5 * 390).skew, 4 * 58 + 101);
    }

    #[test]
    fn a_sector_passes_once_in_a_revolution() {
        let geometry = Geometry::new(&sets::ibm_dnes());
        let place = geometry.locate(195);
        let first_ns = geometry.passes_ns(0, &place);
        assert_eq!(first_ns, 4_166_667);
        assert_eq!(geometry.passes_ns(first_ns, &place), first_ns);
        assert_eq!(geometry.passes_ns(first_ns + 10_000, &place), 12_500_000);
    }
}
