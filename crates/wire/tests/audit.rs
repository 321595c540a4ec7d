//! Headers are filled in where a packet is made, and changed in `rewrite.rs` alone: nowhere else do the sources assign the
//! fields that a network rewrites.

use std::fs;
use std::path::{Path, PathBuf};

/// Where packets are made, and where headers are rewritten.
const ALLOWED: [&str; 12] = [
    "wire/src/rewrite.rs",
    "tcp/src/ideal/sender.rs",
    "tcp/src/bsd42.rs",
    "tcp/src/sender/ecn.rs",
    "tcp/src/sender/ecn/nonce.rs",
    "tcp/src/receiver/options.rs",
    "tcp/src/sender/transmit.rs",
    "sim/src/application/datagrams.rs",
    "sim/src/rtp/sender.rs",
    "sim/src/rtp/receiver.rs",
    "quic/src/halves.rs",
    "emulate/src/outside.rs",
];

/// Assignments to these fields of a packet or of its options.
const FIELDS: [&str; 8] =
    ["ecn", "dscp", "accecn", "ack_rate", "ecn_counts", "mds_capable", "sack_permitted", "tunnels"];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// The name in front of an assignment to `field` on this line, `packet` in `packet.ecn = ...`.
fn assigned<'l>(line: &'l str, field: &str) -> Option<&'l str> {
    let (owner, rest) = line.split_once(&format!(".{field} "))?;
    let assigns = rest.trim_start().strip_prefix('=').is_some_and(|value| !value.starts_with('='));
    let name = owner.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(owner);
    assigns.then_some(name)
}

#[test]
fn headers_are_rewritten_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates").to_owned();
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).expect("a folder") {
        sources(&entry.expect("an entry").path().join("src"), &mut files);
    }
    assert!(files.len() > 100, "the sources of all crates");
    let mut faults = Vec::new();
    for file in files {
        let name = file.strip_prefix(&crates).expect("below").to_string_lossy().into_owned();
        if ALLOWED.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let owner = FIELDS.iter().find_map(|field| assigned(line, field));
            if owner.is_some_and(|owner| owner != "self" && owner != "endpoint") {
                faults.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "headers change in wire/src/rewrite.rs alone:\n{}", faults.join("\n"));
}

/// The search finds an assignment, and not a comparison.
#[test]
fn assignments_are_found() {
    assert_eq!(assigned("    packet.ecn = Ecn::Ce;", "ecn"), Some("packet"));
    assert_eq!(assigned("options.accecn = None;", "accecn"), Some("options"));
    assert_eq!(assigned("if packet.ecn == Ecn::Ce {", "ecn"), None);
    assert_eq!(assigned("self.ecn = scheme;", "ecn"), Some("self"));
}
