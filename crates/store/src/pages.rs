//! Pages with a checksum. The crate `parquet` verifies those that it reads, and writes none.

use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::errors::{ParquetError, Result};

/// Writes the pages of a column into memory, each with the CRC-32 of what follows its header.
pub(crate) struct Checked<'a>(pub(crate) &'a mut Vec<u8>);

impl PageWriter for Checked<'_> {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let (offset, header) = (self.0.len(), header(&page)?);
        self.0.extend_from_slice(&header);
        self.0.extend_from_slice(page.data());
        let mut spec = PageWriteSpec::new();
        spec.page_type = page.page_type();
        spec.uncompressed_size = page.uncompressed_size() + header.len();
        spec.compressed_size = page.compressed_size() + header.len();
        spec.num_values = page.num_values();
        spec.offset = offset as u64;
        spec.bytes_written = (self.0.len() - offset) as u64;
        Ok(spec)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The header of a page (`PageHeader` of `parquet.thrift`), in Thrift's compact protocol.
fn header(page: &CompressedPage) -> Result<Vec<u8>> {
    let mut out = Struct::default();
    out.number(1, page.page_type() as i32);
    out.number(2, size(page.uncompressed_size())?);
    out.number(3, size(page.compressed_size())?);
    out.number(4, crc32fast::hash(page.data()).cast_signed());
    match page.compressed_page() {
        Page::DataPage { num_values, encoding, def_level_encoding, rep_level_encoding, .. } => {
            out.inner(5, |inner| {
                inner.number(1, num_values.cast_signed());
                inner.number(2, *encoding as i32);
                inner.number(3, *def_level_encoding as i32);
                inner.number(4, *rep_level_encoding as i32);
            });
        }
        Page::DictionaryPage { num_values, encoding, .. } => out.inner(7, |inner| {
            inner.number(1, num_values.cast_signed());
            inner.number(2, *encoding as i32);
        }),
        Page::DataPageV2 { .. } => return Err(ParquetError::NYI("pages of the second version".to_owned())),
    }
    Ok(out.end())
}

fn size(bytes: usize) -> Result<i32> {
    i32::try_from(bytes).map_err(|_| ParquetError::General(format!("a page of {bytes} bytes")))
}

/// A structure: its fields by their numbers, which rise.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    const NUMBER: u8 = 5;
    const STRUCT: u8 = 12;

    fn field(&mut self, id: u8, kind: u8) {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn number(&mut self, id: u8, value: i32) {
        self.field(id, Self::NUMBER);
        // Zigzag, then seven bits at a time, the low ones first.
        let mut left = (value << 1 ^ value >> 31).cast_unsigned();
        while left > 0x7f {
            self.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        self.bytes.push(left as u8);
    }

    fn inner(&mut self, id: u8, fields: impl FnOnce(&mut Struct)) {
        self.field(id, Self::STRUCT);
        let mut inner = Struct::default();
        fields(&mut inner);
        self.bytes.extend(inner.end());
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
