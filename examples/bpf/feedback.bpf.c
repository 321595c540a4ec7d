// What a receiver of SCE does: each segment that arrives with ECT(1), which its sender has sent with ECT(0), is echoed
// once, as the flag AE in an ACK. Two programs at a device without a link layer (TUN). IPv4.
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define TC_ACT_OK 0
#define ECN_MASK 3
#define ECT_1 1

// By the receiver's port and the sender's: marks that no ACK has echoed.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} owed SEC(".maps");

// The TCP header of a packet; its offset is written, too.
static struct tcphdr *segment(struct __sk_buff *skb, __u32 *at, __u8 *tos)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data;
	if ((void *)(ip + 1) > end || ip->version != 4 || ip->protocol != IPPROTO_TCP)
		return 0;
	*at = ip->ihl * 4;
	*tos = ip->tos;
	struct tcphdr *tcp = data + (*at & 0x3c);
	return (void *)(tcp + 1) > end ? 0 : tcp;
}

SEC("tc")
int arrives(struct __sk_buff *skb)
{
	__u32 at;
	__u8 tos;
	struct tcphdr *tcp = segment(skb, &at, &tos);
	if (!tcp || (tos & ECN_MASK) != ECT_1)
		return TC_ACT_OK;
	__u32 key = bpf_ntohs(tcp->dest) << 16 | bpf_ntohs(tcp->source);
	__u64 one = 1, *marks = bpf_map_lookup_elem(&owed, &key);
	if (marks)
		__sync_fetch_and_add(marks, 1);
	else
		bpf_map_update_elem(&owed, &key, &one, BPF_ANY);
	return TC_ACT_OK;
}

SEC("tc")
int leaves(struct __sk_buff *skb)
{
	__u32 at;
	__u8 tos;
	struct tcphdr *tcp = segment(skb, &at, &tos);
	if (!tcp || !tcp->ack || tcp->syn)
		return TC_ACT_OK;
	__u32 key = bpf_ntohs(tcp->source) << 16 | bpf_ntohs(tcp->dest);
	__u64 *marks = bpf_map_lookup_elem(&owed, &key);
	if (!marks || !*marks)
		return TC_ACT_OK;
	__sync_fetch_and_add(marks, -1);
	// The data offset, three bits that are reserved, and AE; then the eight other flags.
	__be16 before, after;
	if (bpf_skb_load_bytes(skb, at + 12, &before, sizeof before))
		return TC_ACT_OK;
	after = before | bpf_htons(0x0100);
	bpf_l4_csum_replace(skb, at + 16, before, after, sizeof after);
	bpf_skb_store_bytes(skb, at + 12, &after, sizeof after, 0);
	return TC_ACT_OK;
}
