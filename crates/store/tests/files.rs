//! Files, as another reader of Parquet finds them.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::panic;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::recorder::{GROUP, Sink};
use windtunnel_store::{
    Array, Keys, Parts, Read, Same, TableFile, TableReader, Values, merge, write_head, write_rows,
};

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

/// The columns of a part by their places, as they were read.
fn read(path: &Path, names: &[&str], rows: usize) -> Vec<Vec<Read>> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parts = TableReader::open(path).expect("opened").parts(&names).expect("columns");
    let mut all = Vec::new();
    loop {
        let part = parts.next(rows).expect("read");
        if part[0].array.is_empty() {
            return all;
        }
        all.push(part);
    }
}

/// What is written comes back, with its types and gaps, in parts of a chosen size that do not stop at groups of rows.
#[test]
fn reading() {
    let own = Folder::new("reading");
    let bytes: [&[u8]; 5] = [b"", b"x", b"\0\xff", b"y", b"z"];
    let gaps = [false, true, false, false, true];
    let columns = [
        ("x", Values::F64(&[0.5, f64::NAN, -0.0, 1.0, 2.0])),
        ("seed", Values::GapsU64(&[u64::MAX, 0, 1, 2, 3], &gaps)),
        ("there", Values::GapsBool(&[true, true, false, true, false], &gaps)),
        ("code", Values::U8(&[0, 7, 255, 1, 2])),
        ("name", Values::Text(&[1, -1, 0, 1, 1], &["a", "b\u{e9}"])),
        ("content", Values::Binary(&bytes)),
    ];
    let mut file = TableFile::create(&own.file(), &columns, Keys::default()).expect("created").checked();
    for group in [0..2, 2..5] {
        let part: Vec<_> = columns.iter().map(|(name, values)| (*name, values.rows(group.clone()))).collect();
        file.write_group(&part).expect("written");
    }
    file.finish().expect("finished");
    let reader = TableReader::open(&own.file()).expect("opened");
    assert_eq!(reader.rows(), 5);
    let kinds: Vec<(&str, String)> = reader.columns().map(|(name, kind)| (name, kind.name())).collect();
    let expected = [
        ("x", "double"),
        ("seed", "uint64"),
        ("there", "bool"),
        ("code", "uint8"),
        ("name", "string"),
        ("content", "binary"),
    ];
    assert_eq!(kinds, expected.map(|(name, kind)| (name, kind.to_owned())));
    let parts = read(&own.file(), &["name", "seed", "there", "code", "x", "content"], 3);
    assert_eq!(parts.len(), 2);
    let Array::Text(places, words) = &parts[0][0].array else { panic!("texts") };
    assert_eq!(
        (&places[..], &words.list[..]),
        (&[0, -1, 1][..], &["b\u{e9}".to_owned(), "a".to_owned()][..])
    );
    assert!(matches!(&parts[0][1].array, Array::U64(v) if v[0] == u64::MAX && v[2] == 1));
    assert_eq!(parts[0][1].missing, [false, true, false]);
    assert_eq!(parts[1][2].missing, [false, true]);
    assert!(matches!(&parts[0][3].array, Array::U8(v) if v[..] == [0, 7, 255]));
    assert!(parts[0][3].missing.is_empty());
    let Array::F64(x) = &parts[0][4].array else { panic!("numbers") };
    assert_eq!(x.iter().map(f64::to_string).collect::<Vec<_>>(), ["0.5", "NaN", "-0"]);
    assert!(matches!(&parts[1][5].array, Array::Binary(v) if v[1].data() == b"z"));
    assert_eq!(read(&own.file(), &["code"], usize::MAX).len(), 1);
}

/// A bit that changes in a page is an error, whichever it is: its checksum tells.
#[test]
fn checksums() {
    let own = Folder::new("checksums");
    let numbers: Vec<f64> = (0..500).map(|n| f64::from(n) * 0.37).collect();
    let places: Vec<i32> = (0..500).map(|n| n % 7).collect();
    let columns =
        [("x", Values::F64(&numbers)), ("name", Values::Text(&places, &["a", "b", "c", "d", "e", "f", "g"]))];
    let mut file = TableFile::create(&own.file(), &columns, Keys::default()).expect("created").checked();
    file.write_group(&columns).expect("written");
    file.finish().expect("finished");
    let whole = fs::read(own.file()).expect("read");
    let reader =
        SerializedFileReader::new(fs::File::open(own.file()).expect("opened")).expect("a Parquet file");
    let pages: usize =
        reader.metadata().row_group(0).columns().iter().map(|c| c.compressed_size() as usize).sum();
    let names = ["x".to_owned(), "name".to_owned()];
    // The pages begin behind the four bytes that say what the file is.
    let refused = (4..4 + pages).filter(|position| {
        let mut changed = whole.clone();
        changed[*position] ^= 1;
        fs::write(own.file(), changed).expect("written");
        let done = panic::catch_unwind(|| TableReader::open(&own.file())?.parts(&names)?.next(500));
        !matches!(done, Ok(Ok(_)))
    });
    // Some bits of a header change nothing: a page's encoding of levels that it has not.
    let refused = refused.count();
    assert!(refused * 100 > pages * 97, "{refused} of {pages}");
}

/// CSV as other programs read it: texts in quotes, numbers with all their digits, nothing for what is missing. The
/// numbers are written as Arrow's libraries do.
#[test]
fn csv() {
    let bytes: [&[u8]; 3] = [b"", b"\x01\xff", b"x"];
    let columns = [
        ("a\"b", Values::F64(&[1e-7, f64::NAN, -0.0])),
        ("y", Values::F64(&[1.5e10, 9_999_999_999.5, 0.000_001])),
        (
            "middle",
            Values::F64(&[-4_956_516_208_097_829.0 / 4.0, 1_099_511_627_777.0 / 128.0, 1.0 / 33_554_432.0]),
        ),
        ("n", Values::GapsI64(&[-1, 5, 2], &[false, true, false])),
        ("t", Values::Text(&[0, -1, 1], &["say \"x\", y", ""])),
        ("b", Values::Bool(&[true, false, true])),
        ("c", Values::Binary(&bytes)),
    ];
    let mut text = Vec::new();
    write_head(&mut text, &columns).expect("written");
    write_rows(&mut text, &columns).expect("written");
    assert_eq!(
        String::from_utf8(text).expect("text"),
        concat!(
            "\"a\"\"b\",\"y\",\"middle\",\"n\",\"t\",\"b\",\"c\"\n",
            "1e-7,1.5e+10,-1.2391290520244572e+15,-1,\"say \"\"x\"\", y\",true,\"\"\n",
            ",9999999999.5,8589934592.007812,,,false,\"01ff\"\n",
            "-0,0.000001,2.9802322387695312e-8,2,\"\",true,\"78\"\n",
        )
    );
}
