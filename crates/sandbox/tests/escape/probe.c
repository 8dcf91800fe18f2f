/* Attacks that a shell line cannot make: `probe NAME [ARGS...]`.
 *
 * Exit 0 and `REACHED what`: the attack got through. Exit 1 and `BLOCKED why`: it was stopped. Exit 77 and `NA why`: this
 * machine has no such thing to attack. Where the victims are is in the environment; see victim.h, which makes them. What
 * could harm the machine is aimed at harmless values: a setting is given the value that it has, a call gets an argument
 * that is refused only after the permission check.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* Numbers that older headers do not have; they are the same on all architectures from 424 on. */
enum {
  NR_pidfd_send_signal = 424, NR_io_uring_setup = 425, NR_io_uring_enter = 426, NR_io_uring_register = 427,
  NR_open_tree = 428, NR_move_mount = 429, NR_fsopen = 430, NR_fsconfig = 431, NR_fsmount = 432, NR_clone3 = 435,
  NR_openat2 = 437, NR_pidfd_open = 434, NR_pidfd_getfd = 438, NR_process_madvise = 440, NR_mount_setattr = 442,
  NR_fchmodat2 = 452
};

static int reached(const char *what) { return printf("REACHED %s\n", what), 0; }
static int stopped(const char *why) { return printf("BLOCKED %s\n", why), 1; }
static int absent(const char *why) { return printf("NA %s\n", why), 77; }

static int blocked(void) {
  const char *name = strerrorname_np(errno);
  return stopped(name ? name : "unknown error");
}

/* The attack is a call that succeeds. */
static int judge(long result, const char *what) { return result >= 0 ? reached(what) : blocked(); }

/* The attack is a call with arguments that fail after the permission check: any other error shows it got that far. */
static int gate(long result, const char *what) {
  if (result < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS)) return blocked();
  return reached(what);
}

static const char *var(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}
static long number(const char *name) { return strtol(var(name), NULL, 0); }
static const char *arg(char **args, int at) {
  for (int i = 0; i < at; i++)
    if (!args[i]) return "";
  return args[at] ? args[at] : "";
}

/* Goes on in a session without a terminal; the leader of a process group needs a child for that. */
static void own_session(void) {
  int status;
  pid_t child = getpid() == getpgrp() ? fork() : 0;
  if (child > 0) {
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  setsid();
}

#include "probe/files.h"
#include "probe/ipc.h"
#include "probe/kernel.h"
#include "probe/namespaces.h"
#include "probe/network.h"
#include "probe/processes.h"
#include "probe/tools.h"
#include "probe/victim.h"

struct check {
  const char *name;
  int (*run)(char **args);
};

static const struct check CHECKS[] = {
  FILE_CHECKS, IPC_CHECKS, KERNEL_CHECKS, NAMESPACE_CHECKS, NETWORK_CHECKS, PROCESS_CHECKS, TOOL_CHECKS, VICTIM_CHECKS
};

int main(int count, char **args) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; count > 1 && i < sizeof CHECKS / sizeof *CHECKS; i++)
    if (!strcmp(CHECKS[i].name, args[1])) return CHECKS[i].run(args + 2);
  fprintf(stderr, "probe: there is no check `%s`\n", count > 1 ? args[1] : "");
  return 127;
}
