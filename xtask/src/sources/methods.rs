//! Methods of a type whose `impl` blocks stand in several files: `self.step()` in one of them leads
//! to the file of the other. Only calls on `self` and `Self` are followed: there the type is known
//! without a compiler.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Expr, ImplItem, Item, ItemImpl, Type};

use super::Crate;
use super::resolve::Found;

/// A definition: its module, and its name.
type Definition = (usize, String);

/// Each call of a method from another module's `impl` of the same type: where it is called, where
/// the method stands, and its name.
pub(super) fn calls_between_impls(of: &Crate) -> Vec<(usize, usize, String)> {
    let mut homes: BTreeMap<(Definition, String), usize> = BTreeMap::new();
    for (module, definition, item) in impls(of) {
        let own = item.items.iter().filter(|_| item.trait_.is_none());
        for part in own {
            if let ImplItem::Fn(method) = part {
                let key = (definition.clone(), method.sig.ident.to_string());
                homes.insert(key, module);
            }
        }
    }
    let mut calls = Vec::new();
    for (module, definition, item) in impls(of) {
        let mut finder = Finder::default();
        finder.visit_item_impl(item);
        for name in finder.called {
            let key = (definition.clone(), name);
            if let Some(&home) = homes.get(&key).filter(|home| **home != module) {
                calls.push((module, home, key.1));
            }
        }
    }
    calls
}

/// Every `impl` of a type of this crate.
fn impls(of: &Crate) -> impl Iterator<Item = (usize, Definition, &ItemImpl)> {
    let numbered = of.modules.iter().enumerate();
    numbered.flat_map(move |(number, module)| {
        module.items.iter().filter_map(move |item| match item {
            Item::Impl(item) => Some((number, definition(of, number, &item.self_ty)?, item)),
            _ => None,
        })
    })
}

fn definition(of: &Crate, module: usize, named: &Type) -> Option<Definition> {
    let Type::Path(path) = named else {
        return None;
    };
    let words = path.path.segments.iter().map(|part| part.ident.to_string());
    let found = of.resolve(module, &words.collect::<Vec<_>>());
    found.into_iter().find_map(|found| match found {
        Found::Definition(place, name) => Some((place, name)),
        Found::Module(_) => None,
    })
}

#[derive(Default)]
struct Finder {
    called: Vec<String>,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self")) {
            self.called.push(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut parts = path.segments.iter();
        if let (Some(first), Some(second)) = (parts.next(), parts.next())
            && first.ident == "Self"
        {
            self.called.push(second.ident.to_string());
        }
        visit::visit_path(self, path);
    }
}
