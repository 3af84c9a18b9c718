//! Every path that the items of a module mention: in signatures, in bodies, and in the tokens of
//! macros and attributes, which are read as far as words joined by `::` go.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item};

/// A path as written, word by word.
pub(super) type Words = Vec<String>;

/// The paths that `items` mention; those of `use` declarations are not among them.
pub(super) fn mentioned(items: &[Item]) -> Vec<Words> {
    let mut finder = Finder::default();
    for item in items {
        finder.visit_item(item);
    }
    finder.found
}

#[derive(Default)]
struct Finder {
    found: Vec<Words>,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words = path.segments.iter().map(|part| part.ident.to_string());
        self.found.push(words.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.add_tokens(called.tokens.clone(), 1);
        visit::visit_macro(self, called);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.add_tokens(item.mac.tokens.clone(), 1);
        visit::visit_item_macro(self, item);
    }

    /// Single words in attributes are their keys.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone(), 2);
        }
    }
}

impl Finder {
    /// Adds the paths of at least `words_min` words in `tokens`.
    fn add_tokens(&mut self, tokens: TokenStream, words_min: usize) {
        let mut words = Words::new();
        let mut colons = 0;
        let mut follows_dot = false;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if colons == 2 || words.is_empty() => {
                    if !follows_dot {
                        words.push(word.to_string());
                    }
                    (colons, follows_dot) = (0, false);
                    continue;
                }
                TokenTree::Ident(word) => {
                    self.end(&mut words, words_min);
                    words.push(word.to_string());
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !words.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Punct(mark) => {
                    self.end(&mut words, words_min);
                    follows_dot = mark.as_char() == '.';
                    colons = 0;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end(&mut words, words_min);
                    self.add_tokens(group.stream(), words_min);
                }
                TokenTree::Literal(_) => self.end(&mut words, words_min),
            }
            (colons, follows_dot) = (0, false);
        }
        self.end(&mut words, words_min);
    }

    fn end(&mut self, words: &mut Words, words_min: usize) {
        let words = std::mem::take(words);
        if !words.is_empty() && words.len() >= words_min {
            self.found.push(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).expect("Rust");
        let found = mentioned(&file.items);
        found.iter().map(|words| words.join("::")).collect()
    }

    #[test]
    fn paths_are_found_in_bodies_macros_and_attributes() {
        let found = found(
            "#[arg(value_parser = crate::size::parse, default)]
            fn f(a: super::A) { assert!(self::b(a.c()) == d::E, \"{}\", g); }",
        );
        for path in ["crate::size::parse", "super::A", "self::b", "d::E", "g"] {
            assert!(found.iter().any(|one| one == path), "{path} in {found:?}");
        }
        for no_path in ["c", "default"] {
            assert!(found.iter().all(|one| one != no_path), "{found:?}");
        }
    }

    #[test]
    fn one_colon_joins_no_words() {
        let found = found("fn f() { m!(a: b, c::d : e); }");
        assert!(found.contains(&"c::d".to_owned()), "{found:?}");
        assert!(!found.contains(&"a::b".to_owned()), "{found:?}");
    }
}
