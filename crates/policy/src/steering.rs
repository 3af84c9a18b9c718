//! Steering constants: numbers that were chosen, not derived, and how to try others.
//!
//! Normally a steering constant is a constant: what it holds is known when the program is
//! built. With the feature `evidence` it is a value that can be set while the program runs, so
//! that a command can sweep it (`cargo run -p xtask -- evidence NAME`) over plans and generated
//! workloads; the results lie in docs/results/evidence. Nothing here reads an environment; whoever
//! wants to set a value calls `Constant::set`.

#[cfg(feature = "evidence")]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A chosen number, read as `T`.
#[derive(Debug)]
pub struct Steering<T> {
    #[cfg(not(feature = "evidence"))]
    value: u64,
    #[cfg(feature = "evidence")]
    value: AtomicU64,
    kind: core::marker::PhantomData<T>,
}

impl<T> Steering<T> {
    /// The number as it was chosen.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self {
            #[cfg(not(feature = "evidence"))]
            value,
            #[cfg(feature = "evidence")]
            value: AtomicU64::new(value),
            kind: core::marker::PhantomData,
        }
    }
}

macro_rules! readable {
    ($($type:ty),*) => {
        $(
            impl Steering<$type> {
                /// The number.
                #[cfg(not(feature = "evidence"))]
                #[inline]
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::unnecessary_cast,
                    reason = "`steering!` takes a value of this type; one of the types is u64"
                )]
                #[must_use]
                pub const fn get(&self) -> $type {
                    self.value as $type
                }

                /// The number as it was set last.
                #[cfg(feature = "evidence")]
                #[inline]
                #[must_use]
                pub fn get(&self) -> $type {
                    <$type>::try_from(self.value.load(Relaxed)).unwrap_or(<$type>::MAX)
                }
            }
        )*
    };
}

readable!(u8, u16, u32, u64);

/// One steering constant, for lists.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Its name in the source.
    pub name: &'static str,
    /// The file that says what it balances.
    pub file: &'static str,
    /// The number as it was chosen.
    pub value: u64,
    #[cfg(feature = "evidence")]
    cell: &'static AtomicU64,
}

impl Constant {
    /// What `steering` holds, which was chosen as `value`.
    #[must_use]
    pub const fn of<T>(
        name: &'static str,
        file: &'static str,
        value: u64,
        steering: &'static Steering<T>,
    ) -> Self {
        #[cfg(not(feature = "evidence"))]
        let _ = steering;
        Self {
            name,
            file,
            value,
            #[cfg(feature = "evidence")]
            cell: &steering.value,
        }
    }

    /// Another number for everything that is decided from now on.
    #[cfg(feature = "evidence")]
    pub fn set(&self, value: u64) {
        self.cell.store(value, Relaxed);
    }
}

/// Defines steering constants, once in a file: `steering! { /// What it balances. NAME: u64 = 32; }`.
/// They are read with `NAME.get()`, and listed in `STEERING` for the `evidence` of their crate.
#[macro_export]
macro_rules! steering {
    ($($(#[$doc:meta])* $visibility:vis $name:ident: $type:ty = $value:expr;)*) => {
        $(
            $crate::steering_constant! {
                $(#[$doc])*
                $visibility $name: $crate::steering::Steering<$type> = {
                    const VALUE: $type = $value;
                    $crate::steering::Steering::new(VALUE as u64)
                }
            }
        )*

        /// The steering constants of this file.
        pub(crate) static STEERING: &[$crate::steering::Constant] = &[$({
            const VALUE: $type = $value;
            $crate::steering::Constant::of(stringify!($name), file!(), VALUE as u64, &$name)
        },)*];
    };
}

/// A constant, or what can be set: the feature of this crate decides it for all that use it.
#[cfg(not(feature = "evidence"))]
#[doc(hidden)]
#[macro_export]
macro_rules! steering_constant {
    ($(#[$doc:meta])* $visibility:vis $name:ident: $type:ty = $value:expr) => {
        $(#[$doc])*
        $visibility const $name: $type = $value;
    };
}

#[cfg(feature = "evidence")]
#[doc(hidden)]
#[macro_export]
macro_rules! steering_constant {
    ($(#[$doc:meta])* $visibility:vis $name:ident: $type:ty = $value:expr) => {
        $(#[$doc])*
        $visibility static $name: $type = $value;
    };
}

pub use steering;
