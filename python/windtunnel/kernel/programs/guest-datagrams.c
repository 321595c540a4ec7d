// A flow of UDP datagrams.
//
//   guest-datagrams send ADDRESS PORT TOS ZERO STOP SCHEDULE FILE     sends each at its time, and reads answers until STOP
//   guest-datagrams receive ADDRESS PORT ANSWERS ZERO END FILE        reads until END; ANSWERS is 1 to send each back
//
// Times are in nanoseconds of CLOCK_MONOTONIC; in files they are since ZERO. A line of the schedule is a time and the bytes
// of a payload, 16 and more: a datagram starts with its number, from 1 on, and its time. Both ends write a line for each
// datagram that reaches them: number, when it left its sender, when it came, and whether it has CE.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct head {
    uint64_t number;
    int64_t time;
};

static char data[1 << 16];

static void must(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "guest-datagrams: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int64_t number(const char *word) { return strtoll(word, NULL, 10); }

static struct sockaddr_in place(char **words) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[3]))};
    must(inet_pton(AF_INET, words[2], &to.sin_addr) - 1, words[2]);
    return to;
}

static FILE *table(const char *path) {
    FILE *file = fopen(path, "w");
    must(file ? 0 : -1, path);
    fprintf(file, "number,sent_ns,came_ns,ce\n");
    return file;
}

// Reads what has come; answers go back where it came from.
static void read_all(int end, int64_t zero, int answers, FILE *file) {
    for (;;) {
        struct sockaddr_in from;
        struct head head;
        char control[64];
        struct iovec where = {data, sizeof data};
        struct msghdr header = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &where, .msg_iovlen = 1,
                                .msg_control = control, .msg_controllen = sizeof control};
        ssize_t length = recvmsg(end, &header, 0);
        if (length < (ssize_t)sizeof head) return;
        int ce = 0;
        for (struct cmsghdr *one = CMSG_FIRSTHDR(&header); one; one = CMSG_NXTHDR(&header, one))
            if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_TOS) ce = (*CMSG_DATA(one) & 3) == 3;
        memcpy(&head, data, sizeof head);
        fprintf(file, "%llu,%lld,%lld,%d\n", (unsigned long long)head.number, (long long)head.time,
                (long long)(now() - zero), ce);
        if (answers) sendto(end, data, length, 0, (void *)&from, sizeof from);
    }
}

// Reads until a time.
static void read_until(int end, int alarm, int64_t time, int64_t zero, int answers, FILE *file) {
    struct itimerspec once = {.it_value = {time / 1000000000LL, time % 1000000000LL}};
    must(timerfd_settime(alarm, TFD_TIMER_ABSTIME, &once, NULL), "timer");
    while (now() < time) {
        struct pollfd wait[2] = {{end, POLLIN, 0}, {alarm, POLLIN, 0}};
        must(poll(wait, 2, -1), "poll");
        if (wait[0].revents) read_all(end, zero, answers, file);
    }
}

int main(int count, char **words) {
    if (count != 9 - (count > 1 && !strcmp(words[1], "receive"))) return 2;
    int end = socket(AF_INET, SOCK_DGRAM, 0), alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), one = 1;
    struct sockaddr_in there = place(words);
    must(end, "socket");
    fcntl(end, F_SETFL, O_NONBLOCK);
    int sends = !strcmp(words[1], "send"), option = atoi(words[4]), room = 1 << 30;
    must(setsockopt(end, IPPROTO_IP, IP_RECVTOS, &one, sizeof one), "tos");
    setsockopt(end, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    int64_t zero = number(words[5]), until = number(words[6]);
    FILE *file = table(words[7 + sends]);
    if (!sends) {
        must(bind(end, (void *)&there, sizeof there), "bind");
        read_until(end, alarm, until, zero, option, file);
        return fclose(file);
    }
    must(setsockopt(end, IPPROTO_IP, IP_TOS, &option, sizeof option), "tos");
    FILE *schedule = fopen(words[7], "r");
    must(schedule ? 0 : -1, words[7]);
    struct head head = {0};
    long long time, bytes;
    while (fscanf(schedule, "%lld %lld", &time, &bytes) == 2 && zero + time < until) {
        read_until(end, alarm, zero + time, zero, 0, file);
        head.number++;
        head.time = time;
        memset(data, 0, bytes);
        memcpy(data, &head, sizeof head);
        must(sendto(end, data, bytes, 0, (void *)&there, sizeof there), "send");
    }
    read_until(end, alarm, until, zero, 0, file);
    return fclose(file);
}
