//! The end of a record: its summaries and its tables.

use windtunnel_units::Time;

use super::Recorder;
use super::band_series::{self, BandColumns};
use super::class_series::ClassColumns;
use super::columns::{Rows, Table};
use super::digest::Digest;
use super::events::Events;
use super::flow_series::FlowTotals;
use super::frames::Frame;
use super::packets::Captures;
use super::points::Points;
use super::queue_series::QueueTotals;
use super::state::StateRecording;
use super::tcp_series::flow_table;
use crate::element::PlacedElement;
use crate::link::Link;
use crate::result::{ElementSummary, FlowSummary, QueueSummary, RunResult, Stalled, Summary, WindowSummary};

impl Recorder {
    /// All records but for secrets, which are the flows'; call it after the last interval has ended.
    pub(crate) fn finish(
        mut self,
        links: &mut [Link],
        elements: &[PlacedElement],
        end: Time,
        events: u64,
        stalled: Option<Stalled>,
    ) -> RunResult {
        // A run may end before windows that were to come.
        self.edges = vec![end];
        self.of_whole(links, &[], &|_| None, |recorder, whole| recorder.end_segment(end, whole));
        let is_media = |flow: usize| self.flow_info[flow].kind.media.is_some();
        let frames = self.transfers.frames(self.flow_info.len(), is_media);
        let windows = self
            .windows
            .iter()
            .map(|w| {
                let (flows, queues) = self.summaries((w.from, w.to), end, links, &frames);
                WindowSummary {
                    name: w.name.clone(),
                    from_s: w.from.as_secs_f64(),
                    to_s: w.to.as_secs_f64(),
                    flows,
                    queues,
                }
            })
            .collect();
        let (flows, queues) = self.summaries((Time::ZERO, end), end, links, &frames);
        let of_links = self.queues.iter().map(|queue| queue.digest);
        let of_flows = self.flows.iter().map(|flow| flow.digest);
        let digest = Digest::combined(of_links.chain(of_flows));
        let summary = Summary {
            duration_s: end.as_secs_f64(),
            stalled,
            digest: digest.hex(),
            packets: self.packets,
            events,
            flows,
            queues,
            elements: self.element_names.into_iter().zip(elements).map(element_summary).collect(),
            windows,
            changes: Vec::new(),
        };
        let mut tables: Vec<Table> =
            vec![flow_table(self.flow_rows, self.tcp_rows), self.queue_rows.into_table()];
        tables.extend(self.bands.into_rows().map(BandColumns::into_table));
        tables.extend(self.classes.into_rows().map(ClassColumns::into_table));
        if self.params.state != StateRecording::Off {
            tables.extend(self.cc.into_table());
            tables.extend(self.aqm.into_tables());
        }
        tables.extend(self.transfers.into_table());
        tables.extend(self.points.into_iter().flat_map(Points::into_tables));
        tables.extend(self.events.into_iter().flat_map(Events::into_tables));
        tables.extend(self.captures.into_iter().flat_map(Captures::into_tables));
        for table in &mut tables {
            self.outlet.finish(table);
        }
        RunResult { summary, tables, secrets: String::new() }
    }

    /// The summaries of `from..to`, which are edges of segments, of a run that ended at `end`. `frames` are by flow.
    fn summaries(
        &self,
        (from, to): (Time, Time),
        end: Time,
        links: &[Link],
        frames: &[Vec<Frame>],
    ) -> (Vec<FlowSummary>, Vec<QueueSummary>) {
        let segments = || self.segments.iter().filter(move |s| s.from >= from && s.to <= to);
        let of_flow = |index: usize| {
            let mut totals = FlowTotals::new();
            segments().for_each(|segment| totals.merge(&segment.flows[index]));
            totals
        };
        let of_queue = |index: usize| {
            let mut totals = QueueTotals::new();
            segments().for_each(|segment| totals.merge(&segment.queues[index]));
            totals
        };
        let span = to.since(from);
        let transfers = self.transfers.within(from, to);
        let of_frames = |index: usize| {
            let media = self.flow_info[index].kind.media?;
            let written = segments().map(|segment| segment.flows[index].messages()).sum();
            Some(media.summary((from, to), end, written, &frames[index]))
        };
        let flows = self.flows.iter().zip(&self.flow_info);
        let queues = self.queue_names.iter().zip(links);
        (
            flows
                .enumerate()
                .map(|(index, (flow, info))| {
                    flow.summary(&of_flow(index), (from, to), info, transfers.of(index), of_frames(index))
                })
                .collect(),
            queues
                .enumerate()
                .map(|(index, (name, link))| {
                    let read = |at: Time| {
                        let segment = self.segments.iter().find(|segment| segment.to == at);
                        segment.map_or(&[][..], |segment| &segment.bands[index])
                    };
                    let bands = band_series::summaries(read(from), read(to), span, link);
                    let of_classes = segments().map(|segment| &segment.classes[index]);
                    let classes = self.classes.summaries(&of_classes, &bands, index, link);
                    of_queue(index).summary(span, name, link.rate(), bands, classes)
                })
                .collect(),
        )
    }
}

fn element_summary(((name, kind), element): ((String, String), &PlacedElement)) -> ElementSummary {
    let stats = element.stats();
    ElementSummary {
        name,
        kind,
        arrived: stats.arrived,
        passed: stats.passed,
        lost: stats.lost,
        corrupted: stats.tally.corrupted,
        duplicated: stats.duplicated,
        reordered: stats.tally.reordered,
        bursts: stats.tally.bursts,
        rewritten: stats.tally.rewritten,
        held: element.held(),
    }
}
