//! Queues as callers use them: packets in, packets out, through [`windtunnel_qdisc::QueueDiscipline`].

mod bench;
mod choke;
mod cnq_lfq;
mod cobalt;
mod codel;
mod config;
mod deltic;
mod deltim;
mod dualsparse;
mod ecn;
mod fair;
mod fifo;
mod invariants;
mod lfqsim;
mod nested;
mod oscillators;
mod overload;
mod pie;
mod pie_law;
mod red;
mod red_law;
mod relationship;
mod replay;
mod sfb;
mod tbf;
mod threshold;
