// guest-controllers NAME...: sets each as the controller of a socket (TCP_CONGESTION), as a flow does, and reads it back.
// Prints "NAME ok", or the name and why not.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **names) {
    for (int i = 1; i < count; i++) {
        char set[32] = "";
        socklen_t length = sizeof set - 1;
        int end = socket(AF_INET, SOCK_STREAM, 0);
        if (setsockopt(end, IPPROTO_TCP, TCP_CONGESTION, names[i], strlen(names[i])) < 0 ||
            getsockopt(end, IPPROTO_TCP, TCP_CONGESTION, set, &length) < 0)
            printf("%s %s\n", names[i], strerror(errno));
        else
            printf("%s %s\n", names[i], strcmp(set, names[i]) ? set : "ok");
        close(end);
    }
    return 0;
}
