//! Plans: those of the tree are sound, and a mistake in one is answered with its place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ahead_study::plan::{CEILING, FLOOR, KERNEL, PATCHED, Plan};
use ahead_study::results::{CONTENDER, is_kernel_default};

fn plans_of_the_tree() -> Vec<(PathBuf, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of plans")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let plan = Plan::read(&path).unwrap_or_else(|error| panic!("{error}"));
        (path, plan)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_plan_of_the_tree_can_be_read_and_is_called_like_its_file() {
    let plans = plans_of_the_tree();
    assert!(plans.len() >= 20, "{}", plans.len());
    for (path, plan) in &plans {
        assert_eq!(path.file_stem(), Some(plan.name.as_ref()));
        assert!(plan.about.ends_with('.'), "{}: a sentence", plan.name);
    }
}

#[test]
fn every_plan_of_the_tree_holds_our_policy_against_several_kernels() {
    for (_, plan) in plans_of_the_tree() {
        let policies = plan.all_policies();
        assert!(
            policies.iter().any(|policy| policy == CONTENDER),
            "{}",
            plan.name
        );
        let kernels = policies.iter().filter(|policy| is_kernel_default(policy));
        assert!(kernels.count() >= 5, "{}", plan.name);
    }
}

const SOUND: &str = "\
name = \"small\"
about = \"One line.\"
disks = [\"hdd\", \"ssd\"]
memory-mib = [16, 32]
policies = [\"adaptive\", \"linux-4.19\"]

[workload.scan]
kind = \"sequential\"
file-mib = 4
read-kib = 64
";

fn refusal(text: &str) -> String {
    let read = Plan::from_toml(text, Path::new("/no/such/folder"), "plan 'x.toml'");
    read.expect_err("a mistake").to_string()
}

#[track_caller]
fn assert_refused(from: &str, to: &str, line: usize, said: &str) {
    let text = SOUND.replace(from, to);
    assert_ne!(text, SOUND, "'{from}' is in the plan");
    let refusal = refusal(&text);
    let place = format!("plan 'x.toml', line {line}: ");
    assert!(refusal.starts_with(&place), "{place} in: {refusal}");
    assert!(refusal.contains(said), "{said} in: {refusal}");
}

#[test]
fn floor_kernel_and_ceiling_stand_in_every_plan_and_no_cell_twice() {
    let text = SOUND.replace("\"ssd\"", "\"hdd\"").replace(
        "\"linux-4.19\"",
        "\" adaptive\", \"oracle\", \"none\", \"linux-6.18\"",
    );
    let plan = Plan::from_toml(&text, Path::new(""), "a plan").expect("a plan");
    assert_eq!(plan.all_policies(), [FLOOR, KERNEL, CONTENDER, CEILING]);
    let cells = plan.cells();
    assert_eq!(cells.len(), 2 * 4);
    assert_eq!(cells.iter().collect::<BTreeSet<_>>().len(), cells.len());
}

#[test]
fn a_mistake_is_answered_with_its_line() {
    assert_refused("memory-mib", "memory_mib", 4, "memory_mib");
    assert_refused("name = \"small\"", "name = small", 1, "");
    assert_refused("\"ssd\"", "\"sdd\"", 3, "sdd");
    assert_refused("[16, 32]", "[16, 0]", 4, "0 is not from 1");
    assert_refused("\"linux-4.19\"", "\"linux-4.18\"", 5, "linux-4.19");
    assert_refused("\"adaptive\"", "\"adaptive:ratio=x\"", 5, "ratio");
    assert_refused("sequential", "sequentail", 8, "sequentail");
    assert_refused("read-kib = 64", "read_kib = 64", 7, "read-kib");
    assert_refused("read-kib = 64", "read-kib = 0", 7, "read-kib = 0");
    assert_refused("read-kib = 64", "", 7, "read-kib");
}

#[test]
fn what_is_not_there_is_named_before_anything_runs() {
    let trace = format!("{SOUND}\n[trace.recorded]\npath = \"gone.csv\"\n");
    let said = refusal(&trace);
    assert!(
        said.contains("line 12") && said.contains("gone.csv"),
        "{said}"
    );
    let format = trace.replace("path", "from = \"fiio\"\npath");
    assert!(refusal(&format).contains("fiio"), "{}", refusal(&format));
    let disk = SOUND.replace("\"ssd\"", "\"mine.toml\"");
    assert!(refusal(&disk).contains("/no/such/folder/mine.toml"));
    let twice = format!("{SOUND}\n[trace.scan]\npath = \"gone.csv\"\n");
    assert!(refusal(&twice).contains("of a workload and of a trace"));
}

#[test]
fn a_plan_without_work_is_none() {
    let (head, _) = SOUND.split_once("[workload").expect("a workload");
    let said = refusal(head);
    assert!(said.contains("workload: at least one"), "{said}");
    let said = refusal(&SOUND.replace("[\"hdd\", \"ssd\"]", "[]"));
    assert!(said.contains("line 3: disks"), "{said}");
}

#[test]
fn a_disk_model_beside_the_plan_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = ahead_disk_model::DiskModel::hdd().to_toml().expect("text");
    fs::write(folder.path().join("mine.toml"), model).expect("a writable folder");
    let path = folder.path().join("plan.toml");
    fs::write(&path, SOUND.replace("\"ssd\"", "\"mine.toml\"")).expect("a writable folder");
    let plan = Plan::read(&path).expect("a plan");
    assert_eq!(plan.disk("mine.toml").ok(), plan.disk("hdd").ok());
}

#[test]
fn the_plan_of_the_guide_is_one() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/simulate.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let (_, block) = guide.split_once("```toml\n").expect("a plan");
    let (text, _) = block.split_once("```").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let model = ahead_disk_model::DiskModel::ssd().to_toml().expect("text");
    fs::write(folder.path().join("mine.toml"), model).expect("a writable folder");
    fs::write(folder.path().join("database.csv"), "").expect("a writable folder");
    let plan = Plan::from_toml(text, folder.path(), "the guide").expect("a plan");
    assert_eq!(plan.cells().len(), 2 * 2 * 2 * 6);
}

/// The simulator has no policy of that name: a plan with it would end in the middle of a sweep.
#[test]
fn the_kernel_series_is_a_policy_of_guests_alone() {
    let mut plan = Plan::from_toml(SOUND, Path::new("."), "small").expect("a plan");
    plan.policies.push(PATCHED.to_owned());
    let error = plan.check().unwrap_err().to_string();
    assert!(error.contains("patched"), "{error}");
    plan.check_for_guests().expect("guests have it");
    plan.policies.push("patched:ratio=1".to_owned());
    assert!(plan.check_for_guests().is_err());
}
