//! Which columns of texts are dictionaries in Arrow: pandas then reads them as categories. Parquet has no such type, so
//! libraries of Arrow keep their own schema in the file's metadata, an IPC message in base64 (`Schema.fbs` and
//! `Message.fbs` of Arrow's format).

use std::cmp::Reverse;

use crate::keys::{Column, Same};
use crate::values::Values;

/// The key of the metadata.
pub(crate) const KEY: &str = "ARROW:schema";

/// The schema of `columns`, those of `coded` as dictionaries.
pub(crate) fn encoded(columns: &[(&str, Column<'_>)], coded: &[&str]) -> String {
    let metadata = message(columns, coded);
    // An encapsulated message: a mark, the size of the metadata, which is a multiple of 8, and the metadata.
    let mut bytes = vec![0xff; 4];
    bytes.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&metadata);
    base64(&bytes)
}

/// Arrow's types, by their numbers in `Schema.fbs`.
enum Type {
    Int { bits: i32, signed: bool },
    Double,
    Binary,
    Utf8,
    Bool,
}

impl Type {
    fn of(column: &Column<'_>) -> Type {
        let int = |bits, signed| Type::Int { bits, signed };
        match column {
            Column::Own(Values::F64(_)) => Type::Double,
            Column::Own(Values::U64(_) | Values::GapsU64(..)) | Column::Same(Same::Number(_), _) => {
                int(64, false)
            }
            Column::Own(Values::I64(_) | Values::GapsI64(..)) => int(64, true),
            Column::Own(Values::U32(_)) => int(32, false),
            Column::Own(Values::I32(_)) => int(32, true),
            Column::Own(Values::U8(_)) => int(8, false),
            Column::Own(Values::Bool(_) | Values::GapsBool(..)) => Type::Bool,
            Column::Own(Values::Binary(_)) => Type::Binary,
            Column::Own(Values::Text(..)) | Column::Same(Same::Text(_), _) | Column::Names(..) => Type::Utf8,
        }
    }

    const fn number(&self) -> u8 {
        match self {
            Type::Int { .. } => 2,
            Type::Double => 3,
            Type::Binary => 4,
            Type::Utf8 => 5,
            Type::Bool => 6,
        }
    }

    fn write(&self, to: &mut Flat) -> usize {
        match self {
            Type::Int { bits, signed } => to.table(&[(0, Slot::I32(*bits)), (1, Slot::Bool(*signed))]).0,
            // The precision: DOUBLE.
            Type::Double => to.table(&[(0, Slot::I16(2))]).0,
            Type::Binary | Type::Utf8 | Type::Bool => to.table(&[]).0,
        }
    }
}

fn message(columns: &[(&str, Column<'_>)], coded: &[&str]) -> Vec<u8> {
    let mut flat = Flat(vec![0; 4]);
    // The version of the metadata, V5; the header is a schema, the body is empty.
    let (root, header) =
        flat.table(&[(0, Slot::I16(4)), (1, Slot::U8(1)), (2, Slot::Offset), (3, Slot::I64(0))]);
    flat.patch(0, root);
    let (schema, inner) = flat.table(&[(0, Slot::I16(0)), (1, Slot::Offset)]);
    flat.patch(header[0], schema);
    let (list, places) = flat.offsets(columns.len());
    flat.patch(inner[0], list);
    let mut dictionaries = 0;
    for ((name, column), at) in columns.iter().zip(places) {
        let id = coded.contains(name).then_some(dictionaries);
        dictionaries += i64::from(id.is_some());
        let field = field(&mut flat, name, &Type::of(column), id);
        flat.patch(at, field);
    }
    flat.align(8, 0);
    flat.0
}

/// A field, which may be null; `id` is that of its dictionary, if it has one.
fn field(flat: &mut Flat, name: &str, kind: &Type, id: Option<i64>) -> usize {
    let mut slots = vec![
        (0, Slot::Offset),
        (1, Slot::Bool(true)),
        (2, Slot::U8(kind.number())),
        (3, Slot::Offset),
        (5, Slot::Offset),
    ];
    if id.is_some() {
        slots.push((4, Slot::Offset));
    }
    let (field, places) = flat.table(&slots);
    let name = flat.text(name);
    flat.patch(places[0], name);
    let kind = kind.write(flat);
    flat.patch(places[1], kind);
    let (children, _) = flat.offsets(0);
    flat.patch(places[2], children);
    if let Some(id) = id {
        let (dictionary, inner) = flat.table(&[(0, Slot::I64(id)), (1, Slot::Offset)]);
        flat.patch(places[3], dictionary);
        let index = Type::Int { bits: 32, signed: true }.write(flat);
        flat.patch(inner[0], index);
    }
    field
}

/// A field of a table.
#[derive(Clone, Copy)]
enum Slot {
    Bool(bool),
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    /// Where something is, which comes later.
    Offset,
}

impl Slot {
    fn bytes(self) -> Vec<u8> {
        match self {
            Slot::Bool(value) => vec![u8::from(value)],
            Slot::U8(value) => vec![value],
            Slot::I16(value) => value.to_le_bytes().to_vec(),
            Slot::I32(value) => value.to_le_bytes().to_vec(),
            Slot::I64(value) => value.to_le_bytes().to_vec(),
            Slot::Offset => vec![0; 4],
        }
    }
}

/// A `FlatBuffer` that is written forwards: what a table refers to is behind it.
struct Flat(Vec<u8>);

impl Flat {
    /// Pads until the length is `rest` more than a multiple of `to`.
    fn align(&mut self, to: usize, rest: usize) {
        while self.0.len() % to != rest {
            self.0.push(0);
        }
    }

    /// A table with these fields, by their numbers. Returns where it is, and where its offsets are, in their order.
    fn table(&mut self, fields: &[(usize, Slot)]) -> (usize, Vec<usize>) {
        let slots = fields.iter().map(|(id, _)| id + 1).max().unwrap_or(0);
        self.align(2, 0);
        let vtable = self.0.len();
        self.0.resize(vtable + 4 + 2 * slots, 0);
        // The largest fields come first, behind the offset of the vtable: so all are aligned if the first one is.
        self.align(8, 4);
        let table = self.0.len();
        self.0.extend_from_slice(&((table - vtable) as u32).to_le_bytes());
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|index| Reverse(fields[*index].1.bytes().len()));
        let mut places = vec![0; fields.len()];
        for index in order {
            let (id, slot) = fields[index];
            places[index] = self.0.len();
            self.short(vtable + 4 + 2 * id, self.0.len() - table);
            self.0.extend(slot.bytes());
        }
        self.short(vtable, 4 + 2 * slots);
        self.short(vtable + 2, self.0.len() - table);
        let offsets = fields.iter().zip(places).filter(|((_, slot), _)| matches!(slot, Slot::Offset));
        (table, offsets.map(|(_, at)| at).collect())
    }

    fn short(&mut self, at: usize, value: usize) {
        self.0[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }

    /// Says at `from` where `target` is.
    fn patch(&mut self, from: usize, target: usize) {
        self.0[from..from + 4].copy_from_slice(&((target - from) as u32).to_le_bytes());
    }

    /// A vector of offsets. Returns where it is, and where they are.
    fn offsets(&mut self, count: usize) -> (usize, Vec<usize>) {
        self.align(4, 0);
        let at = self.0.len();
        self.0.extend_from_slice(&(count as u32).to_le_bytes());
        self.0.resize(at + 4 + 4 * count, 0);
        (at, (0..count).map(|index| at + 4 + 4 * index).collect())
    }

    fn text(&mut self, text: &str) -> usize {
        self.align(4, 0);
        let at = self.0.len();
        self.0.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().chain([&0; 2]).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for digit in 0..4 {
            let six = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit > group.len() { '=' } else { char::from(DIGITS[six]) });
        }
    }
    text
}
