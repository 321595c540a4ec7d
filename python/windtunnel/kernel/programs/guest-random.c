// Replaces the host's random numbers for a kernel that runs as a process: a library to be preloaded.
//
// User-Mode Linux seeds its generator by getrandom(2). With numbers that follow from SEED alone, ports, sequence
// numbers, flow hashes and the coins of queue disciplines are the same each time. The generator is SplitMix64.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static uint64_t state;

static uint64_t next(void) {
    if (!state) {
        const char *seed = getenv("SEED");
        state = 0x9e3779b97f4a7c15 * (1 + (seed ? strtoull(seed, 0, 10) : 0));
    }
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    (void)flags;
    for (size_t done = 0; done < length; done += sizeof state) {
        uint64_t word = next();
        memcpy((char *)buffer + done, &word, length - done < sizeof word ? length - done : sizeof word);
    }
    return (ssize_t)length;
}
