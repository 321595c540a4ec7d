// The first process of the guest: mounts what a system has, runs one script to its end, and powers off.
//
// The kernel's working directory on the host becomes /run/out: the script is there, our programs are in its folder
// "programs", and what the script writes goes there. Its messages go to "log", its exit code to "code", which is written
// last. Nothing of this is on the kernel's command line, because that is mixed into random numbers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int result, const char *what) {
    if (result < 0) {
        printf("guest: %s: %s\n", what, strerror(errno));
        fflush(stdout);
        reboot(RB_POWER_OFF);
    }
}

int main(void) {
    must(mount("proc", "/proc", "proc", 0, NULL), "/proc");
    must(mount("sysfs", "/sys", "sysfs", 0, NULL), "/sys");
    must(mount("tmpfs", "/run", "tmpfs", 0, NULL), "/run");
    must(mkdir("/run/out", 0755), "/run/out");
    must(mkdir("/run/netns", 0755), "/run/netns");
    must(mount("none", "/run/out", "hostfs", 0, "/proc/self/cwd"), "/run/out");
    must(chdir("/run/out"), "/run/out");
    setenv("PATH", "/run/out/programs:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
    setenv("LC_ALL", "C", 1);

    pid_t child = fork();
    must(child, "fork");
    if (child == 0) {
        int log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0644), none = open("/dev/null", O_RDONLY);
        must(log, "log");
        if (none >= 0) dup2(none, 0);
        dup2(log, 1);
        dup2(log, 2);
        execl("/bin/sh", "sh", "script", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    for (pid_t ended; (ended = wait(&status)) != child;)
        must(ended, "wait");
    FILE *code = fopen("code", "w");
    must(code ? 0 : -1, "code");
    fprintf(code, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    fclose(code);
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
