/* Other processes: signals, memory, limits. The victim's number is in VP, its start time in VS. */

/* Field 22 of /proc/PID/stat, or 0. */
static unsigned long long start_time(long pid) {
  char path[64], text[1024] = {0};
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, text, sizeof text - 1) < 0) return 0;
  close(fd);
  char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}
/* The victim's number, or 0 when another process has it here: numbers start again in a new namespace. */
static long victim(void) {
  unsigned long long started = start_time(number("VP"));
  if (started && started != strtoull(var("VS"), NULL, 10)) return errno = ESRCH, 0;
  return number("VP");
}
static int victim_pidfd(void) { return victim() ? syscall(NR_pidfd_open, victim(), 0) : -1; }

static int p_kill(char **args) { return victim() ? judge(kill(victim(), atoi(arg(args, 0))), "a signal") : blocked(); }
static int p_tgkill(char **args) {
  (void)args;
  return victim() ? judge(syscall(SYS_tgkill, victim(), victim(), 0), "a signal") : blocked();
}
static int p_sigqueue(char **args) {
  (void)args;
  union sigval value = {0};
  return victim() ? judge(sigqueue(victim(), 0, value), "a signal") : blocked();
}
static int p_pidfd_signal(char **args) {
  (void)args;
  int fd = victim_pidfd();
  return fd < 0 ? blocked() : judge(syscall(NR_pidfd_send_signal, fd, SIGCONT, NULL, 0), "a signal");
}
static int p_pidfd_getfd(char **args) {
  (void)args;
  int fd = victim_pidfd();
  return fd < 0 ? blocked() : judge(syscall(NR_pidfd_getfd, fd, 1, 0), "a descriptor");
}
static int p_process_madvise(char **args) {
  (void)args;
  struct iovec range = {(void *)(number("VM") & ~4095L), 4096};
  int fd = victim_pidfd();
  return fd < 0 ? blocked() : judge(syscall(NR_process_madvise, fd, &range, 1, 20 /* cold */, 0), "advice");
}
static int p_ptrace(char **args) {
  (void)args;
  return victim() ? judge(ptrace(PTRACE_SEIZE, victim(), 0, 0), "the victim is traced") : blocked();
}
static int copy_memory(long nr) {
  char text[32] = "overwritten";
  struct iovec here = {text, 16}, there = {(void *)number("VM"), 16};
  return victim() ? judge(syscall(nr, victim(), &here, 1, &there, 1, 0), text) : blocked();
}
static int p_vm_read(char **args) { (void)args; return copy_memory(SYS_process_vm_readv); }
static int p_vm_write(char **args) { (void)args; return copy_memory(SYS_process_vm_writev); }
static int p_proc_mem(char **args) {
  (void)args;
  char path[64], text[32] = {0};
  snprintf(path, sizeof path, "/proc/%ld/mem", number("VP"));
  int fd = victim() ? open(path, O_RDWR) : -1;
  return fd < 0 || pread(fd, text, 16, number("VM")) < 0 ? blocked() : reached(text);
}
static int p_kcmp(char **args) {
  (void)args;
  return victim() ? judge(syscall(SYS_kcmp, getpid(), victim(), 1, 0, 0), "a comparison") : blocked();
}

static int p_prlimit(char **args) {
  (void)args;
  struct rlimit old;
  if (!victim() || prlimit(victim(), RLIMIT_CORE, NULL, &old) < 0) return blocked();
  return judge(prlimit(victim(), RLIMIT_CORE, &old, NULL), "the victim's limits");
}
static int p_setpriority(char **args) { (void)args; return victim() ? judge(setpriority(PRIO_PROCESS, victim(), 5), "the victim's priority") : blocked(); }
static int p_ioprio(char **args) { (void)args; return victim() ? judge(syscall(SYS_ioprio_set, 1, victim(), 3 << 13), "the victim's priority") : blocked(); }
static int p_affinity(char **args) {
  (void)args;
  cpu_set_t set;
  if (!victim() || sched_getaffinity(victim(), sizeof set, &set) < 0) return blocked();
  return judge(sched_setaffinity(victim(), sizeof set, &set), "the victim's processors");
}
static int p_scheduler(char **args) {
  (void)args;
  struct sched_param none = {0};
  return victim() ? judge(sched_setscheduler(victim(), SCHED_BATCH, &none), "the victim's scheduling") : blocked();
}
static int p_migrate_pages(char **args) {
  (void)args;
  unsigned long node = 1;
  return victim() ? judge(syscall(SYS_migrate_pages, victim(), 8, &node, &node), "the victim's pages") : blocked();
}
static int p_move_pages(char **args) {
  (void)args;
  void *page = (void *)(number("VM") & ~4095L);
  int status;
  return victim() ? judge(syscall(SYS_move_pages, victim(), 1, &page, NULL, &status, 0), "where pages are") : blocked();
}
static int p_mbind(char **args) {
  (void)args;
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return judge(syscall(SYS_mbind, page, 4096, 0, NULL, 0, 0), "a memory policy");
}
static int p_set_mempolicy(char **args) { (void)args; return judge(syscall(SYS_set_mempolicy, 0, NULL, 0), "a memory policy"); }

/* What only administrators may give themselves. */
static int p_nice(char **args) { (void)args; return judge(setpriority(PRIO_PROCESS, 0, -20), "a higher priority"); }
static int p_realtime(char **args) {
  (void)args;
  struct sched_param high = {50};
  return judge(sched_setscheduler(0, SCHED_FIFO, &high), "real-time scheduling");
}
static int p_raise_limit(char **args) {
  struct rlimit limit;
  int which = atoi(arg(args, 0));
  getrlimit(which, &limit);
  if (limit.rlim_max == RLIM_INFINITY) return reached("there is no limit");
  limit.rlim_max += 1;
  return judge(setrlimit(which, &limit), "a higher limit");
}
static int p_mlock(char **args) {
  size_t size = strtoul(arg(args, 0), NULL, 10) << 20;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? blocked() : judge(mlock(memory, size), "locked memory");
}

#define PROCESS_CHECKS \
  {"kill", p_kill}, {"tgkill", p_tgkill}, {"sigqueue", p_sigqueue}, {"pidfd_signal", p_pidfd_signal}, \
  {"pidfd_getfd", p_pidfd_getfd}, {"process_madvise", p_process_madvise}, {"ptrace", p_ptrace}, \
  {"vm_read", p_vm_read}, {"vm_write", p_vm_write}, {"proc_mem", p_proc_mem}, \
  {"kcmp", p_kcmp}, {"prlimit", p_prlimit}, {"setpriority", p_setpriority}, {"ioprio", p_ioprio}, \
  {"affinity", p_affinity}, {"scheduler", p_scheduler}, {"migrate_pages", p_migrate_pages}, \
  {"move_pages", p_move_pages}, {"mbind", p_mbind}, {"set_mempolicy", p_set_mempolicy}, {"nice", p_nice}, \
  {"realtime", p_realtime}, {"raise_limit", p_raise_limit}, {"mlock", p_mlock}
