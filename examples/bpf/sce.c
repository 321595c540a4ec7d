// Brings the programs of this folder into the kernel, until it is ended.
//
//   sce controllers CGROUP    registers reno_mds, scalable_mds and reno_sce; ESCE is heard by the sockets of
//                             processes in this cgroup (version 2)
//   sce feedback DEVICE       echoes marks at a receiver's device
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "sce: %s: %s\n", what, strerror(-result));
	exit(1);
}

static struct bpf_object *load(const char *name)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	must(length < 0 ? -errno : 0, "/proc/self/exe");
	path[length] = 0;
	strcpy(strrchr(path, '/') + 1, name);
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	must(object ? 0 : -errno, path);
	must(bpf_object__load(object), name);
	return object;
}

// Controllers stay registered until their links are destroyed, also without this program.
static struct bpf_link *links[3];

static void forget(void)
{
	for (int i = 0; i < 3; i++)
		bpf_link__destroy(links[i]);
}

static void controllers(const char *cgroup)
{
	static const char *const names[] = {"reno_mds", "scalable_mds", "reno_sce"};
	struct bpf_object *object = load("sce.bpf.o");
	int folder = open(cgroup, O_RDONLY | O_DIRECTORY);
	must(folder < 0 ? -errno : 0, cgroup);
	must(bpf_program__attach_cgroup(bpf_object__find_program_by_name(object, "hear"), folder) ? 0 : -errno, cgroup);
	for (int i = 0; i < 3; i++) {
		links[i] = bpf_map__attach_struct_ops(bpf_object__find_map_by_name(object, names[i]));
		if (!links[i] && errno == EEXIST)
			fprintf(stderr, "sce: an earlier one is left: bpftool struct_ops unregister name %s\n", names[i]);
		if (!links[i])
			forget();
		must(links[i] ? 0 : -errno, names[i]);
	}
}

static void at(struct bpf_object *object, const char *name, int device, enum bpf_tc_attach_point point)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = device, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, name)));
	int made = bpf_tc_hook_create(&hook);
	must(made == -17 ? 0 : made, "clsact");
	must(bpf_tc_attach(&hook, &options), name);
}

int main(int count, char **words)
{
	sigset_t ends;
	int signal;
	libbpf_set_print(NULL);
	if (count != 3 || (strcmp(words[1], "controllers") && strcmp(words[1], "feedback"))) {
		fprintf(stderr, "usage: sce controllers CGROUP, or sce feedback DEVICE\n");
		return 2;
	}
	if (words[1][0] == 'c') {
		controllers(words[2]);
	} else {
		struct bpf_object *object = load("feedback.bpf.o");
		int device = if_nametoindex(words[2]);
		must(device ? 0 : -19, words[2]);
		at(object, "arrives", device, BPF_TC_INGRESS);
		at(object, "leaves", device, BPF_TC_EGRESS);
	}
	puts("ready");
	fflush(stdout);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	sigwait(&ends, &signal);
	forget();
	return 0;
}
