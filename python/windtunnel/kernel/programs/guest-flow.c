// One end of a TCP flow.
//
//   guest-flow until TIME                        waits for a time of CLOCK_MONOTONIC, in nanoseconds, that is to come
//   guest-flow receive ADDRESS PORT CC           takes one connection, and reads it to its end; CC gives the feedback
//   guest-flow arrivals DEVICE ZERO END INTERVAL FILE    writes what has arrived at a receiver's device, for each interval
//   guest-flow send ADDRESS PORT key=value...    sends, and writes a line of TCP_INFO for each interval
//
// The keys of a sender: cc, its controller; start, stop and zero, in nanoseconds of CLOCK_MONOTONIC (lines have times since
// zero); bytes, 0 for as many as it can until stop; interval in nanoseconds; mss; file, the table to write.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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
    fprintf(table, "%lld,%u,%u,%u,%u,%u,%llu,%llu,%u,%u,%u,%u,%u,%u,%lld,%u\n", (long long)time, info.tcpi_snd_cwnd,
            info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_rttvar, info.tcpi_min_rtt,
            (unsigned long long)info.tcpi_bytes_acked, (unsigned long long)info.tcpi_bytes_sent, info.tcpi_delivered,
            info.tcpi_delivered_ce, info.tcpi_total_retrans, info.tcpi_lost, info.tcpi_unacked, info.tcpi_ca_state,
            info.tcpi_pacing_rate == ~0ULL ? -1LL : (long long)info.tcpi_pacing_rate, info.tcpi_snd_mss);
}

static int send_all(char **words) {
    const char *controller = text(words, "cc", "cubic");
    int64_t zero = number(words, "zero"), start = number(words, "start"), stop = number(words, "stop");
    int64_t interval = number(words, "interval"), rest = number(words, "bytes"), mss = number(words, "mss");
    int bulk = rest == 0, segment = mss, end = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = place(words);
    must(setsockopt(end, IPPROTO_TCP, TCP_CONGESTION, controller, strlen(controller)), controller);
    if (segment) must(setsockopt(end, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment), "mss");
    FILE *table = fopen(text(words, "file", "flow.csv"), "w");
    must(table ? 0 : -1, "file");
    fprintf(table, "time_ns,cwnd,ssthresh,srtt_us,rttvar_us,min_rtt_us,bytes_acked,bytes_sent,delivered,delivered_ce,"
                   "retransmitted,lost,unacked,ca_state,pacing_rate,mss\n");
    wait_until(start);
    must(connect(end, (void *)&to, sizeof to), "connect");
    fcntl(end, F_SETFL, O_NONBLOCK);

    // Lines are at whole multiples of the interval since zero, for all flows alike.
    int64_t next = zero + ((now() - zero) / interval + 1) * interval;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), closed = 0;
    struct itimerspec ticks = {.it_interval = at(interval), .it_value = at(next)};
    must(timerfd_settime(timer, TFD_TIMER_ABSTIME, &ticks, NULL), "timer");
    for (;;) {
        struct pollfd wait[2] = {{end, (bulk || rest) ? POLLOUT : POLLIN, 0}, {timer, POLLIN, 0}};
        must(poll(wait, 2, -1), "poll");
        if (wait[1].revents) {
            uint64_t ticked = 0;
            // The clock goes on while it is read: the line has the time at which it was due.
            if (read(timer, &ticked, sizeof ticked) > 0) sample(table, end, (now() - zero) / interval * interval);
            if (now() >= stop) break;
        }
        if (closed) {
            if (wait[0].revents & (POLLIN | POLLHUP)) {  // the receiver has read to the end
                sample(table, end, now() - zero);
                break;
            }
            continue;
        }
        if (wait[0].revents & (POLLERR | POLLHUP)) {
            fprintf(stderr, "guest-flow: the connection broke\n");
            return 1;
        }
        while ((wait[0].revents & POLLOUT) && (bulk || rest)) {
            size_t most = bulk || rest > (int64_t)sizeof data ? sizeof data : (size_t)rest;
            ssize_t sent = send(end, data, most, MSG_NOSIGNAL);
            if (sent <= 0) break;
            if (!bulk) rest -= sent;
        }
        if (!bulk && rest == 0) {
            shutdown(end, SHUT_WR);
            closed = 1;
        }
    }
    fclose(table);
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
