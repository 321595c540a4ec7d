// guest-offload DEVICE...: switches off what makes one packet of several, or leaves checksums to hardware, so that a
// packet in a queue is a packet of the path.
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(int count, char **devices) {
    // Checksums come last: segmentation needs them, and goes with them where it cannot be set alone.
    const unsigned off[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM, ETHTOOL_SRXCSUM};
    int control = socket(AF_INET, SOCK_DGRAM, 0), failed = 0;
    for (int i = 1; i < count; i++) {
        for (unsigned k = 0; k < sizeof off / sizeof *off; k++) {
            struct ethtool_value value = {.cmd = off[k], .data = 0};
            struct ifreq request;
            memset(&request, 0, sizeof request);
            strncpy(request.ifr_name, devices[i], IFNAMSIZ - 1);
            request.ifr_data = (void *)&value;
            if (ioctl(control, SIOCETHTOOL, &request) < 0) {
                perror(devices[i]);
                failed = 1;
            }
        }
    }
    return failed;
}
