//! Files, as another reader of Parquet finds them.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::recorder::{GROUP, Sink};
use windtunnel_store::{Keys, Parts, Same, TableFile, Values, merge};

/// A file in a folder of its own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("windtunnel-store-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("table.parquet")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("removed");
    }
}

fn keys() -> Keys {
    let text = |text: &str| Same::Text(text.to_owned());
    Keys {
        run: vec![
            ("scenario".to_owned(), text("two")),
            ("seed".to_owned(), Same::Number(Some(u64::MAX))),
            ("none".to_owned(), Same::Number(None)),
        ],
        names: vec![("flow".to_owned(), "flow_name".to_owned(), vec!["a".to_owned(), "b".to_owned()])],
    }
}

fn write(path: &Path, columns: &[(&str, Values<'_>)]) {
    let mut file = TableFile::create(path, columns, keys()).expect("created");
    file.write(columns).expect("written");
    file.say("windtunnel.title", "two");
    file.finish().expect("finished");
}

/// The rows of a file: the name and the value of each column.
fn rows(path: &Path) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(fs::File::open(path).expect("opened")).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| row.expect("a row").into_columns()).collect()
}

/// Each kind of column has its values, in the place that the keys give it; NaN is null, and so is the name of what is
/// not among the names.
#[test]
fn every_kind() {
    let own = Folder::new("kinds");
    let bytes: [&[u8]; 3] = [b"", b"x", b"\0\xff"];
    write(
        &own.file(),
        &[
            ("time_s", Values::F64(&[0.5, f64::NAN, -0.0])),
            ("flow", Values::I32(&[1, -1, 2])),
            ("n", Values::U64(&[0, 1, u64::MAX])),
            ("sum", Values::I64(&[-1, 0, 1])),
            ("of", Values::U32(&[0, 1, u32::MAX])),
            ("code", Values::U8(&[0, 7, 255])),
            ("there", Values::Bool(&[true, false, true])),
            ("content", Values::Binary(&bytes)),
        ],
    );
    let rows = rows(&own.file());
    let names: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "scenario",
            "seed",
            "none",
            "time_s",
            "flow",
            "flow_name",
            "n",
            "sum",
            "of",
            "code",
            "there",
            "content"
        ]
    );
    let text = |text: &str| Field::Str(text.to_owned());
    let values = |row: usize| rows[row].iter().map(|(_, value)| value.clone()).collect::<Vec<Field>>();
    assert_eq!(
        values(0)[..11],
        [
            text("two"),
            Field::ULong(u64::MAX),
            Field::Null,
            Field::Double(0.5),
            Field::Int(1),
            text("b"),
            Field::ULong(0),
            Field::Long(-1),
            Field::UInt(0),
            Field::UByte(0),
            Field::Bool(true),
        ]
    );
    assert_eq!(values(1)[3..6], [Field::Null, Field::Int(-1), Field::Null]);
    assert_eq!(
        values(2)[3..8],
        [Field::Double(-0.0), Field::Int(2), Field::Null, Field::ULong(u64::MAX), Field::Long(1),]
    );
    assert_eq!(values(2)[8..10], [Field::UInt(u32::MAX), Field::UByte(255)]);
    assert!(matches!(&values(2)[11], Field::Bytes(content) if content.data() == b"\0\xff"));
}

/// Rows are in groups of a bounded size, in their order, and the same rows are the same bytes.
#[test]
fn groups() {
    let own = Folder::new("groups");
    let numbers: Vec<u64> = (0..2 * GROUP as u64 + 5).collect();
    let columns = [("n", Values::U64(&numbers))];
    write(&own.file(), &columns);
    let first = fs::read(own.file()).expect("read");
    let reader =
        SerializedFileReader::new(fs::File::open(own.file()).expect("opened")).expect("a Parquet file");
    let sizes = reader.metadata().row_groups().iter().map(|group| group.num_rows() as usize);
    assert_eq!(sizes.collect::<Vec<_>>(), [GROUP, GROUP, 5]);
    let read: Vec<Field> = rows(&own.file()).into_iter().map(|row| row[3].1.clone()).collect();
    assert_eq!(read, numbers.iter().map(|n| Field::ULong(*n)).collect::<Vec<_>>());
    write(&own.file(), &columns);
    assert_eq!(fs::read(own.file()).expect("read"), first);
}

/// A table without rows has its columns.
#[test]
fn no_rows() {
    let own = Folder::new("empty");
    write(&own.file(), &[("n", Values::F64(&[]))]);
    let reader =
        SerializedFileReader::new(fs::File::open(own.file()).expect("opened")).expect("a Parquet file");
    assert_eq!(reader.metadata().num_row_groups(), 0);
    assert_eq!(reader.metadata().file_metadata().schema().get_fields().len(), 4);
}

/// What the operating system says comes through.
#[test]
fn no_place() {
    let error = TableFile::create(Path::new("/dev/null/x"), &[("n", Values::F64(&[]))], keys())
        .expect_err("no folder");
    assert_eq!(windtunnel_store::to_io(error).kind(), ErrorKind::NotADirectory);
}

/// Parts are complete files, which become one with the columns of the run; a number that came later than the first rows is
/// missing there. What cannot be written is said once, and nothing is written after it.
#[test]
fn parts() {
    let own = Folder::new("parts");
    let folder = own.0.clone();
    let names = vec![("flow".to_owned(), "flow_name".to_owned(), vec!["a".to_owned()])];
    let mut parts = Parts::new(move || Ok(folder.clone()), names);
    let flow = |values: Vec<u32>| ("flow", Column::U32(values));
    let p = |values: Vec<f64>| ("p", Column::F64(values));
    let table = |columns| Table { name: "aqm", columns };
    parts.rows(&table(vec![flow(vec![7, 0, 1, 7])]), 1..3);
    parts.rows(&table(vec![flow(vec![0]), p(vec![0.5])]), 0..1);
    assert!(parts.failure().take().is_none());
    let files = ["000000.parquet", "000001.parquet"].map(|name| own.0.join("aqm").join(name));
    assert_eq!(rows(&files[0]).len(), 2);
    let run = vec![("digest".to_owned(), Same::Text("d".to_owned()))];
    merge(&files, &own.file(), run, &BTreeMap::new()).expect("merged");
    let text = |text: &str| Field::Str(text.to_owned());
    let values: Vec<Vec<Field>> =
        rows(&own.file()).into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect()).collect();
    assert_eq!(
        values,
        [
            [text("d"), Field::UInt(0), text("a"), Field::Null],
            [text("d"), Field::UInt(1), Field::Null, Field::Null],
            [text("d"), Field::UInt(0), text("a"), Field::Double(0.5)],
        ]
    );
    // Another run must not write into the folder of this one.
    let folder = own.0.clone();
    let mut again = Parts::new(move || Ok(folder.clone()), Vec::new());
    again.rows(&table(vec![flow(vec![0])]), 0..1);
    again.rows(&table(vec![flow(vec![0])]), 0..1);
    assert_eq!(again.failure().take().expect("refused").kind(), ErrorKind::AlreadyExists);
    assert!(again.failure().take().is_none());
}
