//! Rules that a machine can check: layers, length of files and functions, words, the size of the public API, links in
//! documents. Each failure names file, line and rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Longer files are rarely one idea.
const FILE_LINES_MAX: usize = 600;
/// Longer functions need a reason, given by a comment `// Long: ...` above them.
const FUNCTION_LINES_MAX: usize = 70;
/// Reachable functions, structs, enums, traits, constants and type aliases, outside `scene` and `internals`.
const PUBLIC_ITEMS_MAX: usize = 150;

/// Every top-level module and the modules it may use. A module may only use modules that stand above it here, so that
/// there are no cycles.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("memory", &[]),
    ("scene", &["base"]),
    ("protocol", &["base"]),
    ("physics", &["base", "scene"]),
    ("scenarios", &["base", "scene"]),
    ("store", &["base", "physics"]),
    ("overlap", &["base", "scene", "physics"]),
    ("islands", &["base", "scene", "physics", "overlap"]),
    ("rigid", &["base", "scene", "protocol", "physics", "islands"]),
    ("runtime", &["base", "scene", "protocol", "physics", "store", "islands", "rigid"]),
    ("entity", &["base", "protocol", "rigid", "runtime"]),
    ("tvht", &["base", "protocol", "rigid", "runtime"]),
    ("gvt", &["base", "protocol", "rigid", "runtime"]),
    ("overlap_bridge", &["base", "scene", "physics", "overlap"]),
    (
        "executor",
        &[
            "base",
            "memory",
            "scene",
            "protocol",
            "physics",
            "store",
            "overlap",
            "islands",
            "rigid",
            "runtime",
            "entity",
            "tvht",
            "gvt",
            "overlap_bridge",
        ],
    ),
    ("record", &["base", "scene"]),
    ("export", &["base", "scene", "physics", "record"]),
    ("render", &["base", "scene", "physics", "record"]),
    ("bench", &["base", "runtime", "executor"]),
    ("verify", &["base", "scene", "protocol", "physics", "store", "rigid", "runtime", "tvht", "executor"]),
    (
        "cli",
        &[
            "base",
            "memory",
            "scene",
            "scenarios",
            "protocol",
            "physics",
            "store",
            "overlap",
            "islands",
            "rigid",
            "runtime",
            "overlap_bridge",
            "executor",
            "record",
            "export",
            "render",
            "bench",
            "verify",
        ],
    ),
];

/// Modules that compute what is committed: they see no clock, actor, file, socket or unordered map.
const PURE: &[&str] =
    &["base", "physics", "store", "protocol", "scenarios", "overlap", "overlap_bridge", "islands", "rigid"];
const BANNED_IN_PURE: &[&str] = &[
    "std::time",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "std::fs",
    "std::net",
    "std::env",
    "mul_add",
    "actix",
];
/// The protocol is free of threads as well, and of everything that two threads could share.
const BANNED_IN_PROTOCOL: &[&str] = &[
    "thread",
    "Mutex",
    "RwLock",
    "Condvar",
    "OnceLock",
    "atomic",
    "boxcar",
    "dashmap",
    "crossbeam",
    "rayon",
    "thread_local",
    "static",
];
const BANNED: &[&str] = &["todo!", "unimplemented!", "dbg!", "FIXME", "#[ignore"];

/// Comments speak of things, not of persons, and in the terms of `docs/glossary.md`.
const BANNED_IN_COMMENTS: &[&str] = &[
    "who",
    "whom",
    "whose",
    "somebody",
    "nobody",
    "everybody",
    "whoever",
    "crew",
    "crews",
    "party",
    "stranger",
    "strangers",
    "portrait",
    "letterbox",
];

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

/// Path from the top of the repository.
fn name_of(path: &Path) -> String {
    path.strip_prefix(repo()).expect("files are in the repository").display().to_string()
}

/// The top-level module of a source file: `src/protocol/history.rs` is in `protocol`, `src/gvt.rs` in `gvt`.
fn module_of(name: &str) -> &str {
    let inside = name.strip_prefix("src/").unwrap_or("");
    inside.split('/').next().unwrap_or("").trim_end_matches(".rs")
}

/// The code of a line and its comment. A `//` inside a text literal counts as code.
fn split_comment(line: &str) -> (&str, &str) {
    let is_comment = |at: usize| line[..at].matches('"').count().is_multiple_of(2);
    match line.match_indices("//").map(|(at, _)| at).find(|at| is_comment(*at)) {
        Some(at) => (&line[..at], &line[at..]),
        None => (line, ""),
    }
}

/// Whether `word` stands in `text` with no letter, digit or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Modules of the crate that a line of code names through `crate::`, in groups as well.
fn used_modules(code: &str) -> Vec<String> {
    let ident =
        |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut used = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or(group);
                used.extend(group.split(',').map(|part| ident(part.trim_start())));
            }
            None => used.push(ident(rest)),
        }
    }
    used.retain(|name| !name.is_empty());
    used
}

/// Files of `base` that hold threads, locks or atomics: the protocol may not use them either.
fn threaded_base() -> BTreeSet<String> {
    let folder = repo().join("src/base");
    let is_threaded = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("source files are readable");
        let words = ["rayon", "Mutex", "AtomicU64", "AtomicBool"];
        text.lines().any(|line| words.iter().any(|word| has_word(split_comment(line).0, word)))
    };
    let stem = |path: &PathBuf| path.file_stem().expect("files have names").to_string_lossy().into_owned();
    rust_files(&folder).iter().filter(|path| is_threaded(path)).map(stem).collect()
}

struct Checker {
    wrong: Vec<String>,
    layers: BTreeMap<&'static str, &'static [&'static str]>,
    threaded_base: BTreeSet<String>,
}

impl Checker {
    fn check(&mut self, path: &Path) {
        let text = fs::read_to_string(path).expect("source files are readable");
        let name = name_of(path);
        let mut fail = |line: usize, rule: String| self.wrong.push(format!("{name}:{}: {rule}", line + 1));
        if !text.starts_with("//!") {
            fail(0, "a file opens with `//!`: what it is".into());
        }
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > FILE_LINES_MAX {
            fail(lines.len(), format!("more than {FILE_LINES_MAX} lines"));
        }
        let module = module_of(&name);
        // Unit tests may build on other layers.
        let is_test_file = name.ends_with("/tests.rs");
        let tests_from = lines.iter().position(|line| line.contains("#[cfg(test)]")).unwrap_or(lines.len());
        let tests_from = if is_test_file { 0 } else { tests_from };
        for (at, line) in lines.iter().enumerate() {
            let (code, comment) = split_comment(line);
            let mut ban = |words: &[&str], why: &str| {
                for word in words.iter().filter(|word| code.contains(**word)) {
                    fail(at, format!("`{word}` {why}"));
                }
            };
            ban(BANNED, "is not left behind");
            if PURE.contains(&module) {
                ban(BANNED_IN_PURE, "has no place in code that decides bits");
            }
            for word in BANNED_IN_COMMENTS.iter().filter(|word| has_word(&comment.to_lowercase(), word)) {
                fail(at, format!("`{word}` in a comment: see docs/glossary.md for the term"));
            }
            if module == "protocol" {
                for word in
                    BANNED_IN_PROTOCOL.iter().filter(|word| has_word(&code.replace("'static", ""), word))
                {
                    fail(at, format!("`{word}` in the protocol, which is free of threads"));
                }
                for base in self.threaded_base.iter().filter(|base| code.contains(&format!("base::{base}"))) {
                    fail(at, format!("`base::{base}` in the protocol, which is free of threads"));
                }
            }
            if let Some(allowed) = self.layers.get(module).filter(|_| at < tests_from) {
                for used in used_modules(code).iter().filter(|used| self.layers.contains_key(used.as_str())) {
                    if used != module && !allowed.contains(&used.as_str()) {
                        fail(at, format!("`{module}` must not use `crate::{used}`: it is not below it"));
                    }
                }
            }
        }
        for (line, length) in long_functions(&lines) {
            fail(
                line,
                format!("a function of {length} lines; split it, or say why above it: `// Long: ...`"),
            );
        }
    }
}

/// Functions that are too long and give no reason: line and length of each.
fn long_functions(lines: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut begun: Option<(usize, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let code = split_comment(line).0;
        if begun.is_none() && has_word(code, "fn") && !code.trim_end().ends_with(';') {
            begun = Some((at, indent));
        }
        if let Some((first, depth)) = begun
            && at > first
            && indent == depth
            && line.trim_start().starts_with('}')
        {
            let reason = lines[..first].iter().rev().take_while(|above| {
                let above = above.trim_start();
                above.starts_with("//") || above.starts_with("#[")
            });
            if at + 1 - first > FUNCTION_LINES_MAX
                && !reason.into_iter().any(|line| line.contains("// Long:"))
            {
                found.push((first, at + 1 - first));
            }
            begun = None;
        }
    }
    found
}

#[test]
fn the_source_keeps_its_rules() {
    let mut checker = Checker {
        wrong: Vec::new(),
        layers: LAYERS.iter().copied().collect(),
        threaded_base: threaded_base(),
    };
    for folder in ["src", "tests", "benches", "examples"] {
        for path in rust_files(&repo().join(folder)) {
            // This file names what it bans.
            if !path.ends_with("tests/tidy.rs") {
                checker.check(&path);
            }
        }
    }
    assert!(checker.wrong.is_empty(), "\n{}\n{} in all", checker.wrong.join("\n"), checker.wrong.len());
}

/// The layers are a table without cycles, and every module is in it.
#[test]
fn layers_have_an_order() {
    for (at, (module, allowed)) in LAYERS.iter().enumerate() {
        for used in *allowed {
            let is_below = LAYERS[..at].iter().any(|(below, _)| below == used);
            assert!(is_below, "`{module}` may use `{used}`, which does not stand above it in the table");
        }
    }
    for path in rust_files(&repo().join("src")) {
        let name = name_of(&path);
        let module = module_of(&name);
        let is_known = ["lib", "main"].contains(&module) || LAYERS.iter().any(|(known, _)| *known == module);
        assert!(is_known, "{name}: `{module}` is in no layer");
    }
}

/// The checks above notice what they are there for.
#[test]
fn the_rules_notice_what_they_ban() {
    assert_eq!(used_modules("use crate::{base::ids, physics};"), ["base", "physics"]);
    assert_eq!(used_modules("let x = crate::runtime::shared::y();"), ["runtime"]);
    assert!(has_word("those whose turn it is", "whose") && !has_word("a crewless ship", "crew"));
    assert_eq!(split_comment("let x = \"http://y\"; // who").1, "// who");
    let long: Vec<String> = (0..FUNCTION_LINES_MAX).map(|n| format!("    call({n});")).collect();
    let text: Vec<&str> =
        ["fn f() {"].into_iter().chain(long.iter().map(String::as_str)).chain(["}"]).collect();
    assert_eq!(long_functions(&text), [(0, FUNCTION_LINES_MAX + 2)]);
    let reasoned: Vec<&str> = ["// Long: one table."].into_iter().chain(text.iter().copied()).collect();
    assert!(long_functions(&reasoned).is_empty());
    let threaded = threaded_base();
    assert!(
        threaded.contains("parallel") && threaded.contains("sync") && !threaded.contains("ids"),
        "{threaded:?}"
    );
}

/// Public items that a module file declares or re-exports, and those of its public submodules.
fn public_items(file: &Path, count: &mut BTreeMap<String, usize>) {
    let text = fs::read_to_string(file).expect("source files are readable");
    let folder = match file.file_name().and_then(|name| name.to_str()) {
        Some("mod.rs" | "lib.rs") => file.parent().expect("files are in folders").to_owned(),
        _ => file.with_extension(""),
    };
    let mut hidden = false;
    let flat = text.replace(",\n", ", ").replace("{\n", "{");
    for line in flat.lines() {
        let is_hidden = std::mem::replace(&mut hidden, line.contains("#[doc(hidden)]"));
        if is_hidden || !line.starts_with("pub ") {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let items = match words[1] {
            "mod" => {
                let name = words[2].trim_end_matches(';');
                let nested = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
                if name != "scene" {
                    nested.iter().filter(|path| path.exists()).for_each(|path| public_items(path, count));
                }
                0
            }
            "use" => line.split_once('{').map_or(1, |(_, list)| list.matches(',').count() + 1),
            "fn" | "struct" | "enum" | "trait" | "const" | "static" | "type" | "unsafe" => 1,
            _ => 0,
        };
        *count.entry(name_of(file)).or_default() += items;
    }
}

#[test]
fn the_public_api_is_small() {
    let mut count = BTreeMap::new();
    public_items(&repo().join("src/lib.rs"), &mut count);
    let all: usize = count.values().sum();
    println!("{all} public items: {count:?}");
    assert!(all > 50, "the count looks at too little: {count:?}");
    assert!(all <= PUBLIC_ITEMS_MAX, "{all} public items, {PUBLIC_ITEMS_MAX} are allowed: {count:?}");
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
