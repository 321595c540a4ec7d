//! Queues as callers use them: packets in, packets out, through [`windtunnel_qdisc::QueueDiscipline`].

mod bench;
mod codel;
mod coexistence;
mod config;
mod deltic;
mod deltim;
mod dualpi2;
mod dualpi2_config;
mod ecn;
mod fair;
mod fifo;
mod invariants;
mod oscillators;
mod overload;
mod pi2;
mod pie;
mod pie_law;
mod red;
mod red_law;
mod relationship;
mod replay;
mod threshold;
