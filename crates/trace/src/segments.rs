//! The table of segments: one row per TCP segment, in order of time.

/// SACK blocks that a header can hold.
pub const MAX_SACK: usize = 4;

/// Declares the columns, and how they are ordered.
macro_rules! segments {
    ($($(#[$meta:meta])* $name:ident: $type:ty),* $(,)?) => {
        /// Columns of equal length, named and measured as those of the simulator's table `packets`.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Segments {
            $($(#[$meta])* pub $name: Vec<$type>),*
        }

        impl Segments {
            /// The rows in another order.
            fn reorder(&mut self, order: &[usize]) {
                $(self.$name = order.iter().map(|&row| self.$name[row]).collect();)*
            }

            /// Only those rows that are to be kept.
            pub(crate) fn keep(&mut self, kept: &[bool]) {
                $(retain(&mut self.$name, kept);)*
            }
        }
    };
}

segments! {
    /// Since the first packet of the capture.
    t_ns: u64,
    /// The connection.
    flow: u32,
    /// 0 from the end that sends the data, 1 towards it.
    dir: u8,
    /// The interface of the capture.
    point: u32,
    /// Of the IP packet, as it was on the wire.
    size: u32,
    /// Without headers.
    payload: u32,
    /// Relative to the initial sequence number and unwrapped.
    seq: u64,
    /// Of the other end's numbers; 0 without ACK.
    ack: u64,
    /// With AE as bit 8.
    flags: u32,
    /// The ECN code point.
    ecn: u8,
    /// The DSCP.
    dscp: u8,
    /// In ticks of the end that made them; 0 without the option.
    ts_val: u64,
    /// The other end's, echoed.
    ts_ecr: u64,
    /// The receive window in bytes, scaled where the capture has the scale.
    window: u64,
    /// SACK blocks, then the edges of each.
    sack_n: u8,
    /// An edge of block 1.
    sack1_start: u64,
    /// An edge of block 1.
    sack1_end: u64,
    /// An edge of block 2.
    sack2_start: u64,
    /// An edge of block 2.
    sack2_end: u64,
    /// An edge of block 3.
    sack3_start: u64,
    /// An edge of block 3.
    sack3_end: u64,
    /// An edge of block 4.
    sack4_start: u64,
    /// An edge of block 4.
    sack4_end: u64,
}

/// Keeps the items for which `kept` is true.
pub(crate) fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().is_none_or(|kept| *kept));
}

impl Segments {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.t_ns.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.t_ns.is_empty()
    }

    /// Puts the rows in order of time; returns how many came later than their successor.
    pub(crate) fn sort(&mut self) -> u64 {
        let late = self.t_ns.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
        if late > 0 {
            let mut order: Vec<usize> = (0..self.len()).collect();
            order.sort_by_key(|&row| self.t_ns[row]);
            self.reorder(&order);
        }
        late
    }

    pub(crate) fn push_sack(&mut self, blocks: &[(u64, u64)]) {
        let block = |n: usize| blocks.get(n).copied().unwrap_or_default();
        self.sack_n.push(blocks.len().min(MAX_SACK) as u8);
        for (n, (start, end)) in [
            (&mut self.sack1_start, &mut self.sack1_end),
            (&mut self.sack2_start, &mut self.sack2_end),
            (&mut self.sack3_start, &mut self.sack3_end),
            (&mut self.sack4_start, &mut self.sack4_end),
        ]
        .into_iter()
        .enumerate()
        {
            let (from, to) = block(n);
            start.push(from);
            end.push(to);
        }
    }
}
