//! Tells the core which commit it is built from: `WINDTUNNEL_COMMIT`, which is absent outside of the project's repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A source package may be unpacked inside of another repository, whose commits say nothing about it.
    if git(&["ls-files", "--error-unmatch", "build.rs"]).is_none() {
        return;
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return };
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        // A file that does not exist would count as changed in every build.
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".."]);
    let end = if changed.is_some_and(|files| !files.is_empty()) { "+changes" } else { "" };
    println!("cargo::rustc-env=WINDTUNNEL_COMMIT={commit}{end}");
}

/// What git prints, or nothing if it fails or is not there.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
