//! From a path to where the thing is defined, through modules, `use` and re-exports. Paths that
//! lead out of the crate lead nowhere.

use super::{Crate, Import};

/// A chain of re-exports longer than this goes in a circle.
const STEPS_MAX: u32 = 24;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A definition in this module.
    Definition(usize, String),
    /// A module.
    Module(usize),
}

impl Crate {
    /// What `path`, written in `module`, leads to. A name may be a module and a function at once.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Vec<Found> {
        self.follow(module, path, STEPS_MAX)
    }

    fn follow(&self, module: usize, path: &[String], steps: u32) -> Vec<Found> {
        let (Some(steps), Some(first)) = (steps.checked_sub(1), path.first()) else {
            return Vec::new();
        };
        let rest = &path[1..];
        match first.as_str() {
            "crate" | "$crate" => self.walk(0, rest, steps),
            "self" => self.walk(module, rest, steps),
            "super" => match self.modules[module].parent {
                // `super::super::x` is `super::x` seen from the parent.
                Some(parent) if rest.first().is_some_and(|word| word == "super") => {
                    self.follow(parent, rest, steps)
                }
                Some(parent) => self.walk(parent, rest, steps),
                None => Vec::new(),
            },
            _ => {
                let here = self.walk(module, path, steps);
                if here.is_empty() && rest.is_empty() {
                    return self.macro_around(module, first);
                }
                here
            }
        }
    }

    /// What `path` leads to inside `module`.
    fn walk(&self, module: usize, path: &[String], steps: u32) -> Vec<Found> {
        let Some(name) = path.first() else {
            return vec![Found::Module(module)];
        };
        let here = &self.modules[module];
        let mut found = Vec::new();
        if let Some(&child) = here.children.get(name) {
            if path.len() > 1 {
                return self.walk(child, &path[1..], steps);
            }
            found.push(Found::Module(child));
        }
        if here.definitions.contains(name) {
            found.push(Found::Definition(module, name.clone()));
        }
        let is_named = |import: &&Import| import.name.as_ref() == Some(name);
        for import in here.imports.iter().filter(is_named) {
            found.extend(self.through(module, import, &path[1..], steps));
        }
        if found.is_empty() {
            for import in here.imports.iter().filter(|import| import.name.is_none()) {
                found.extend(self.through(module, import, path, steps));
            }
        }
        found.dedup();
        found
    }

    /// What `rest` leads to inside that which `import` brings.
    fn through(&self, module: usize, import: &Import, rest: &[String], steps: u32) -> Vec<Found> {
        let Some(steps) = steps.checked_sub(1) else {
            return Vec::new();
        };
        let brought = match self.modules[module].children.get(&import.path[0]) {
            // A child's name, and not the name of the import itself, which may be the same word.
            Some(&child) => self.walk(child, &import.path[1..], steps),
            None if self.is_itself(import) => Vec::new(),
            None => self.follow(module, &import.path, steps),
        };
        let inside = |found: Found| match found {
            Found::Module(inner) => self.walk(inner, rest, steps),
            // What follows a definition is a variant, or belongs to a type. `use Kind::*` brings
            // variants: any word may be one, so none is followed.
            Found::Definition(..) if import.name.is_none() => Vec::new(),
            Found::Definition(..) => vec![found],
        };
        brought.into_iter().flat_map(inside).collect()
    }

    /// `use serde::x as serde`, or `use name`: of another crate.
    fn is_itself(&self, import: &Import) -> bool {
        import.name.as_ref() == import.path.first()
    }

    /// A `macro_rules!` is seen in all modules below its own.
    fn macro_around(&self, module: usize, name: &str) -> Vec<Found> {
        let mut around = self.modules[module].parent;
        while let Some(module) = around {
            let here = &self.modules[module];
            let is_macro = |item: &syn::Item| {
                matches!(item, syn::Item::Macro(item)
                    if item.ident.as_ref().is_some_and(|ident| ident == name))
            };
            if here.items.iter().any(is_macro) {
                return vec![Found::Definition(module, name.to_owned())];
            }
            around = here.parent;
        }
        Vec::new()
    }
}
