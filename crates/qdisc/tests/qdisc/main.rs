//! Queues as callers use them: packets in, packets out, through [`windtunnel_qdisc::QueueDiscipline`].

mod bench;
mod codel;
mod codel_mds;
mod config;
mod deltic;
mod deltim;
mod ecn;
mod fair;
mod fifo;
mod invariants;
mod mds;
mod nth;
mod oscillators;
mod overload;
mod pie;
mod pie_law;
mod red;
mod red_law;
mod relationship;
mod replay;
mod sce_ramp;
mod step;
mod threshold;
