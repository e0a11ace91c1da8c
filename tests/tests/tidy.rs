//! Walks the tree as a reviewer would: what the project promises about its own source is checked here, by reading it.

use std::fs;
use std::path::{Path, PathBuf};

/// Files that may be long, each with its reason.
const LONG: &[(&str, &str)] = &[("core/src/program/analyse.rs", "one analysis, whose stages fill the same tables")];
/// Lines of non-test code beyond which a file is looked at for its second idea.
const LINES_MAX: usize = 700;

/// Files that may panic, each with its reason.
const PANICS: &[(&str, &str)] = &[("core/src/ops/pick.rs", "runs in the compiler, which is what reports it")];

/// Where unsafe code may stand: directories and files, each with its reason.
const UNSAFE: &[(&str, &str)] = &[
    ("kernels/src/", "SIMD intrinsics and the split of slices over threads"),
    ("core/src/", "the counted buffer under tensors"),
    ("transports/host/src/pool.rs", "a borrowed task is lent to worker threads for the length of one call"),
    ("tests/edge/board/src/heap.rs", "the board's allocator"),
    ("tests/tests/steady_state.rs", "an allocator that counts"),
    ("tests/tests/wire_scan.rs", "an allocator that counts"),
    ("tests/tests/no_allocation.rs", "an allocator that counts"),
];
/// Crates without `forbid(unsafe_code)`: those that own a place named in `UNSAFE`.
const CRATES_WITH_UNSAFE: &[&str] = &["kernels", "core", "transports/host", "tests/edge/board"];

#[test]
fn core_and_kernels_never_name_std() {
    let found = in_rust_files(&["core/src", "kernels/src"], |_, line| {
        let named = names(line, "std").any(|rest| rest.starts_with("::") || rest.starts_with(';'));
        named.then(|| "names std".to_owned())
    });
    assert_none(found);
}

/// Indexing is left to fuzzing; these say outright that a panic was thought of.
#[test]
fn nothing_panics_on_purpose() {
    let words = [".unwrap()", ".unwrap_err()", ".expect(", "panic!(", "unreachable!("];
    let found = in_rust_files(&["core/src", "kernels/src", "transports"], |file, line| {
        let named = words.iter().find(|w| line.contains(**w))?;
        (!PANICS.iter().any(|(name, _)| *name == shown(file))).then(|| format!("calls {named}"))
    });
    assert_none(found);
}

#[test]
fn no_stubs_and_no_silenced_tests() {
    // The words are cut in two so that this file does not find itself.
    let words = [
        concat!("todo", "!"),
        concat!("unimplemented", "!"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("#[ig", "nore"),
    ];
    let mut found = Vec::new();
    for file in files() {
        let text = read(&file);
        for (i, line) in text.lines().enumerate() {
            found.extend(words.iter().filter(|w| line.contains(**w)).map(|w| at(&file, i, &format!("says {w}"))));
        }
    }
    assert_none(found);
}

#[test]
fn every_rust_file_begins_with_its_idea() {
    let found = rust_files().into_iter().filter_map(|file| {
        let text = read(&file);
        let mut lines =
            text.lines().skip_while(|l| l.starts_with("#!/") || (l.starts_with("//") && !l.starts_with("//!")));
        let first = lines.next().unwrap_or_default();
        let says = first.strip_prefix("//!").is_some_and(|rest| rest.trim().len() > 8);
        (!says).then(|| at(&file, 0, "does not begin with a `//!` line"))
    });
    assert_none(found.collect());
}

#[test]
fn files_hold_one_idea() {
    let mut found = Vec::new();
    for file in rust_files().into_iter().filter(|f| !is_test_file(f) && !is_generated(f)) {
        let lines = code(&read(&file)).len();
        if lines > LINES_MAX && !LONG.iter().any(|(name, _)| *name == shown(&file)) {
            found.push(format!("{}: {lines} lines without its tests; the limit is {LINES_MAX}", shown(&file)));
        }
    }
    assert_none(found);
}

#[test]
fn no_paths_of_a_machine() {
    let mut words = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")].map(str::to_owned).to_vec();
    // The directory around the checkout, unless it is one that every machine has.
    if let Some(around) = root().parent().filter(|p| p.components().count() > 2) {
        words.push(format!("{}/", around.display()));
    }
    let mut found = Vec::new();
    for file in files() {
        for (i, line) in read(&file).lines().enumerate() {
            found.extend(words.iter().filter(|w| line.contains(*w)).map(|w| at(&file, i, &format!("names {w}"))));
            if line.contains(concat!("../sha", "red")) && shown(&file) != ".ci/run" {
                found.push(at(&file, i, "names what only .ci/run may name"));
            }
        }
    }
    assert_none(found);
}

#[test]
fn unsafe_stands_where_it_is_expected_and_has_its_proof() {
    let mut found = Vec::new();
    for dir in crates() {
        if CRATES_WITH_UNSAFE.contains(&dir.as_str()) {
            continue;
        }
        for name in ["src/lib.rs", "src/main.rs"] {
            let file = root().join(&dir).join(name);
            if file.exists() && !read(&file).contains("#![forbid(unsafe_code)]") {
                found.push(format!("{dir}/{name}: no forbid(unsafe_code)"));
            }
        }
    }
    for file in rust_files() {
        let name = shown(&file);
        let text = read(&file);
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let opens = names(without_comment(line), "unsafe")
                .any(|rest| rest.trim_start().starts_with('{') || rest.trim_start().starts_with("impl"));
            if !opens {
                continue;
            }
            if !UNSAFE.iter().any(|(place, _)| name.starts_with(place)) {
                found.push(at(&file, i, "unsafe outside the named places"));
            }
            let proved = lines[i.saturating_sub(8)..=i].iter().any(|l| l.contains("SAFETY:"));
            if !proved && !proved_for_the_item(&lines[..i]) {
                found.push(at(&file, i, "unsafe without a SAFETY comment above it"));
            }
        }
    }
    assert_none(found);
}

#[test]
fn versions_and_lints_come_from_the_workspace() {
    let mut found = Vec::new();
    for dir in crates() {
        let file = root().join(&dir).join("Cargo.toml");
        let text = read(&file);
        if !section(&text, "lints").iter().any(|l| l.replace(' ', "") == "workspace=true") {
            found.push(format!("{dir}/Cargo.toml: lints are not the workspace's"));
        }
        for (header, lines) in sections(&text) {
            if !header.ends_with("dependencies") {
                continue;
            }
            found.extend(
                entries(&lines)
                    .into_iter()
                    .filter(|e| !e.replace(' ', "").contains("workspace=true"))
                    .map(|e| format!("{dir}/Cargo.toml: `{}` does not take its version from the workspace", e.trim())),
            );
        }
    }
    assert_none(found);
}

#[test]
fn excluded_workspaces_copy_the_lints() {
    let ours = read(&root().join("Cargo.toml"));
    for other in ["tests/edge/Cargo.toml", "tests/fuzz/Cargo.toml"] {
        let file = root().join(other);
        if !file.exists() {
            continue;
        }
        for lints in ["workspace.lints.rust", "workspace.lints.clippy"] {
            assert_eq!(section(&read(&file), lints), section(&ours, lints), "[{lints}] in {other}");
        }
    }
}

#[test]
fn links_between_pages_resolve() {
    let mut found = Vec::new();
    for file in files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "md")) {
        let mut fenced = false;
        for (i, line) in read(&file).lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                continue;
            }
            for rest in line.split("](").skip(1) {
                let target = rest.split([')', ' ', '#']).next().unwrap_or_default();
                if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let inside = file.parent().map(|d| d.join(target)).and_then(|p| p.canonicalize().ok());
                if !inside.is_some_and(|p| p.starts_with(root())) {
                    found.push(at(&file, i, &format!("links to {target}, which is not here")));
                }
            }
        }
    }
    assert_none(found);
}

fn assert_none(found: Vec<String>) {
    assert!(found.is_empty(), "{} found:\n{}", found.len(), found.join("\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the repository").to_owned()
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}

fn at(file: &Path, line: usize, what: &str) -> String {
    format!("{}:{}: {what}", shown(file), line + 1)
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Every text file of ours, lock files and pinned lists aside.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![root()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let entry = entry.expect("an entry of a directory just opened");
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            let kind = entry.file_type().expect("the kind of an entry");
            if kind.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
                if !hidden && !["target", "corpus", "artifacts", "__pycache__"].contains(&name.as_str()) {
                    dirs.push(path);
                }
            } else if kind.is_file() && is_text(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_text(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    let known = ["rs", "toml", "md", "py", "sh", "proto", "x", "yml"];
    extension.is_some_and(|e| known.contains(&e))
        || (extension.is_none() && path.parent().is_some_and(|d| d == root().join(".ci")))
}

fn rust_files() -> Vec<PathBuf> {
    files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "rs")).collect()
}

/// The directory of every crate, those of excluded workspaces too.
fn crates() -> Vec<String> {
    let manifests = files().into_iter().filter(|f| f.ends_with("Cargo.toml"));
    let dirs = manifests.filter(|f| read(f).contains("[package]")).filter_map(|f| f.parent().map(shown));
    // Fuzz targets are cargo-fuzz's kind of crate: `no_main`, and named by its tool.
    dirs.filter(|d| d != "tests/fuzz").collect()
}

fn is_test_file(file: &Path) -> bool {
    let name = shown(file);
    name.starts_with("tests/")
        || name.contains("/tests/")
        || name.ends_with("tests.rs")
        || name.ends_with("testing.rs")
        || name.contains("/benches/")
}

/// Message types written by a tool, which says so at the top.
fn is_generated(file: &Path) -> bool {
    read(file).lines().take(5).any(|l| l.contains("generated") && l.starts_with("//"))
}

/// Runs `check` over each line of non-test code below `dirs`, comments cut off, and places what it says.
fn in_rust_files(dirs: &[&str], check: impl Fn(&Path, &str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for file in rust_files() {
        if is_test_file(&file) || !dirs.iter().any(|d| file.starts_with(root().join(d))) {
            continue;
        }
        let text = read(&file);
        found.extend(
            code(&text)
                .into_iter()
                .filter_map(|(i, l)| check(&file, without_comment(l)).map(|what| at(&file, i, &what))),
        );
    }
    found
}

/// The lines that are not under `#[cfg(test)]`. rustfmt closes an item at the indentation it began with, which is how
/// its end is found.
fn code(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let attribute = line.trim_start();
        if !attribute.starts_with("#[cfg(test)]") && !attribute.starts_with("#[cfg(all(test") {
            kept.push((i, line));
            continue;
        }
        let indent = line.len() - attribute.len();
        for (_, item) in lines.by_ref() {
            let closes =
                item.len() - item.trim_start().len() == indent && item.trim_start().starts_with(['}', ')', ']']);
            let whole = !item.trim_start().starts_with("#[") && item.trim_end().ends_with([';', '}']);
            let opens_nothing = whole && item.len() - item.trim_start().len() == indent;
            if closes || opens_nothing {
                break;
            }
        }
    }
    kept
}

/// Whether a `SAFETY of every block here` comment stands above an item that is still open after these lines.
fn proved_for_the_item(lines: &[&str]) -> bool {
    let indent = |l: &str| l.len() - l.trim_start().len();
    let Some(note) = lines.iter().rposition(|l| l.contains("SAFETY of every")) else { return false };
    !lines[note..].iter().any(|l| l.trim_start().starts_with('}') && indent(l) <= indent(lines[note]))
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// What follows each place where `word` stands as a whole identifier.
fn names<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).filter_map(move |(i, _)| {
        let (before, after) = (&line[..i], &line[i + word.len()..]);
        (!before.ends_with(part) && !after.starts_with(part)).then_some(after)
    })
}

/// The tables of a manifest: header and lines.
fn sections(text: &str) -> Vec<(String, Vec<&str>)> {
    let mut tables: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|l| !l.trim_start().starts_with('#') && !l.trim().is_empty()) {
        match (line.strip_prefix('[').and_then(|l| l.strip_suffix(']')), tables.last_mut()) {
            (Some(header), _) => tables.push((header.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    tables
}

fn section<'a>(text: &'a str, header: &str) -> Vec<&'a str> {
    sections(text).into_iter().find(|(h, _)| h == header).map(|(_, lines)| lines).unwrap_or_default()
}

/// The entries of a table, those that span lines joined.
fn entries(lines: &[&str]) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    let mut depth = 0_i32;
    for line in lines {
        match whole.last_mut() {
            Some(last) if depth > 0 => last.push_str(line),
            _ => whole.push((*line).to_owned()),
        }
        depth += line.chars().map(|c| i32::from("[{".contains(c)) - i32::from("]}".contains(c))).sum::<i32>();
    }
    whole
}

#[test]
fn test_code_is_cut_out() {
    let text = "a\n#[cfg(test)]\nuse b;\nc\n#[cfg(test)]\nmod tests {\n    fn d() {\n    }\n}\ne\n";
    let kept: Vec<&str> = code(text).into_iter().map(|(_, l)| l).collect();
    assert_eq!(kept, ["a", "c", "e"]);
}

#[test]
fn words_are_whole() {
    assert_eq!(names("use std::fmt; my_std::x; std", "std").count(), 2);
}
