// guest-queue DEVICE ZERO END INTERVAL FILE: the counters of a device's leaf qdisc (handle 2:), at each interval.
//
// Times are in nanoseconds of CLOCK_MONOTONIC; lines have times since ZERO. The kernel is asked by netlink, as tc does, but
// without a new process for each line. A line: time, bytes and packets sent, packets and bytes waiting, drops, and the
// discipline's own statistics (TCA_STATS_APP) in hexadecimal digits.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char answer[1 << 16];

static void must(long result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "guest-queue: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct rtattr *find(struct rtattr *first, int length, int type) {
    for (; RTA_OK(first, length); first = RTA_NEXT(first, length))
        if ((first->rta_type & NLA_TYPE_MASK) == type) return first;
    return NULL;
}

static void ask(int link, int device) {
    struct {
        struct nlmsghdr header;
        struct tcmsg body;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.tcm_family = AF_UNSPEC, .tcm_ifindex = device},
    };
    must(send(link, &request, sizeof request, 0), "ask");
}

static void write_line(FILE *file, int64_t time, struct rtattr *stats) {
    struct gnet_stats_basic basic = {0};
    struct gnet_stats_queue queue = {0};
    struct rtattr *first = RTA_DATA(stats), *found;
    int length = RTA_PAYLOAD(stats);
    uint64_t packets = 0;
    if ((found = find(first, length, TCA_STATS_BASIC))) {
        memcpy(&basic, RTA_DATA(found), sizeof basic.bytes + sizeof basic.packets);
        packets = basic.packets;
    }
    if ((found = find(first, length, TCA_STATS_PKT64))) memcpy(&packets, RTA_DATA(found), sizeof packets);
    if ((found = find(first, length, TCA_STATS_QUEUE))) memcpy(&queue, RTA_DATA(found), sizeof queue);
    fprintf(file, "%lld,%llu,%llu,%u,%u,%u,", (long long)time, (unsigned long long)basic.bytes,
            (unsigned long long)packets, queue.qlen, queue.backlog, queue.drops);
    if ((found = find(first, length, TCA_STATS_APP)))
        for (unsigned i = 0; i < RTA_PAYLOAD(found); i++) fprintf(file, "%02x", ((unsigned char *)RTA_DATA(found))[i]);
    fputc('\n', file);
}

static int read_answer(int link, int device, int64_t time, FILE *file) {
    int found = 0;
    for (;;) {
        long length = recv(link, answer, sizeof answer, 0);
        must(length, "answer");
        for (struct nlmsghdr *one = (void *)answer; NLMSG_OK(one, length); one = NLMSG_NEXT(one, length)) {
            if (one->nlmsg_type == NLMSG_DONE) return found;
            if (one->nlmsg_type != RTM_NEWQDISC) continue;
            struct tcmsg *body = NLMSG_DATA(one);
            if (body->tcm_ifindex != device || body->tcm_handle != 0x20000) continue;
            struct rtattr *stats = find(TCA_RTA(body), one->nlmsg_len - NLMSG_LENGTH(sizeof *body), TCA_STATS2);
            if (stats) {
                write_line(file, time, stats);
                found = 1;
            }
        }
    }
}

int main(int count, char **words) {
    if (count != 6) return 2;
    int64_t zero = strtoll(words[2], NULL, 10), end = strtoll(words[3], NULL, 10), every = strtoll(words[4], NULL, 10);
    int link = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), device = if_nametoindex(words[1]);
    must(link, "netlink");
    must(device ? 0 : -1, words[1]);
    FILE *file = fopen(words[5], "w");
    must(file ? 0 : -1, words[5]);
    fprintf(file, "time_ns,bytes,packets,qlen,backlog,drops,own\n");
    for (int64_t at = zero; at <= end; at += every) {
        struct timespec until = {at / 1000000000LL, at % 1000000000LL};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        }
        ask(link, device);
        if (!read_answer(link, device, at - zero, file)) {
            fprintf(stderr, "guest-queue: the discipline is gone\n");
            return 1;
        }
    }
    fclose(file);
    return 0;
}
