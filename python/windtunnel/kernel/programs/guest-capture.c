// guest-capture ZERO END FILE NAMESPACE/DEVICE...: the packets at devices of several network namespaces, as pcapng.
//
// Times are in nanoseconds of CLOCK_MONOTONIC, at which the program ends and since which packets have theirs. The file has
// the first bytes of each packet, which are more than its headers, and its length.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 128, MOST = 1000, BLOCK = 6, INTERFACE = 1, SECTION = 0x0a0d0d0a, NAME = 2, RESOLUTION = 9 };

static void must(long result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "guest-capture: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// A block: its type, its length, the content in whole words, and its length again.
static void block(FILE *file, uint32_t type, const void *content, uint32_t length) {
    uint32_t whole = (length + 3) & ~3u, all = whole + 12;
    static const char nothing[4];
    fwrite(&type, 4, 1, file);
    fwrite(&all, 4, 1, file);
    fwrite(content, 1, length, file);
    fwrite(nothing, 1, whole - length, file);
    fwrite(&all, 4, 1, file);
}

static void interface(FILE *file, const char *name) {
    struct {
        uint16_t link, reserved;
        uint32_t kept;
        uint16_t resolution, length;
        uint8_t digits, none[3];
        uint16_t name, name_length;
        char text[64];
    } content = {.link = 1, .kept = KEPT, .resolution = RESOLUTION, .length = 1, .digits = 9, .name = NAME};
    content.name_length = snprintf(content.text, sizeof content.text - 8, "%s", name);
    // The option that ends options is 4 bytes of zeros.
    block(file, INTERFACE, &content, 20 + ((content.name_length + 3) & ~3) + 4);
}

// A socket in the namespace that sees all packets of the device.
static int listen_at(char *where) {
    char path[200], *device = strchr(where, '/');
    must(device ? 0 : -1, where);
    snprintf(path, sizeof path, "/run/netns/%.*s", (int)(device - where), where);
    int space = open(path, O_RDONLY | O_CLOEXEC), size = 64 << 20;
    must(space, path);
    must(setns(space, CLONE_NEWNET), path);
    close(space);
    int found = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    must(found, "socket");
    must((at.sll_ifindex = if_nametoindex(device + 1)) ? 0 : -1, where);
    must(bind(found, (void *)&at, sizeof at), where);
    must(setsockopt(found, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size), "buffer");
    int one = 1;
    must(setsockopt(found, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one), "timestamps");
    return found;
}

static int one_packet(FILE *file, int from, uint32_t number, int64_t zero) {
    struct {
        uint32_t interface, high, low, kept, length;
        char bytes[KEPT];
    } packet = {.interface = number};
    char control[256];
    struct iovec part = {packet.bytes, KEPT};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(from, &header, MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0) return 0;
    struct timespec seen;
    struct cmsghdr *stamp = CMSG_FIRSTHDR(&header);
    must(stamp && stamp->cmsg_type == SCM_TIMESTAMPNS ? 0 : -1, "timestamp");
    memcpy(&seen, CMSG_DATA(stamp), sizeof seen);
    int64_t time = seen.tv_sec * 1000000000LL + seen.tv_nsec - zero;
    if (time < 0) return 1;
    packet.high = time >> 32, packet.low = time, packet.length = length;
    packet.kept = length < KEPT ? length : KEPT;
    block(file, BLOCK, &packet, 20 + packet.kept);
    return 1;
}

int main(int count, char **words) {
    if (count < 5 || count - 4 > MOST) {
        fprintf(stderr, "guest-capture: ZERO END FILE NAMESPACE/DEVICE...\n");
        return 2;
    }
    int64_t zero = strtoll(words[1], NULL, 10), end = strtoll(words[2], NULL, 10);
    // Packets have times of the other clock.
    int64_t wall = zero + now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
    FILE *file = fopen(words[3], "w");
    must(file ? 0 : -1, words[3]);
    const struct {
        uint32_t magic;
        uint16_t major, minor;
        int64_t length;
    } section = {0x1a2b3c4d, 1, 0, -1};
    block(file, SECTION, &section, sizeof section);
    static struct pollfd all[MOST];
    int number = count - 4;
    for (int i = 0; i < number; i++) {
        all[i] = (struct pollfd){listen_at(words[4 + i]), POLLIN, 0};
        interface(file, words[4 + i]);
    }
    for (int64_t left; (left = end - now(CLOCK_MONOTONIC)) > 0;) {
        struct timespec wait = {left / 1000000000LL, left % 1000000000LL};
        must(ppoll(all, number, &wait, NULL), "poll");
        for (int i = 0; i < number; i++)
            while (all[i].revents & POLLIN && one_packet(file, all[i].fd, i, wall)) {
            }
    }
    must(fclose(file), words[3]);
    return 0;
}
