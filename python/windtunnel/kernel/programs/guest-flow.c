// One end of a TCP flow.
//
//   guest-flow until TIME                        waits for a time of CLOCK_MONOTONIC, in nanoseconds, that is to come
//   guest-flow receive ADDRESS PORT CC           takes one connection, and reads it to its end; CC gives the feedback
//   guest-flow arrivals DEVICE ZERO END INTERVAL FILE    writes what has arrived at a receiver's device, for each interval
//   guest-flow send ADDRESS PORT key=value...    sends, and writes a line for each interval: TCP_INFO, and in hexadecimal
//                                                digits what the controller tells about itself (TCP_CC_INFO)
//
// The keys of a sender: cc, its controller; start, stop and zero, in nanoseconds of CLOCK_MONOTONIC (lines have times since
// zero); interval in nanoseconds; mss; file, the table to write; messages, what it writes (a file), without which it sends
// all that it can until stop; close=1, to close the connection after its last message; done, the table of messages.
//
// A message is a line: "at TIME BYTES" is written at a time since zero, "after TIME BYTES" that long after all before it was
// acknowledged. The table of messages has when each was due, when its last byte was acknowledged, and its bytes.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static char data[1 << 17];

static void must(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "guest-flow: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct timespec at(int64_t ns) { return (struct timespec){ns / 1000000000LL, ns % 1000000000LL}; }

static void wait_until(int64_t time) {
    struct timespec until = at(time);
    if (now() > time) {
        fprintf(stderr, "guest-flow: the time is over\n");
        exit(1);
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static struct sockaddr_in place(char **words) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[3]))};
    must(inet_pton(AF_INET, words[2], &to.sin_addr) - 1, words[2]);
    return to;
}

static int receive(char **words) {
    struct sockaddr_in here = place(words);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    must(setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, words[4], strlen(words[4])), words[4]);
    must(bind(listener, (void *)&here, sizeof here), "bind");
    must(listen(listener, 1), "listen");
    int end = accept(listener, NULL, NULL);
    must(end, "accept");
    // MSG_TRUNC discards what has come without copying it.
    while (recv(end, data, sizeof data, MSG_TRUNC) > 0) {
    }
    return 0;
}

static long long counter(const char *device, const char *name) {
    char path[200];
    long long value = -1;
    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", device, name);
    FILE *file = fopen(path, "r");
    must(file && fscanf(file, "%lld", &value) == 1 ? 0 : -1, path);
    fclose(file);
    return value;
}

// The packets with CE that have come to this host. /proc has them in two lines, of names and of values. The sender's own
// count (tcpi_delivered_ce) is of all packets that are acknowledged while the receiver echoes a mark.
static long long marked(void) {
    static char names[4000], values[4000];
    char *rest_of_names, *rest_of_values;
    FILE *file = fopen("/proc/net/netstat", "r");
    must(file ? 0 : -1, "netstat");
    while (fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
        char *name = strtok_r(names, " \n", &rest_of_names), *value = strtok_r(values, " \n", &rest_of_values);
        for (; name && value; value = strtok_r(NULL, " \n", &rest_of_values)) {
            if (!strcmp(name, "InCEPkts")) {
                fclose(file);
                return strtoll(value, NULL, 10);
            }
            name = strtok_r(NULL, " \n", &rest_of_names);
        }
    }
    errno = ENOENT;
    must(-1, "InCEPkts");
    return 0;
}

static int arrivals(char **words) {
    int64_t zero = strtoll(words[3], NULL, 10), end = strtoll(words[4], NULL, 10), every = strtoll(words[5], NULL, 10);
    FILE *table = fopen(words[6], "w");
    must(table ? 0 : -1, words[6]);
    fprintf(table, "time_ns,packets,bytes,ce\n");
    for (int64_t time = zero; time <= end; time += every) {
        wait_until(time);
        fprintf(table, "%lld,%lld,%lld,%lld\n", (long long)(time - zero), counter(words[2], "rx_packets"),
                counter(words[2], "rx_bytes"), marked());
    }
    fclose(table);
    return 0;
}

static const char *text(char **words, const char *key, const char *otherwise) {
    size_t length = strlen(key);
    for (char **word = words + 4; *word; word++)
        if (!strncmp(*word, key, length) && (*word)[length] == '=') return *word + length + 1;
    return otherwise;
}

static int64_t number(char **words, const char *key) { return strtoll(text(words, key, "0"), NULL, 10); }

static void sample(FILE *table, int end, int64_t time) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    must(getsockopt(end, IPPROTO_TCP, TCP_INFO, &info, &length), "TCP_INFO");
    fprintf(table, "%lld,%u,%u,%u,%u,%u,%llu,%llu,%u,%u,%u,%u,%u,%u,%lld,%u,", (long long)time, info.tcpi_snd_cwnd,
            info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_rttvar, info.tcpi_min_rtt,
            (unsigned long long)info.tcpi_bytes_acked, (unsigned long long)info.tcpi_bytes_sent, info.tcpi_delivered,
            info.tcpi_delivered_ce, info.tcpi_total_retrans, info.tcpi_lost, info.tcpi_unacked, info.tcpi_ca_state,
            info.tcpi_pacing_rate == ~0ULL ? -1LL : (long long)info.tcpi_pacing_rate, info.tcpi_snd_mss);
    // With TCP_INFO, this is what `ss -i` shows. Of most controllers there is nothing.
    unsigned char own[64];
    length = sizeof own;
    must(getsockopt(end, IPPROTO_TCP, TCP_CC_INFO, own, &length), "TCP_CC_INFO");
    for (socklen_t i = 0; i < length; i++) fprintf(table, "%02x", own[i]);
    fputc('\n', table);
}

struct message {
    int after;  // whether its time counts from the acknowledgment of all before it
    int64_t time, bytes, due, end;
};

// What is written, and how much of it is acknowledged. Without messages: all that fits.
struct messages {
    struct message *all;
    int count, written, done;
    int64_t unwritten, end, acked;  // bytes of the stream
};

static struct messages read_messages(const char *path) {
    struct messages m = {0};
    char kind[8];
    long long time, bytes;
    FILE *file = fopen(path, "r");
    must(file ? 0 : -1, path);
    for (int room = 0; fscanf(file, "%7s %lld %lld", kind, &time, &bytes) == 3; m.count++) {
        if (m.count == room) m.all = realloc(m.all, (room = 2 * room + 64) * sizeof *m.all);
        must(m.all ? 0 : -1, path);
        m.all[m.count] = (struct message){.after = !strcmp(kind, "after"), .time = time, .bytes = bytes};
    }
    fclose(file);
    return m;
}

// When the next message is due; never while it waits for an acknowledgment, and after the last.
static int64_t next_due(struct messages *m, int64_t zero, int64_t last) {
    if (m->written == m->count) return INT64_MAX;
    struct message *next = m->all + m->written;
    if (!next->after) return zero + next->time;
    return m->done == m->written ? last + next->time : INT64_MAX;
}

// The kernel tells by a timestamp when the last byte of each write is acknowledged (SOF_TIMESTAMPING_TX_ACK); its key is
// the byte's number in the stream, of 32 bits.
static void tell_acks(int end) {
    int flags = SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
    int one = 1;
    must(setsockopt(end, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags), "timestamps");
    must(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "nodelay");
}

// Whether there was anything; the connection is broken if an error has no timestamp.
static int read_acks(int end, struct messages *m) {
    union {
        struct cmsghdr first;
        char room[512];
    } control;
    int found = 0;
    for (;;) {
        struct msghdr header = {.msg_control = &control, .msg_controllen = sizeof control};
        if (recvmsg(end, &header, MSG_ERRQUEUE) < 0) return found;
        for (struct cmsghdr *one = CMSG_FIRSTHDR(&header); one; one = CMSG_NXTHDR(&header, one)) {
            struct sock_extended_err *error = (void *)CMSG_DATA(one);
            if (one->cmsg_level != SOL_IP || one->cmsg_type != IP_RECVERR) continue;
            if (error->ee_origin != SO_EE_ORIGIN_TIMESTAMPING || error->ee_info != SCM_TSTAMP_ACK) continue;
            uint32_t more = error->ee_data + 1 - (uint32_t)m->acked;
            if (more < 1u << 31) m->acked += more;
            found = 1;
        }
    }
}

static int send_all(char **words) {
    const char *controller = text(words, "cc", "cubic"), *path = text(words, "messages", NULL);
    int64_t zero = number(words, "zero"), start = number(words, "start"), stop = number(words, "stop");
    int64_t interval = number(words, "interval"), mss = number(words, "mss"), last = start;
    struct messages m = path ? read_messages(path) : (struct messages){.unwritten = INT64_MAX};
    int segment = mss, closes = number(words, "close"), end = socket(AF_INET, SOCK_STREAM, 0), closed = 0;
    struct sockaddr_in to = place(words);
    must(setsockopt(end, IPPROTO_TCP, TCP_CONGESTION, controller, strlen(controller)), controller);
    if (segment) must(setsockopt(end, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment), "mss");
    FILE *table = fopen(text(words, "file", "flow.csv"), "w"), *done = path ? fopen(text(words, "done", ""), "w") : NULL;
    must(table && (done || !path) ? 0 : -1, "file");
    fprintf(table, "time_ns,cwnd,ssthresh,srtt_us,rttvar_us,min_rtt_us,bytes_acked,bytes_sent,delivered,delivered_ce,"
                   "retransmitted,lost,unacked,ca_state,pacing_rate,mss,own\n");
    if (done) fprintf(done, "due_ns,end_ns,bytes\n");
    wait_until(start);
    must(connect(end, (void *)&to, sizeof to), "connect");
    fcntl(end, F_SETFL, O_NONBLOCK);
    if (path) tell_acks(end);

    // Lines are at whole multiples of the interval since zero, for all flows alike.
    int64_t next = zero + ((now() - zero) / interval + 1) * interval;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec ticks = {.it_interval = at(interval), .it_value = at(next)};
    must(timerfd_settime(timer, TFD_TIMER_ABSTIME, &ticks, NULL), "timer");
    for (;;) {
        int64_t due = next_due(&m, zero, last);
        if (path && due <= now()) {
            struct message *one = m.all + m.written++;
            one->due = due;
            one->end = m.end += one->bytes;
            m.unwritten += one->bytes;
            continue;
        }
        if (path && closes && m.written == m.count && !m.unwritten && !closed) {
            shutdown(end, SHUT_WR);
            closed = 1;
        }
        if (path) {
            struct itimerspec once = {.it_value = at(due == INT64_MAX ? 0 : due)};
            must(timerfd_settime(alarm, TFD_TIMER_ABSTIME, &once, NULL), "timer");
        }
        struct pollfd wait[3] = {{end, (m.unwritten ? POLLOUT : 0) | (closed ? POLLIN : 0), 0}, {timer, POLLIN, 0},
                                 {alarm, POLLIN, 0}};
        must(poll(wait, 3, -1), "poll");
        if (wait[1].revents) {
            uint64_t ticked = 0;
            // The clock goes on while it is read: the line has the time at which it was due.
            if (read(timer, &ticked, sizeof ticked) > 0) sample(table, end, (now() - zero) / interval * interval);
        }
        if (now() >= stop) break;
        int errors = wait[0].revents & POLLERR;
        if (errors && !read_acks(end, &m)) {
            fprintf(stderr, "guest-flow: the connection broke\n");
            return 1;
        }
        for (; m.done < m.written && m.all[m.done].end <= m.acked; m.done++) {
            struct message *one = m.all + m.done;
            last = now();
            fprintf(done, "%lld,%lld,%lld\n", (long long)(one->due - zero), (long long)(last - zero),
                    (long long)one->bytes);
        }
        if (closed && wait[0].revents & (POLLIN | POLLHUP)) {  // the receiver has read to the end
            sample(table, end, now() - zero);
            break;
        }
        while (wait[0].revents & POLLOUT && m.unwritten) {
            size_t most = m.unwritten > (int64_t)sizeof data ? sizeof data : (size_t)m.unwritten;
            ssize_t sent = send(end, data, most, MSG_NOSIGNAL);
            if (sent <= 0) break;
            if (path) m.unwritten -= sent;
        }
    }
    fclose(table);
    if (done) fclose(done);
    // A reset: what is still queued at the stop is not part of the flow.
    struct linger none = {1, 0};
    setsockopt(end, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(end);
    return 0;
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "until")) {
        wait_until(strtoll(words[2], NULL, 10));
        return 0;
    }
    if (count == 5 && !strcmp(words[1], "receive")) return receive(words);
    if (count == 7 && !strcmp(words[1], "arrivals")) return arrivals(words);
    if (count >= 4 && !strcmp(words[1], "send")) return send_all(words);
    fprintf(stderr, "guest-flow: until, receive, arrivals or send, and their words\n");
    return 2;
}
