//! The DSCP that identifies MDS packets, for flows that send it and queues that read it.

use windtunnel_wire::Dscp;

use super::cursor::Cursor;
use super::fault::Fault;

/// Reads the key `mds_dscp` of a flow or a queue. Zero is refused: it is best effort, which all packets have, so that every
/// ECN-capable packet would be one of MDS.
pub(crate) fn mds_dscp(table: &Cursor<'_>) -> Result<Dscp, Fault> {
    let at = table.get("mds_dscp");
    if !at.is_given() {
        return Ok(Dscp::MDS);
    }
    let value: i64 = at.read()?;
    match u8::try_from(value) {
        Ok(0) => {
            Err(at.not_allowed("a code point from 1 to 63: 0 is best effort, which all other packets have"))
        }
        Ok(dscp @ 1..=63) => Ok(Dscp::new(dscp)),
        _ => Err(at.not_allowed("a code point from 1 to 63")),
    }
}
