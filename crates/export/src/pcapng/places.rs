//! Where a row's packet was seen, and the interfaces of a file: one for each place that it shows.

use std::io::{self, Write};

use super::blocks::{Blocks, Direction};
use super::{Flow, Format, Packets, Point};

/// The place of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) point: Point,
    pub(super) flow: u32,
    pub(super) queue: u32,
    /// In the direction of the ACKs.
    pub(super) reply: bool,
}

impl Place {
    /// The place of row `index`, if a run with this number of flows and queues can have such a row.
    pub(super) fn of(
        packets: &Packets<'_>,
        index: usize,
        flows: usize,
        queues: usize,
    ) -> Result<Place, String> {
        let (tap, flow, queue) = (packets.tap[index], packets.flow[index], packets.queue[index]);
        let point = *Point::ALL.get(usize::from(tap)).ok_or_else(|| format!("{tap} is not a tap"))?;
        if flow as usize >= flows {
            return Err(format!("flow {flow} is not one of {flows}"));
        }
        if matches!(point, Point::QueueIn | Point::QueueOut) && queue as usize >= queues {
            return Err(format!("queue {queue} is not one of {queues}"));
        }
        Ok(Place { point, flow, queue, reply: packets.dir[index] != 0 })
    }

    /// Whether the packet arrived there or left.
    pub(super) const fn direction(self) -> Direction {
        let leaves = match self.point {
            Point::Sender => !self.reply,
            Point::Receiver => self.reply,
            Point::QueueIn => false,
            Point::QueueOut => true,
        };
        if leaves { Direction::Outbound } else { Direction::Inbound }
    }
}

/// The first interface of each captured point.
#[derive(Debug)]
pub(super) struct Interfaces {
    first: [Option<u32>; 4],
    /// Both sides of a queue are neighbours: with both captured, successive queues are two interfaces apart.
    per_queue: u32,
    count: u32,
}

impl Interfaces {
    pub(super) const fn count(&self) -> usize {
        self.count as usize
    }

    /// The interface of a place; none if the file does not show it.
    pub(super) fn of(&self, position: Place) -> Option<u32> {
        let offset = match position.point {
            Point::Sender | Point::Receiver => position.flow,
            Point::QueueIn | Point::QueueOut => position.queue * self.per_queue,
        };
        self.first[position.point as usize].map(|first| first + offset)
    }

    /// Describes the interfaces of all points: senders, queues, receivers.
    pub(super) fn describe<W: Write>(
        blocks: &mut Blocks<W>,
        flows: &[Flow],
        queues: &[String],
        format: &Format,
    ) -> io::Result<Interfaces> {
        let mut described = Interfaces { first: [None; 4], per_queue: 0, count: 0 };
        let mut add = |point: Point, name: String, about: String| -> io::Result<()> {
            described.first[point as usize].get_or_insert(described.count);
            described.count += 1;
            blocks.interface(format.link, format.snaplen, &name, &about)
        };
        let wanted = |point| format.points.contains(&point);
        if wanted(Point::Sender) {
            for flow in flows {
                add(Point::Sender, format!("snd.{}", flow.name), format!("sender of flow {}", flow.name))?;
            }
        }
        for queue in queues {
            if wanted(Point::QueueIn) {
                add(Point::QueueIn, format!("q.{queue}.in"), format!("before queue {queue}"))?;
            }
            if wanted(Point::QueueOut) {
                add(Point::QueueOut, format!("q.{queue}.out"), format!("after queue {queue}"))?;
            }
        }
        if wanted(Point::Receiver) {
            for flow in flows {
                let about = format!("receiver of flow {}", flow.name);
                add(Point::Receiver, format!("rcv.{}", flow.name), about)?;
            }
        }
        described.per_queue = u32::from(wanted(Point::QueueIn)) + u32::from(wanted(Point::QueueOut));
        Ok(described)
    }
}
