//! Rules of the house that a machine can check. Each failure names file, line and rule.

use std::fs;
use std::path::{Path, PathBuf};

/// Longer files are rarely one idea.
const FILE_LINES_MAX: usize = 600;

/// Modules that compute what is committed: they see no clock, thread, actor, file, socket or unordered map.
const PURE: &[&str] = &[
    "ids",
    "time",
    "math",
    "state",
    "frame",
    "digest",
    "physics",
    "protocol",
    "scenarios",
    "solver",
    "overlap",
    "overlap_bridge",
    "bridge",
];
const BANNED_IN_PURE: &[&str] = &[
    "std::thread",
    "std::time",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "std::fs",
    "std::net",
    "std::env",
    "mul_add",
    "rayon",
    "actix",
];
const BANNED: &[&str] = &["todo!(", "unimplemented!(", "dbg!(", "FIXME", "#[ignore"];

/// The physics knows nothing of those who use it.
const PHYSICS_MUST_NOT_USE: &[&str] =
    &["crate::cli", "crate::executor", "crate::export", "crate::record", "crate::render", "crate::scenarios"];

fn repo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder exists") {
            let path = entry.expect("the folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn check(path: &Path, text: &str) -> Vec<String> {
    let name = path.strip_prefix(repo()).expect("files are in the repository").display().to_string();
    let module =
        name.strip_prefix("src/").unwrap_or("").split('/').next().unwrap_or("").trim_end_matches(".rs");
    let mut wrong = Vec::new();
    let mut fail = |line: usize, rule: String| wrong.push(format!("{name}:{}: {rule}", line + 1));
    if !text.starts_with("//!") {
        fail(0, "a file opens with `//!`: what it is".into());
    }
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() > FILE_LINES_MAX {
        fail(lines.len(), format!("more than {FILE_LINES_MAX} lines"));
    }
    for (at, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        let mut ban = |words: &[&str], why: &str| {
            for word in words.iter().filter(|word| code.contains(**word)) {
                fail(at, format!("`{word}` {why}"));
            }
        };
        ban(BANNED, "is not left behind");
        if PURE.contains(&module) {
            ban(BANNED_IN_PURE, "has no place in code that decides bits");
        }
        if module == "physics" {
            ban(PHYSICS_MUST_NOT_USE, "stands above the physics");
        }
    }
    wrong
}

#[test]
fn the_source_keeps_the_rules_of_the_house() {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for path in rust_files(&repo().join(folder)) {
            // This file names what it bans.
            if !path.ends_with("tests/tidy.rs") {
                wrong.extend(check(&path, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// README, ARCHITECTURE, CHANGELOG and every page of `docs/`, as paths from the top of the repository.
fn documents() -> Vec<String> {
    let mut documents: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(String::from).into();
    for entry in fs::read_dir(repo().join("docs")).expect("there is documentation") {
        let name = entry.expect("the folder is readable").file_name().into_string().expect("names are UTF-8");
        if name.ends_with(".md") {
            documents.push(format!("docs/{name}"));
        }
    }
    documents.sort();
    documents
}

/// Maps rot silently: every link and every path that a document names must exist.
#[test]
fn paths_in_documents_exist() {
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(repo().join(&document)).unwrap();
        let file = repo().join(&document);
        let folder = file.parent().expect("a file is in a folder");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or("");
            if !target.starts_with("http") && !folder.join(path).exists() {
                missing.push(format!("{document} links to {target}: no such file"));
            }
        }
        let quoted = text.split('`').skip(1).step_by(2);
        let folders = ["src/", "tests/", "benches/", "docs/", "scenes/"];
        for path in quoted.filter(|quoted| folders.iter().any(|folder| quoted.starts_with(folder))) {
            if !repo().join(path).exists() {
                missing.push(format!("{document} names `{path}`, which does not exist"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}\n", missing.join("\n"));
}
