// Controllers that answer SCE, in the kernel:
//
// - reno_mds and scalable_mds: a reduction by the 64th root of the usual one on each ESCE (P. Heist,
//   "Multiplicative Decrease Scaling"; docs/spec/mds.md, sections 1 to 3);
// - reno_sce: Reno that gives up 1/sqrt(W) for each segment acknowledged with ESCE
//   (docs/spec/queues-and-signalling.md, section 15.3).
//
// ESCE is the TCP flag AE in an ACK. The kernel does not show it to controllers: a sockops program sees each header that
// arrives, before the controller does, and notes the flag in the socket's storage.
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define TAU 64
// 1 - 0.5^(1/64), in 10^-9.
#define DECREASE 10771987ULL
// Windows are in segments, with fractions of 16 bits.
#define ONE (1ULL << 16)
#define LEAST (2 * ONE)
// Scalable TCP grows as Reno below this number of bytes, and by a 200th of what is acknowledged above.
#define LOW_WINDOW 250000
#define SCALABLE 200

enum law { RENO_MDS, SCALABLE_MDS, RENO_SCE };

struct flow {
	__u64 responses[TAU]; // the times of the last reductions by ESCE: at most TAU within a smoothed round trip
	__u64 esce;           // ACKs with ESCE that no controller has answered
	__u32 next;           // where the oldest of those times is
	__u32 fraction;       // what the window has above whole segments
	__u32 recent;         // ACKs until an ESCE is no longer recent
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

SEC("sockops")
int hear(struct bpf_sock_ops *ops)
{
	if (ops->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG);
	if (ops->op == BPF_SOCK_OPS_PARSE_HDR_OPT_CB) {
		__u8 *tcp = ops->skb_data;
		struct bpf_sock *sk = ops->sk;
		if (!sk || (void *)(tcp + 20) > ops->skb_data_end || !(tcp[12] & 1))
			return 1;
		struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
		if (flow)
			flow->esce++;
	}
	return 1;
}

// The square root of a window, by Newton's method: eight steps lead from here to those of 2 and of 2^16 segments.
static __u64 root(__u64 window)
{
	__u64 guess = 1 << 12;
	for (int i = 0; i < 8; i++)
		guess = (guess + window / guess) / 2;
	return guess;
}

// MDS: a response to one ESCE, if fewer than TAU were within the last round trip.
static __u64 scaled_down(struct tcp_sock *tp, struct flow *flow, __u64 window)
{
	__u64 now = bpf_ktime_get_ns(), *oldest = &flow->responses[flow->next % TAU];
	if (*oldest && now - *oldest < (tp->srtt_us >> 3) * 1000ULL)
		return window;
	*oldest = now;
	flow->next++;
	return window - window * DECREASE / 1000000000;
}

// The window after ACKs with ESCE for `acked` segments, which grow nothing.
static __u64 answered(struct tcp_sock *tp, struct flow *flow, __u64 window, __u32 acked, enum law law)
{
	if (law == RENO_SCE) {
		// 1/sqrt(W), of a window with 16 bits of fraction: 2^24 / sqrt(W * 2^16).
		__u64 less = acked * ((ONE << 8) / (root(window) ?: 1));
		window = window > LEAST + less ? window - less : LEAST;
		flow->recent = tp->snd_cwnd + 1;
	} else {
		for (int i = 0; i < TAU && flow->esce; i++, flow->esce--)
			window = scaled_down(tp, flow, window);
	}
	flow->esce = 0;
	// The first one ends slow start; with SCE at half of the window.
	if (law == RENO_SCE && tp->snd_cwnd < tp->snd_ssthresh)
		window /= 2;
	if (window < LEAST)
		window = LEAST;
	// A window below the threshold would be in slow start again.
	if (window >> 16 < tp->snd_ssthresh)
		tp->snd_ssthresh = window >> 16;
	return window;
}

static __u64 grown(struct tcp_sock *tp, __u64 window, __u32 acked, enum law law)
{
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return window + acked * ONE;
	if (law == SCALABLE_MDS && tp->snd_cwnd * tp->mss_cache >= LOW_WINDOW)
		return window + acked * ONE / SCALABLE;
	return window + acked * (ONE * ONE / window);
}

static void avoid(struct sock *sk, __u32 acked, enum law law)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!flow)
		return;
	__u64 window = tp->snd_cwnd * ONE + flow->fraction;
	if (flow->recent)
		flow->recent--;
	if (flow->esce)
		window = answered(tp, flow, window, acked, law);
	else if (tp->is_cwnd_limited)
		window = grown(tp, window, acked, law);
	flow->fraction = window % ONE;
	tp->snd_cwnd = window / ONE;
}

SEC("struct_ops/begin")
void BPF_PROG(begin, struct sock *sk)
{
	bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops/half")
__u32 BPF_PROG(half, struct sock *sk)
{
	__u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd / 2;
	return cwnd > 2 ? cwnd : 2;
}

// Half for a loss; three quarters for CE, or seven eighths if there was ESCE within a window of ACKs.
SEC("struct_ops/by_signal")
__u32 BPF_PROG(by_signal, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&flows, sk, 0, 0);
	__u32 cwnd = tp->snd_cwnd;
	if (tp->lost_out || tp->sacked_out)
		cwnd /= 2;
	else
		cwnd -= flow && flow->recent ? cwnd / 8 : cwnd / 4;
	return cwnd > 2 ? cwnd : 2;
}

SEC("struct_ops/undo")
__u32 BPF_PROG(undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

#define CONTROLLER(NAME, LAW, SSTHRESH)                                                                                \
	SEC("struct_ops/" #NAME "_avoid")                                                                              \
	void BPF_PROG(NAME##_avoid, struct sock *sk, __u32 ack, __u32 acked) { avoid(sk, acked, LAW); }                 \
	SEC(".struct_ops")                                                                                             \
	struct tcp_congestion_ops NAME = {                                                                             \
		.init = (void *)begin,                                                                                 \
		.ssthresh = (void *)SSTHRESH,                                                                          \
		.cong_avoid = (void *)NAME##_avoid,                                                                    \
		.undo_cwnd = (void *)undo,                                                                             \
		.name = #NAME,                                                                                  \
	}

CONTROLLER(reno_mds, RENO_MDS, half);
CONTROLLER(scalable_mds, SCALABLE_MDS, half);
CONTROLLER(reno_sce, RENO_SCE, by_signal);
