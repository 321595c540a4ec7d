//! Queues as callers use them: packets in, packets out, through [`windtunnel_qdisc::QueueDiscipline`].

mod bench;
mod codel;
mod config;
mod deltic;
mod deltim;
mod ecn;
mod fair;
mod fifo;
mod invariants;
mod nested;
mod oscillators;
mod overload;
mod pie;
mod pie_law;
mod police;
mod red;
mod red_law;
mod relationship;
mod replay;
mod round;
mod tbf;
mod threshold;
