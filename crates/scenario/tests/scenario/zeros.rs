//! Quantities and counts that may be zero.

use serde_json::{Value, json};
use windtunnel_scenario::{Registry, Scenario};

use crate::fields::{Field, visit};

/// Where zero means something: no delay, no bytes, a threshold below every value, a mechanism that is off. Everywhere
/// else it is refused. A new key that accepts zero says in its description what zero means, or it refuses zero. For these
/// keys readers know what it means.
const MEANINGFUL: &[&str] = &[
    "seed",
    "tcp.rto_min",
    "tcp.jitter",
    "tcp.gro",
    "bottleneck.queue(ramp).min",
    "bottleneck.queue(red).delay_target",
    "bottleneck.queue(codel).ce_threshold",
    "bottleneck.queue(codel).mtu",
    "bottleneck.queue(cobalt).mtu_time",
    "bottleneck.queue(codel-af).mtu_time",
    "bottleneck.queue(pie).max_burst",
    "bottleneck.queue(pie-mds).max_burst",
    "bottleneck.queue(red-mds).delay_target",
    "bottleneck.queue(codel-mds).mtu",
    "bottleneck.queue(fq_codel).ce_threshold",
    "bottleneck.queue(fq).initial_quantum",
    "bottleneck.queue(fq).refill_delay",
    "bottleneck.queue(fq).low_rate_threshold",
    "bottleneck.queue(fq).ce_threshold",
    "bottleneck.queue(cake).overhead",
    "bottleneck.queue(cake).mpu",
    "bottleneck.queue(twin-af).mtu_time",
    "bottleneck.queue(dualsparse).dscp",
    "bottleneck.queue(dualpi2).min_qlen_step",
    "bottleneck.queue(dualpi2).tshift",
    "bottleneck.queue(prio).filters[0].dscp[0]",
    "bottleneck.queue(prio).filters[0].flows[0]",
    "bottleneck.queue(prio).default_band",
    "bottleneck.queue(drr).default_band",
    "bottleneck.queue(wrr).default_band",
    "bottleneck.queue(tbf).latency",
    "bottleneck.queue(tbf).mpu",
    "bottleneck.queue(tbf).overhead",
    "bottleneck.queue(police).mpu",
    "bottleneck.queue(police).overhead",
    "bottleneck.impair(outage).times[0].from",
    "bottleneck.impair(outage).only.dscp[0]",
    "bottleneck.impair(outage).only.flows[0]",
    "bottleneck.impair(outage).during.from",
    "bottleneck.impair(jitter).distribution(fixed).value",
    "bottleneck.impair(jitter).distribution(uniform).min",
    "bottleneck.impair(jitter).distribution(listed).values[0]",
    "bottleneck.impair(jitter).deviation",
    "bottleneck.impair(linear-delay).min",
    "bottleneck.impair(burst-delay).latency",
    "bottleneck.overhead",
    "bottleneck.delay",
    "bottleneck.ring",
    "reverse.overhead",
    "reverse.delay",
    "reverse.ring",
    "link[0].overhead",
    "link[0].delay",
    "link[0].ring",
    "flow[0].cc(reno).slow_start(hystart).delay_min",
    "flow[0].cc(reno).slow_start(hystart).min_samples",
    "flow[0].cc(reno).slow_start(hystart).ack_spacing",
    "flow[0].cc(reno).slow_start(hystart).low_window",
    "flow[0].cc(reno).slow_start(hystart-pp).min_rtt_thresh",
    "flow[0].cc(reno).slow_start(hystart-pp).css_rounds",
    "flow[0].cc(cubic).hystart_low_window",
    "flow[0].cc(cubic).hystart_ack_delta_us",
    "flow[0].cc(cubic).hystart_ack_delta",
    "flow[0].cc(bic).low_window",
    "flow[0].cc(vegas).alpha",
    "flow[0].cc(vegas).gamma",
    "flow[0].cc(illinois).win_thresh",
    "flow[0].cc(illinois).theta",
    "flow[0].cc(compound).low_window",
    "flow[0].cc(cdg).backoff_factor",
    "flow[0].cc(nv).nv_pad_buffer",
    "flow[0].cc(nv).nv_cong_dec_mult",
    "flow[0].cc(nv).nv_dec_eval_min_calls",
    "flow[0].cc(nv).nv_inc_eval_min_calls",
    "flow[0].cc(nv).nv_ssthresh_eval_min_calls",
    "flow[0].cc(nv).nv_stop_rtt_cnt",
    "flow[0].cc(nv).nv_rtt_min_cnt",
    "flow[0].cc(lp).timestamp_offset",
    "flow[0].cc(prague).prague_cwnd_transit",
    "flow[0].cc(prague).prague_rtt_transition",
    "flow[0].cc(prague).prague_burst_shift",
    "flow[0].cc(c4).jitter_restarts",
    "flow[0].start",
    "flow[0].active[0].from",
    "flow[0].stagger",
    "flow[0].app(on-off).on(fixed).value",
    "flow[0].app(on-off).on(uniform).min",
    "flow[0].app(on-off).on(listed).values[0]",
    "flow[0].app(request-response).size(uniform).min",
    "flow[0].tcp.rto_min",
    "flow[0].tcp.jitter",
    "flow[0].tcp.gro",
    "flow[0].ack.duplicates",
    "flow[0].ack.optimistic_lead",
];

#[test]
fn zero_is_accepted_where_it_means_something() {
    let mut accepted = Vec::new();
    visit(&mut |field| {
        // The AQM of a discipline's flows and an element in a list follow the same rules as where they are used alone.
        if field.explains_zero()
            || [".aqm", ".classic(", ".low_latency(", "impair[0]"]
                .iter()
                .any(|part| field.name.contains(part))
        {
            return;
        }
        let text = zero(field).map(|zero| field.file(zero));
        if text.is_some_and(|text| Scenario::parse(&text, None, &[], &Registry::default()).is_ok()) {
            accepted.push(field.name.clone());
        }
    });
    assert_eq!(accepted, MEANINGFUL);
}

/// Zero in the unit of a field, if it is a quantity or a count.
fn zero(field: &Field<'_>) -> Option<Value> {
    field.types.iter().find_map(|one| match one["x-unit"].as_str() {
        Some("time") => Some(json!("0 s")),
        Some("bytes") => Some(json!("0 B")),
        Some("rate") => Some(json!("0 bit/s")),
        _ => field.may_be("integer").then(|| json!(0)),
    })
}
