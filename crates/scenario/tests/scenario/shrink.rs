//! Makes a failing scenario small by leaving out every part without which it still fails.

/// The text without the parts that do not matter: `fails` says whether a text still fails.
pub(crate) fn shrink(text: &str, fails: &mut dyn FnMut(&str) -> bool) -> String {
    let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    loop {
        let before = lines.len();
        // From the end: lines there depend on those before.
        let mut at = lines.len();
        while at > 0 {
            at -= 1;
            let rest = &lines[at + 1..];
            // With a header, its table is removed as well.
            let table = rest.iter().position(|line| line.starts_with('[')).unwrap_or(rest.len());
            let more = if lines[at].starts_with('[') { table } else { 0 };
            let mut fewer = lines.clone();
            fewer.drain(at..=at + more);
            if fails(&(fewer.join("\n") + "\n")) {
                lines = fewer;
            }
        }
        if lines.len() == before {
            return lines.join("\n") + "\n";
        }
    }
}
