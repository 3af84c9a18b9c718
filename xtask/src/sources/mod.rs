//! The source tree as data: which crates there are, which modules each is made of, what they define
//! and bring in. Read with `syn`, so that a comment or a text is never taken for code.
//!
//! What only tests see is left out: whatever stands under `#[cfg(test)]` or `#[test]`.

mod circles;
mod methods;
mod resolve;
mod spoken;
mod types;
mod uses;

pub use circles::{Circle, circles};
pub use spoken::{Rule, Spoken, spoken};
pub use types::{PublicType, public_types};

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, UseTree, Visibility};

use crate::cargo::{Package, root};

/// One library or program, as a tree of modules.
pub struct Crate {
    /// The package that it belongs to.
    pub package: String,
    /// Its modules; the first is the crate's root.
    pub modules: Vec<Module>,
}

/// One module: a file, or a part of one.
pub struct Module {
    /// The file, from the folder of the package.
    pub file: PathBuf,
    /// The module around it; `None` for the root.
    pub parent: Option<usize>,
    /// Modules in it by name.
    pub children: BTreeMap<String, usize>,
    /// Names of what it defines.
    pub definitions: BTreeSet<String>,
    /// What it brings in by `use`.
    pub imports: Vec<Import>,
    /// Its items, modules and tests left out.
    pub items: Vec<Item>,
}

/// One name that a `use` brings in.
#[derive(Debug)]
pub struct Import {
    /// The name it has here; `None` for `*`.
    pub name: Option<String>,
    /// Where it comes from, as written.
    pub path: Vec<String>,
    /// Whether it is handed on: `pub use`, also with a restriction.
    pub handed_on: bool,
}

impl Crate {
    /// Reads the crate that begins with `file`, a path from the root of the work tree.
    ///
    /// # Errors
    /// A file that is not there, or is no Rust.
    pub fn read(package: &Package, file: &Path) -> io::Result<Self> {
        let mut read = Self {
            package: package.name.clone(),
            modules: Vec::new(),
        };
        let tree = Reader {
            folder: root().join(&package.folder),
        };
        let file = root().join(file);
        let folder = file.parent().unwrap_or(&file).to_owned();
        tree.add_file(&mut read, None, &file, &folder)?;
        Ok(read)
    }

    /// Reads all crates of these packages.
    ///
    /// # Errors
    /// A file that is not there, or is no Rust.
    pub fn read_all(packages: &[Package]) -> io::Result<Vec<Self>> {
        let roots = packages.iter().flat_map(|package| {
            let roots = package.roots.iter();
            roots.map(move |file| Self::read(package, file))
        });
        roots.collect()
    }
}

/// Follows `mod` from file to file.
struct Reader {
    folder: PathBuf,
}

impl Reader {
    /// Adds the module of `file`, whose children have their files in `folder`.
    fn add_file(
        &self,
        read: &mut Crate,
        parent: Option<usize>,
        file: &Path,
        folder: &Path,
    ) -> io::Result<usize> {
        let at = |error: String| io::Error::other(format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| at(error.to_string()))?;
        let parsed = syn::parse_file(&text).map_err(|error| at(error.to_string()))?;
        self.add_items(read, parent, (file, folder), parsed.items)
    }

    fn add_items(
        &self,
        read: &mut Crate,
        parent: Option<usize>,
        (file, folder): (&Path, &Path),
        items: Vec<Item>,
    ) -> io::Result<usize> {
        let here = read.modules.len();
        read.modules.push(Module {
            file: file.strip_prefix(&self.folder).unwrap_or(file).to_owned(),
            parent,
            children: BTreeMap::new(),
            definitions: BTreeSet::new(),
            imports: Vec::new(),
            items: Vec::new(),
        });
        for item in items {
            if is_test(attributes(&item)) {
                continue;
            }
            let Item::Mod(module) = item else {
                read.modules[here].add(item);
                continue;
            };
            let name = module.ident.to_string();
            let inner = folder.join(&name);
            let elsewhere = path_of(&module.attrs);
            let child = match (module.content, elsewhere) {
                (Some((_, items)), _) => self.add_items(read, Some(here), (file, &inner), items)?,
                (None, Some(path)) => {
                    let file = file.parent().unwrap_or(folder).join(path);
                    let folder = file.parent().unwrap_or(folder).to_owned();
                    self.add_file(read, Some(here), &file, &folder)?
                }
                (None, None) => {
                    let beside = folder.join(format!("{name}.rs"));
                    let inside = inner.join("mod.rs");
                    let file = if beside.exists() { beside } else { inside };
                    self.add_file(read, Some(here), &file, &inner)?
                }
            };
            read.modules[here].children.insert(name, child);
        }
        Ok(here)
    }
}

impl Module {
    fn add(&mut self, item: Item) {
        if let Some(name) = defined(&item) {
            self.definitions.insert(name);
        }
        if let Item::Use(item) = &item {
            let handed_on = !matches!(item.vis, Visibility::Inherited);
            imports(&item.tree, &mut Vec::new(), handed_on, &mut self.imports);
        }
        self.items.push(item);
    }
}

/// The names that a tree of `use` brings in.
fn imports(tree: &UseTree, path: &mut Vec<String>, handed_on: bool, found: &mut Vec<Import>) {
    let mut add = |name: Option<String>, path: Vec<String>| {
        found.push(Import {
            name,
            path,
            handed_on,
        });
    };
    let below = |path: &[String], name: String| [path, &[name]].concat();
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            imports(&part.tree, path, handed_on, found);
            path.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                imports(tree, path, handed_on, found);
            }
        }
        // `use a::{self}` is `use a`.
        UseTree::Name(name) if name.ident == "self" => add(path.last().cloned(), path.clone()),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            add(Some(name.clone()), below(path, name));
        }
        UseTree::Rename(renamed) if renamed.ident == "self" => {
            add(Some(renamed.rename.to_string()), path.clone());
        }
        UseTree::Rename(renamed) => {
            let path = below(path, renamed.ident.to_string());
            add(Some(renamed.rename.to_string()), path);
        }
        UseTree::Glob(_) => add(None, path.clone()),
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The file that `#[path = "…"]` names.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(value) => match &value.lit {
                    syn::Lit::Str(path) => Some(path.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}

/// Whether only tests see what bears these attributes.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test_alone = |tokens: &dyn ToString| tokens.to_string() == "test";
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && matches!(&attribute.meta, syn::Meta::List(list) if is_test_alone(&list.tokens))
    })
}
