//! Names of public types: who reads `Plan` in one crate should not have to ask whether it is the
//! `Plan` of another.

use std::path::{Component, PathBuf};

use syn::{Item, Visibility};

use super::{Crate, Module};

/// A `pub` struct, enum, union, trait or type alias, whether or not its module lets others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicType {
    /// Its name.
    pub name: String,
    /// The package that defines it.
    pub package: String,
    /// Where, from the folder of the package.
    pub file: PathBuf,
    /// The line of the definition.
    pub line: usize,
}

/// All public types of one crate, module by module. A file of another package that a `#[path]`
/// brings in is that package's.
#[must_use]
pub fn public_types(of: &Crate) -> Vec<PublicType> {
    let mut types = Vec::new();
    let is_own = |module: &&Module| {
        !module
            .file
            .components()
            .any(|part| part == Component::ParentDir)
    };
    for module in of.modules.iter().filter(is_own) {
        for item in &module.items {
            let (vis, name) = match item {
                Item::Enum(item) => (&item.vis, &item.ident),
                Item::Struct(item) => (&item.vis, &item.ident),
                Item::Trait(item) => (&item.vis, &item.ident),
                Item::Type(item) => (&item.vis, &item.ident),
                Item::Union(item) => (&item.vis, &item.ident),
                _ => continue,
            };
            if matches!(vis, Visibility::Public(_)) {
                types.push(PublicType {
                    name: name.to_string(),
                    package: of.package.clone(),
                    file: module.file.clone(),
                    line: name.span().start().line,
                });
            }
        }
    }
    types
}
