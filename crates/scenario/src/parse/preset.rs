//! Presets: links by name, with published numbers.
//!
//! `preset = "wifi-bad"` stands for keys of a link. They take the places that the link's table leaves free, before
//! anything is read, so that all that follows sees ordinary keys, and messages about them point at the preset.

use std::cell::LazyCell;

use super::cursor::Cursor;
use super::document::{Entry, Node, Value};
use super::fault::Fault;
use super::nearest::nearest;

/// The key of a link.
pub(crate) const PRESET: &str = "preset";

/// The tables that are links, or lists of links.
const LINKS: [&str; 3] = ["bottleneck", "reverse", "link"];

/// A preset.
#[derive(Clone, Debug)]
pub(crate) struct Preset {
    pub(crate) name: String,
    /// What it is, in one line.
    pub(crate) summary: String,
    /// Where its numbers are published.
    pub(crate) source: String,
    /// The keys of the link, as a scenario writes them.
    pub(crate) link: String,
}

/// All presets, in the order of their file.
pub(crate) fn presets() -> Vec<Preset> {
    let document = parsed(include_str!("../presets.toml"));
    let text = |entry: &Entry, key| entry.node.text_at(key).unwrap_or_default().to_owned();
    let preset = |entry: &Entry| Preset {
        name: entry.key.clone(),
        summary: text(entry, "summary"),
        source: text(entry, "source"),
        link: text(entry, "link").trim_start().to_owned(),
    };
    Cursor::root(&document).entries().iter().map(preset).collect()
}

/// The nodes of a text of ours.
fn parsed(text: &str) -> Node {
    Node::document(text).expect("the file of presets is valid")
}

/// Puts the keys of presets into the links that name them. What names none that exists stays, for [`refuse`].
pub(crate) fn expand(document: &mut Node) {
    let Value::Table(entries) = &mut document.value else { return };
    let presets: LazyCell<Vec<Preset>> = LazyCell::new(presets);
    for entry in entries.iter_mut().filter(|entry| LINKS.contains(&entry.key.as_str())) {
        match &mut entry.node.value {
            Value::List(links) => links.iter_mut().for_each(|link| expand_link(link, &presets)),
            _ => expand_link(&mut entry.node, &presets),
        }
    }
}

fn expand_link(link: &mut Node, presets: &LazyCell<Vec<Preset>>) {
    let Some(name) = link.text_at(PRESET) else { return };
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else { return };
    let Value::Table(entries) = &mut link.value else { return };
    let Some(at) = entries.iter().position(|entry| entry.key == PRESET) else { return };
    let origin = entries.remove(at).origin;
    let mut keys = parsed(&preset.link);
    keys.set_origin(&origin);
    let Value::Table(keys) = keys.value else { return };
    for entry in keys {
        if entries.iter().all(|own| own.key != entry.key) {
            entries.push(entry);
        }
    }
}

/// Refuses what [`expand`] left: the name of no preset.
pub(crate) fn refuse(at: &Cursor<'_>) -> Result<(), Fault> {
    if !at.is_given() {
        return Ok(());
    }
    let presets = presets();
    let names: Vec<&str> = presets.iter().map(|preset| &*preset.name).collect();
    let hint = at.text().and_then(|name| nearest(name, names.iter().copied()));
    Err(Fault::not_one_of(&names).with_hint(hint).at(at.location()))
}
