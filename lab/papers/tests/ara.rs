//! The figures of 2006 and 2017 that are quick to compute, end to end.
//!
//! The whole of `ara-2006` and `dead-ahead-2017` belongs to `ahead reproduce`: minutes without
//! optimisation. Their grids are tested where they are made.

use ahead_papers::{find, oci_2017};
use ahead_study::verdict::Verdict;

/// The request size never changes, the depth does: nothing in this figure is left unexplained.
#[test]
fn queue_depth_explains_the_cloud_volume_row_by_row() {
    let figure = oci_2017::figure().expect("simulated");
    for row in &figure.rows {
        assert_ne!(
            row.verdict,
            Verdict::DoesNotHold,
            "{}: {} published, {} simulated",
            row.what,
            row.published,
            row.simulated
        );
    }
    let (_, picture) = &figure.charts[0];
    assert!(
        picture
            .to_svg()
            .expect("drawn")
            .contains("depth, published")
    );
}

#[test]
fn the_same_figure_twice_is_the_same_to_the_last_digit() {
    let (first, second) = (oci_2017::figure(), oci_2017::figure());
    assert_eq!(
        first.expect("simulated").rows,
        second.expect("simulated").rows
    );
}

#[test]
fn figures_are_found_by_their_names() {
    for name in ["ara-2006", "dead-ahead-2017", "oci-2017"] {
        assert_eq!(find(name).expect("known").len(), 1, "{name}");
    }
}
