// A bulk transfer, and samples of TCP_INFO at its sender.
//
//     flow receive PORT CC
//     flow send CC ADDRESS PORT START SECONDS ECN SAMPLE_MS FILE
//
// The receiver reads and discards. The sender waits START seconds, sets its namespace's tcp_ecn to ECN, connects, and
// keeps the send buffer full for SECONDS; then it resets the connection, so that nothing more is sent. Counts in the
// file are cumulative; ssthresh -1 is infinite; t_s counts from the end of the handshake.
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

static char buffer[1 << 17];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int failed(const char *what) {
    perror(what);
    return 1;
}

static int use(int socket, const char *cc) {
    return setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc));
}

static int receive(char **argument) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(atoi(argument[0]))};
    if (use(listener, argument[1]))
        return failed(argument[1]);
    if (bind(listener, (void *)&own, sizeof own) || listen(listener, 5))
        return failed("listen");
    int connection = accept(listener, 0, 0);
    while (recv(connection, buffer, sizeof buffer, MSG_TRUNC) > 0)
        ;
    return 0;
}

static void sample(int connection, double t, FILE *file) {
    struct tcp_info i;
    socklen_t size = sizeof i;
    memset(&i, 0, sizeof i);
    getsockopt(connection, IPPROTO_TCP, TCP_INFO, &i, &size);
    long long ssthresh = i.tcpi_snd_ssthresh >= 0x7fffffff ? -1 : (long long)i.tcpi_snd_ssthresh;
    long long pacing = i.tcpi_pacing_rate == ~0ULL ? -1 : (long long)i.tcpi_pacing_rate;
    fprintf(file, "%.4f,%u,%lld,%u,%u,%llu,%u,%u,%u,%u,%lld,%u,%u\n", t, i.tcpi_snd_cwnd, ssthresh, i.tcpi_rtt,
            i.tcpi_min_rtt, (unsigned long long)i.tcpi_bytes_acked, i.tcpi_delivered, i.tcpi_total_retrans,
            i.tcpi_lost, i.tcpi_ca_state, pacing, i.tcpi_unacked, i.tcpi_delivered_ce);
}

static int send_bulk(char **argument) {
    const char *cc = argument[0], *address = argument[1], *ecn = argument[5];
    double start = atof(argument[3]), seconds = atof(argument[4]);
    int port = atoi(argument[2]), every = atoi(argument[6]);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (use(connection, cc))
        return failed(cc);
    struct timespec wait = {(time_t)start, (long)((start - (time_t)start) * 1e9)};
    nanosleep(&wait, 0);
    int sysctl = open("/proc/sys/net/ipv4/tcp_ecn", O_WRONLY);
    if (sysctl < 0 || write(sysctl, ecn, strlen(ecn)) < 0)
        return failed("tcp_ecn");
    close(sysctl);
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &peer.sin_addr);
    if (connect(connection, (void *)&peer, sizeof peer))
        return failed("connect");
    fcntl(connection, F_SETFL, O_NONBLOCK);
    FILE *file = fopen(argument[7], "w");
    if (!file)
        return failed(argument[7]);
    fputs("t_s,cwnd,ssthresh,srtt_us,min_rtt_us,bytes_acked,delivered,retransmitted,lost,ca_state,pacing_rate,"
          "unacked,delivered_ce\n",
          file);
    double begin = now();
    struct timespec period = {every / 1000, every % 1000 * 1000000L};
    struct itimerspec ticks = {period, period};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    timerfd_settime(timer, 0, &ticks, 0);
    for (;;) {
        struct pollfd ready[2] = {{connection, POLLOUT, 0}, {timer, POLLIN, 0}};
        poll(ready, 2, -1);
        uint64_t expired;
        if (ready[1].revents && read(timer, &expired, sizeof expired) > 0) {
            double t = now() - begin;
            sample(connection, t, file);
            if (t >= seconds - 0.0005) {
                struct linger reset = {1, 0};
                fclose(file);
                setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
                return close(connection);
            }
        }
        if (ready[0].revents & (POLLERR | POLLHUP))
            return failed("connection");
        if (ready[0].revents & POLLOUT)
            while (send(connection, buffer, sizeof buffer, MSG_NOSIGNAL) > 0)
                ;
    }
}

int main(int count, char **argument) {
    if (count == 4 && !strcmp(argument[1], "receive"))
        return receive(argument + 2);
    if (count == 10 && !strcmp(argument[1], "send"))
        return send_bulk(argument + 2);
    fputs("flow receive PORT CC | flow send CC ADDRESS PORT START SECONDS ECN SAMPLE_MS FILE\n", stderr);
    return 2;
}
