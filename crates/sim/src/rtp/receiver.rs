//! The receiving end: counts data units, and reports on them.
//!
//! A report leaves with the last data unit of a frame, with every sixteenth, and at the latest 40 ms after the first unit that no
//! report covers (draft-ietf-ccwg-rfc8298bis-screamv2, section "Receiver Requirements on Feedback Intensity").

use windtunnel_tcp::Endpoint;
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, Packet};

use super::{COVERED, REPORT, Report};
use crate::application::{Receipt, Receipts};
use crate::endpoint::{Arrival, ReceiverHalf};

/// A report covers at most this many new data units.
const MOST_UNREPORTED: u32 = 16;
/// The longest time before an arrival is reported.
const LONGEST_WAIT: Duration = Duration::from_millis(40);
/// What a report carries besides its payload: IPv4 and UDP.
const REPORT_HEADERS: Bytes = Bytes::new(28);

/// The receiving end of media over RTP.
#[derive(Debug)]
pub(crate) struct RtpReceiver {
    endpoint: Endpoint,
    receipts: Receipts,
    /// What the last data unit told.
    receipt: Option<Receipt>,
    /// What the next report says.
    report: Report,
    /// Data units that no report covers.
    unreported: u32,
    /// When a report is due at the latest.
    due: Time,
    report_now: bool,
    /// When the last data units arrived, by their number modulo [`COVERED`]; only if reports tell it.
    arrivals: Option<Box<[Time; COVERED as usize]>>,
}

impl RtpReceiver {
    pub(crate) fn new(endpoint: Endpoint, reports_arrivals: bool) -> RtpReceiver {
        let report = Report { highest: 0, arrived: 0, arrival: Time::ZERO, sent: Time::ZERO, ce: 0 };
        RtpReceiver {
            endpoint,
            receipts: Receipts::new(),
            receipt: None,
            report,
            unreported: 0,
            due: Time::NEVER,
            report_now: false,
            arrivals: reports_arrivals.then(|| Box::new([Time::ZERO; COVERED as usize])),
        }
    }

    /// A data unit arrived for the first time.
    fn note(&mut self, number: u64, ecn: Ecn, now: Time) {
        let report = &mut self.report;
        if number > report.highest {
            let moved = number - report.highest;
            report.arrived = if moved < COVERED { report.arrived << moved | 1 } else { 1 };
            report.highest = number;
            report.arrival = now;
        } else if report.highest - number < COVERED {
            report.arrived |= 1 << (report.highest - number);
        }
        if let Some(arrivals) = &mut self.arrivals
            && report.highest - number < COVERED
        {
            arrivals[(number % COVERED) as usize] = now;
        }
        if ecn == Ecn::Ce {
            report.ce = report.ce.wrapping_add(1);
        }
    }
}

impl ReceiverHalf for RtpReceiver {
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival {
        let receipt = self.receipts.record(packet.seq.get(), packet.ts_val, now);
        if receipt.new {
            self.note(packet.seq.get(), packet.ecn, now);
            self.unreported += 1;
            self.due = self.due.min(now + LONGEST_WAIT);
            let last_of_frame = packet.window == 1;
            self.report_now |= last_of_frame || self.unreported >= MOST_UNREPORTED;
        }
        let delivered = if receipt.new { packet.payload() } else { Bytes::ZERO };
        self.receipt = Some(receipt);
        Arrival { delivered, understands_sce: false }
    }

    fn receipt(&mut self) -> Option<Receipt> {
        self.receipt.take()
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        if !self.report_now {
            return None;
        }
        self.report_now = false;
        self.unreported = 0;
        self.due = Time::NEVER;
        self.report.sent = now;
        let mut packet = Packet::new(self.endpoint.flow, REPORT, REPORT - REPORT_HEADERS);
        packet.dscp = self.endpoint.dscp;
        self.report.write(&mut packet);
        if let Some(arrivals) = &self.arrivals {
            let highest = self.report.highest;
            let covered = 0..COVERED.min(highest);
            packet.set_arrivals(
                covered.map(|below| arrivals[((highest - below) % COVERED) as usize]).collect(),
            );
        }
        Some(packet)
    }

    fn next_timer(&self) -> Time {
        self.due
    }

    fn on_timer(&mut self, _now: Time) -> Bytes {
        self.report_now = true;
        Bytes::ZERO
    }

    fn is_done(&self) -> bool {
        self.due == Time::NEVER
    }
}
