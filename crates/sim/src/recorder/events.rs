//! Every dequeue and every ACK, for short runs that are compared event by event.

use windtunnel_qdisc::QueueDiscipline;

use super::columns::columns;

columns! {
    pub(crate) struct DequeueEvents as "dequeue_events" {
        t_ns: U64(u64),
        queue: U32(u32),
        flow: U32(u32),
        seq: U64(u64),
        size: U32(u32),
        sojourn_ns: U64(u64),
        mark: U8(u8),
        acc: I64(i64),
        mds_osc: I64(i64),
        conv_osc: I64(i64),
    }
}
columns! {
    pub(crate) struct AckEvents as "ack_events" {
        t_ns: U64(u64),
        flow: U32(u32),
        ack: U64(u64),
        rtt_ns: U64(u64),
        srtt_ns: U64(u64),
        feedback: U8(u8),
        cwnd: U64(u64),
        in_flight: U64(u64),
        slow_start: Bool(bool),
    }
}

impl DequeueEvents {
    /// Adds the AQM's state to the event just pushed; zero for what it does not have.
    pub(crate) fn push_state(&mut self, queue: &dyn QueueDiscipline) {
        let mut state = [0_i64; 3];
        queue.probe(&mut |name, value| match name {
            "acc" => state[0] = value as i64,
            "mds_osc" => state[1] = value as i64,
            "osc" => state[2] = value as i64,
            _ => {}
        });
        self.acc.push(state[0]);
        self.mds_osc.push(state[1]);
        self.conv_osc.push(state[2]);
    }
}
