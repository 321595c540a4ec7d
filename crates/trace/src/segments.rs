//! The table of segments: one row per TCP segment, in order of time.
//!
//! A long capture has ten million of them. The table is kept in parts, so that who reads it from its start can drop what is
//! behind; and many segments have no SACK blocks, so that these stand apart, one after the other.

/// SACK blocks that a header can hold.
pub const MAX_SACK: usize = 4;

/// Rows of a part: 32 MiB, which the system's allocator gives back at once when they are dropped.
const PART_ROWS: usize = 1 << 19;

/// The edges of SACK blocks.
type Blocks = [(u64, u64)];

/// A segment. What is measured is named as in the simulator's table `packets`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Since the first packet of the capture.
    pub t_ns: u64,
    /// Relative to the initial sequence number and unwrapped.
    pub seq: u64,
    /// Of the other end's numbers; 0 without ACK.
    pub ack: u64,
    /// In ticks of the end that made them; 0 without the option.
    pub ts_val: u64,
    /// The other end's, echoed.
    pub ts_ecr: u64,
    /// The receive window in bytes, scaled where the capture has the scale.
    pub window: u64,
    /// The connection.
    pub flow: u32,
    /// Without headers.
    pub payload: u32,
    /// Which of the table's SACK blocks are its own, counted from 1; 0 if it has none. [`Segments::push`] sets it.
    pub sack: u32,
    /// With AE as bit 8.
    pub flags: u16,
    /// 0 from the end that sends the data, 1 towards it.
    pub dir: u8,
    /// The traffic class: the DSCP, and the ECN code point in the last two bits.
    pub class: u8,
}

impl Row {
    /// The traffic class of a DSCP and an ECN code point.
    pub const fn class(dscp: u8, ecn: u8) -> u8 {
        dscp << 2 | ecn & 3
    }

    /// The ECN code point.
    pub const fn ecn(&self) -> u8 {
        self.class & 3
    }

    /// The DSCP.
    pub const fn dscp(&self) -> u8 {
        self.class >> 2
    }

    /// Whether a flag is set.
    pub(crate) const fn has(&self, flag: u32) -> bool {
        self.flags as u32 & flag != 0
    }
}

/// Rows that lie together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) rows: Vec<Row>,
    /// The SACK blocks of all rows, and by row that has any where its own end.
    blocks: Vec<(u64, u64)>,
    ends: Vec<u32>,
}

impl Part {
    /// The SACK blocks of one of its rows.
    pub(crate) fn sack(&self, row: &Row) -> &Blocks {
        let end = |n: usize| self.ends.get(n).map(|end| *end as usize);
        let own = (row.sack as usize).checked_sub(1).and_then(|n| {
            let first = n.checked_sub(1).map_or(Some(0), end)?;
            self.blocks.get(first..end(n)?)
        });
        own.unwrap_or(&[])
    }
}

/// Segments in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    parts: Vec<Part>,
}

impl Segments {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.rows.is_empty())
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.parts.iter().flat_map(|part| &part.rows)
    }

    pub(crate) fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.parts.iter_mut().flat_map(|part| &mut part.rows)
    }

    /// The time of the last row; 0 without rows.
    pub fn last_ns(&self) -> u64 {
        self.parts.last().and_then(|part| part.rows.last()).map_or(0, |row| row.t_ns)
    }

    /// All rows with their SACK blocks.
    pub fn with_sack(&self) -> impl Iterator<Item = (&Row, &Blocks)> {
        self.parts.iter().flat_map(|part| part.rows.iter().map(|row| (row, part.sack(row))))
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut Row> {
        self.parts.last_mut().and_then(|part| part.rows.last_mut())
    }

    /// The rows in parts: who drops one has its room.
    pub(crate) fn into_parts(self) -> impl Iterator<Item = Part> {
        self.parts.into_iter()
    }

    /// Adds a row, with as many SACK blocks as a header can hold.
    pub fn push(&mut self, mut row: Row, sack: &Blocks) {
        if self.parts.last().is_none_or(|part| part.rows.len() == PART_ROWS) {
            // A short capture needs no whole part.
            let room = if self.parts.is_empty() { 0 } else { PART_ROWS };
            self.parts.push(Part { rows: Vec::with_capacity(room), ..Part::default() });
        }
        let Some(part) = self.parts.last_mut() else { return };
        row.sack = 0;
        if !sack.is_empty() {
            part.blocks.extend_from_slice(&sack[..sack.len().min(MAX_SACK)]);
            part.ends.push(part.blocks.len() as u32);
            row.sack = part.ends.len() as u32;
        }
        part.rows.push(row);
    }

    /// Only those rows that are to be kept.
    pub(crate) fn keep(&mut self, kept: impl Fn(&Row) -> bool) {
        for part in std::mem::take(self).into_parts() {
            for row in part.rows.iter().filter(|row| kept(row)) {
                self.push(*row, part.sack(row));
            }
        }
    }

    /// Puts the rows in order of time; returns how many came later than their successor.
    pub(crate) fn sort(&mut self) -> u64 {
        let (mut before, mut newest, mut count) = (0, 0, 0);
        let mut late = Vec::new();
        for (row, sack) in self.with_sack() {
            count += u64::from(row.t_ns < before);
            before = row.t_ns;
            if row.t_ns < newest {
                late.push((*row, sack.to_vec()));
            }
            newest = newest.max(row.t_ns);
        }
        if late.is_empty() {
            return 0;
        }
        late.sort_by_key(|(row, _)| row.t_ns);
        let mut late = late.into_iter().peekable();
        let mut newest = 0;
        for part in std::mem::take(self).into_parts() {
            for row in &part.rows {
                if row.t_ns < newest {
                    continue;
                }
                newest = row.t_ns;
                // Of rows with one time, the late one came last.
                while let Some((row, sack)) = late.next_if(|(late, _)| late.t_ns < row.t_ns) {
                    self.push(row, &sack);
                }
                self.push(*row, part.sack(row));
            }
        }
        for (row, sack) in late {
            self.push(row, &sack);
        }
        count
    }
}

/// Keeps the items for which `kept` is true, and no room for others.
pub(crate) fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().is_none_or(|kept| *kept));
    items.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: impl IntoIterator<Item = (u64, u32)>) -> Segments {
        let mut segments = Segments::default();
        for (t_ns, flow) in rows {
            let sack = if flow % 3 == 0 { vec![(t_ns, u64::from(flow))] } else { Vec::new() };
            segments.push(Row { t_ns, flow, ..Row::default() }, &sack);
        }
        segments
    }

    /// A stable sort of the standard library, over more than one part, gives the same; each row keeps its SACK blocks.
    #[test]
    fn rows_in_order_of_time() {
        let count = PART_ROWS as u64 + 1000;
        let mut rows: Vec<(u64, u32)> = (0..count).map(|n| (n / 2 * 10, n as u32)).collect();
        for n in [7, 500, PART_ROWS - 2, PART_ROWS + 3] {
            rows[n].0 = rows[n].0.saturating_sub(35);
        }
        let mut segments = table(rows.clone());
        let late = rows.windows(2).filter(|pair| pair[1].0 < pair[0].0).count() as u64;
        rows.sort_by_key(|row| row.0);
        assert_eq!((segments.sort(), segments.len() as u64), (late, count));
        assert!(segments.rows().map(|row| (row.t_ns, row.flow)).eq(rows));
        assert!(segments.with_sack().all(|(row, sack)| match sack {
            [] => row.flow % 3 > 0,
            sack => sack == [(row.t_ns, u64::from(row.flow))],
        }));
        assert_eq!(segments.sort(), 0);
    }

    #[test]
    fn some_rows() {
        let mut segments = table((0..PART_ROWS as u64 + 9).map(|n| (n, n as u32)));
        segments.keep(|row| row.flow % 2 == 1);
        assert_eq!((segments.len(), segments.parts.len()), (PART_ROWS / 2 + 4, 1));
        assert!(segments.with_sack().all(|(row, sack)| (row.flow % 3 == 0) == (sack.len() == 1)));
    }
}
