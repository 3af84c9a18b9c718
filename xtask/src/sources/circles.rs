//! Files that use each other.
//!
//! A file uses another when it mentions something *defined* there, by whatever path: a re-export is
//! followed to the definition. What does not count:
//!
//! * `mod child;` and `pub use child::Thing;`: a file that only hands on uses nothing. If it also
//!   mentions `Thing` elsewhere, it does.
//! * a module named on the way to a definition.
//! * methods, but for those that one `impl` of a type calls on `self` in an `impl` of the same type
//!   in another file: which file any other `x.step()` leads to is known to the compiler alone.
//! * tests, and links in doc comments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Crate;
use super::methods::calls_between_impls;
use super::resolve::Found;
use super::uses::mentioned;

/// Files that use each other, each from each, directly or by way of others of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The package of the crate.
    pub package: String,
    /// The files, sorted, from the folder of the package.
    pub files: Vec<PathBuf>,
    /// Each use inside the circle: who uses whom, and which names.
    pub uses: Vec<(PathBuf, PathBuf, Vec<String>)>,
}

/// File by file: which it uses, and what of them.
type Graph<'a> = BTreeMap<&'a Path, BTreeMap<&'a Path, BTreeSet<String>>>;

/// The circles of one crate, sorted by their first files.
#[must_use]
pub fn circles(of: &Crate) -> Vec<Circle> {
    let graph = graph(of);
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = graph
        .keys()
        .map(|file| (*file, reach(&graph, file)))
        .collect();
    let mut circles = Vec::new();
    let mut seen: BTreeSet<&Path> = BTreeSet::new();
    for (&file, others) in &reached {
        if seen.contains(file) || !others.contains(file) {
            continue;
        }
        let back = |other: &&&Path| reached.get(**other).is_some_and(|all| all.contains(file));
        let files: Vec<&Path> = others.iter().filter(back).copied().collect();
        seen.extend(&files);
        circles.push(circle(of, &graph, &files));
    }
    circles
}

fn circle(of: &Crate, graph: &Graph<'_>, files: &[&Path]) -> Circle {
    let mut uses = Vec::new();
    for user in files {
        for (used, names) in graph.get(user).into_iter().flatten() {
            if files.contains(used) {
                let names = names.iter().cloned().collect();
                uses.push((user.to_path_buf(), used.to_path_buf(), names));
            }
        }
    }
    Circle {
        package: of.package.clone(),
        files: files.iter().map(|file| file.to_path_buf()).collect(),
        uses,
    }
}

/// All files that `file` uses, directly or by way of others.
fn reach<'a>(graph: &Graph<'a>, file: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        for &used in graph.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(used) {
                open.push(used);
            }
        }
    }
    reached
}

fn graph(of: &Crate) -> Graph<'_> {
    let mut uses = calls_between_impls(of);
    for (number, module) in of.modules.iter().enumerate() {
        let brought = module.imports.iter().filter(|import| !import.handed_on);
        let brought = brought.map(|import| import.path.clone());
        for path in brought.chain(mentioned(&module.items)) {
            for found in of.resolve(number, &path) {
                if let Found::Definition(place, name) = found {
                    uses.push((number, place, name));
                }
            }
        }
    }
    let mut graph = Graph::new();
    for (user, used, name) in uses {
        let (user, used) = (&*of.modules[user].file, &*of.modules[used].file);
        if user != used {
            let uses = graph.entry(user).or_default();
            uses.entry(used).or_default().insert(name);
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Package;

    /// The circles of a crate of these files, as the names of their files.
    fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let package = Package {
            name: "p".to_owned(),
            folder: folder.path().to_owned(),
            roots: Vec::new(),
        };
        let read = Crate::read(&package, &folder.path().join("lib.rs")).expect("a crate");
        let name = |file: &PathBuf| file.to_string_lossy().into_owned();
        let circles = circles(&read).into_iter();
        circles
            .map(|one| one.files.iter().map(name).collect())
            .collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle_by_use_and_by_path() {
        let one = ("one.rs", "use crate::two::Two; pub struct One(Two);");
        let two = (
            "two.rs",
            "pub struct Two; fn f() -> Option<crate::one::One> { None }",
        );
        let found = circles_of(&[("lib.rs", "mod one; mod two;"), one, two]);
        assert_eq!(found, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn a_path_in_the_tokens_of_a_macro_is_a_use() {
        let one = ("one.rs", "use super::two::Two; pub fn one() {}");
        let two = (
            "two.rs",
            "pub struct Two; fn f() { println!(\"{:?}\", super::one::one()); }",
        );
        let found = circles_of(&[("lib.rs", "mod one; mod two;"), one, two]);
        assert_eq!(found, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn a_parent_that_hands_on_does_not_use_its_child() {
        let parent = "mod child; pub use child::Child; pub struct Shared;";
        let child = ("child.rs", "use super::Shared; pub struct Child(Shared);");
        assert!(circles_of(&[("lib.rs", parent), child]).is_empty());
    }

    #[test]
    fn a_parent_that_hands_on_and_mentions_uses_its_child() {
        let parent = "mod child; pub use child::Child; pub struct Shared; fn f(_: Child) {}";
        let child = ("child.rs", "use super::Shared; pub struct Child(Shared);");
        let found = circles_of(&[("lib.rs", parent), child]);
        assert_eq!(found, [["child.rs", "lib.rs"]]);
    }

    #[test]
    fn what_a_neighbour_hands_on_is_used_where_it_is_defined() {
        let lib = "mod one; mod two; pub use one::One;";
        let one = ("one.rs", "pub struct One; fn f(_: super::two::Two) {}");
        let two = ("two.rs", "use super::One; pub struct Two(One);");
        let found = circles_of(&[("lib.rs", lib), one, two]);
        assert_eq!(found, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn what_comes_by_a_star_is_used_where_it_is_mentioned() {
        let one = ("one.rs", "use super::two::*; pub struct One(Two);");
        let two = ("two.rs", "pub struct Two; fn f(_: crate::one::One) {}");
        let found = circles_of(&[("lib.rs", "mod one; mod two;"), one, two]);
        assert_eq!(found, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn a_type_whose_halves_call_each_other_is_a_circle() {
        let one = (
            "one.rs",
            "pub struct One; impl One { fn a(&self) { self.b() } }",
        );
        let two = (
            "two.rs",
            "use crate::one::One; impl One { pub(crate) fn b(&self) {} }",
        );
        let found = circles_of(&[("lib.rs", "mod one; mod two;"), one, two]);
        assert_eq!(found, [["one.rs", "two.rs"]]);
    }

    #[test]
    fn a_method_of_another_type_is_followed_nowhere() {
        let one = ("one.rs", "pub struct One; fn f(a: &str) { a.b() }");
        let two = (
            "two.rs",
            "use crate::one::One; impl One { pub(crate) fn b(&self) {} }",
        );
        assert!(circles_of(&[("lib.rs", "mod one; mod two;"), one, two]).is_empty());
    }

    #[test]
    fn tests_may_use_everything() {
        let one = (
            "one.rs",
            "pub struct One; #[cfg(test)] mod tests { use crate::two::Two; }",
        );
        let two = ("two.rs", "pub struct Two(crate::one::One);");
        assert!(circles_of(&[("lib.rs", "mod one; mod two;"), one, two]).is_empty());
    }
}
