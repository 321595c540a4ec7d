//! What a decorator hands on: the methods of a trait that it answers by asking what is inside.
//!
//! A decorator names them, so that a reader sees which it has of its own. Signatures are those of
//! [`crate::aqm::Aqm`] and [`crate::QueueDiscipline`].

/// Methods of [`crate::Aqm`] that the AQM `$inside` answers.
macro_rules! hand_on_aqm {
    ($self:ident => $inside:expr; $($method:ident)+) => {
        $($crate::hand_on::hand_on_aqm! { @$method $self $inside })+
    };
    (@on_enqueue $self:ident $inside:expr) => {
        fn on_enqueue(&mut $self, packet: &$crate::PacketView, queue: &$crate::QueueView) -> $crate::Verdict {
            $inside.on_enqueue(packet, queue)
        }
    };
    (@on_full $self:ident $inside:expr) => {
        fn on_full(&mut $self, now: windtunnel_units::Time) {
            $inside.on_full(now);
        }
    };
    (@on_dequeue $self:ident $inside:expr) => {
        fn on_dequeue(&mut $self, packet: &$crate::PacketView, queue: &$crate::QueueView) -> $crate::Verdict {
            $inside.on_dequeue(packet, queue)
        }
    };
    (@on_empty $self:ident $inside:expr) => {
        fn on_empty(&mut $self, now: windtunnel_units::Time) {
            $inside.on_empty(now);
        }
    };
    (@on_shed $self:ident $inside:expr) => {
        fn on_shed(&mut $self, packets: u32, now: windtunnel_units::Time) {
            $inside.on_shed(packets, now);
        }
    };
    (@on_lost $self:ident $inside:expr) => {
        fn on_lost(&mut $self, flow: windtunnel_wire::FlowId) {
            $inside.on_lost(flow);
        }
    };
    (@on_sparse $self:ident $inside:expr) => {
        fn on_sparse(&mut $self, flow: windtunnel_wire::FlowId, now: windtunnel_units::Time) {
            $inside.on_sparse(flow, now);
        }
    };
    (@is_on_arrival $self:ident $inside:expr) => {
        fn is_on_arrival(&$self) -> bool {
            $inside.is_on_arrival()
        }
    };
    (@over_target $self:ident $inside:expr) => {
        fn over_target(&$self) -> Option<bool> {
            $inside.over_target()
        }
    };
    (@next_timer $self:ident $inside:expr) => {
        fn next_timer(&$self) -> Option<windtunnel_units::Time> {
            $inside.next_timer()
        }
    };
    (@on_timer $self:ident $inside:expr) => {
        fn on_timer(&mut $self, queue: &$crate::QueueView) {
            $inside.on_timer(queue);
        }
    };
    (@probe $self:ident $inside:expr) => {
        fn probe(&$self, out: &mut dyn FnMut(&'static str, f64)) {
            $inside.probe(out);
        }
    };
}

/// Methods of [`crate::QueueDiscipline`] that the queue `$inside` answers.
macro_rules! hand_on_queue {
    ($self:ident => $inside:expr; $($method:ident)+) => {
        $($crate::hand_on::hand_on_queue! { @$method $self $inside })+
    };
    (@choose $self:ident $inside:expr) => {
        fn choose(&mut $self, cx: &mut $crate::QueueCx) -> Option<windtunnel_units::Bytes> {
            $inside.choose(cx)
        }
    };
    (@serve $self:ident $inside:expr) => {
        fn serve(&mut $self, cx: &mut $crate::QueueCx) -> Option<windtunnel_wire::Packet> {
            $inside.serve(cx)
        }
    };
    (@dequeue $self:ident $inside:expr) => {
        fn dequeue(&mut $self, cx: &mut $crate::QueueCx) -> Option<windtunnel_wire::Packet> {
            $inside.dequeue(cx)
        }
    };
    (@next_ready $self:ident $inside:expr) => {
        fn next_ready(&$self, now: windtunnel_units::Time) -> Option<windtunnel_units::Time> {
            $inside.next_ready(now)
        }
    };
    (@peeks $self:ident $inside:expr) => {
        fn peeks(&$self) -> bool {
            $inside.peeks()
        }
    };
    (@room $self:ident $inside:expr) => {
        fn room(&mut $self) -> Option<&mut $crate::Room> {
            $inside.room()
        }
    };
    (@learn_hosts $self:ident $inside:expr) => {
        fn learn_hosts(&mut $self, hosts: &$crate::FlowHosts) {
            $inside.learn_hosts(hosts);
        }
    };
    (@backlog $self:ident $inside:expr) => {
        fn backlog(&$self) -> $crate::Backlog {
            $inside.backlog()
        }
    };
    (@next_timer $self:ident $inside:expr) => {
        fn next_timer(&$self) -> Option<windtunnel_units::Time> {
            $inside.next_timer()
        }
    };
    (@on_timer $self:ident $inside:expr) => {
        fn on_timer(&mut $self, cx: &mut $crate::QueueCx) {
            $inside.on_timer(cx);
        }
    };
    (@bands $self:ident $inside:expr) => {
        fn bands(&$self) -> usize {
            $inside.bands()
        }
    };
    (@band_name $self:ident $inside:expr) => {
        fn band_name(&$self, band: usize) -> String {
            $inside.band_name(band)
        }
    };
    (@classes $self:ident $inside:expr) => {
        fn classes(&$self) -> Vec<String> {
            $inside.classes()
        }
    };
    (@class_of $self:ident $inside:expr) => {
        fn class_of(&$self, band: usize) -> usize {
            $inside.class_of(band)
        }
    };
    (@band_backlog $self:ident $inside:expr) => {
        fn band_backlog(&$self, band: usize) -> $crate::Backlog {
            $inside.band_backlog(band)
        }
    };
    (@probe_band $self:ident $inside:expr) => {
        fn probe_band(&$self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
            $inside.probe_band(band, out);
        }
    };
}

pub(crate) use {hand_on_aqm, hand_on_queue};
