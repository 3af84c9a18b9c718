//! Window controllers from papers and from well-known programs, in the shape of [`crate::kernel`].
