/* Calls that administer the kernel, other calling conventions, and what a process is allowed to be. */

static int p_bpf(char **args) {
  (void)args;
  struct { uint32_t type, key, value, entries; char rest[64]; } map = {2 /* array */, 4, 4, 1, {0}};
  return judge(syscall(SYS_bpf, 0, &map, sizeof map), "a BPF map");
}
static int p_perf(char **args) {
  (void)args;
  struct { uint32_t type, size; uint64_t config, rest[14]; } attr = {1, sizeof attr, 0, {0}};
  attr.rest[3] = 3 << 5; /* not the kernel, not the hypervisor */
  return judge(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf events");
}
static int p_userfaultfd(char **args) { (void)args; return judge(syscall(SYS_userfaultfd, 1), "userfaultfd"); }
static int p_io_uring_setup(char **args) {
  (void)args;
  char params[256] = {0};
  return judge(syscall(NR_io_uring_setup, 1, params), "a ring");
}
static int p_io_uring_enter(char **args) { (void)args; return gate(syscall(NR_io_uring_enter, -1, 0, 0, 0, 0, 0), "enter"); }
static int p_io_uring_register(char **args) { (void)args; return gate(syscall(NR_io_uring_register, -1, 0, 0, 0), "register"); }

static int p_init_module(char **args) { (void)args; return gate(syscall(SYS_init_module, "x", 1, ""), "init_module"); }
static int p_finit_module(char **args) { (void)args; return gate(syscall(SYS_finit_module, -1, "", 0), "finit_module"); }
static int p_delete_module(char **args) { (void)args; return gate(syscall(SYS_delete_module, "no_such_module", O_NONBLOCK), "delete_module"); }
static int p_kexec(char **args) { (void)args; return gate(syscall(SYS_kexec_load, 0, 0, NULL, 0xdead), "kexec_load"); }
static int p_reboot(char **args) { (void)args; return gate(syscall(SYS_reboot, 1, 2, 3, NULL), "reboot, with a wrong number"); }
static int p_swapon(char **args) { (void)args; return gate(syscall(SYS_swapon, "/no/such/file", 0), "swapon"); }
static int p_swapoff(char **args) { (void)args; return gate(syscall(SYS_swapoff, "/no/such/file"), "swapoff"); }
static int p_acct(char **args) { (void)args; return gate(syscall(SYS_acct, "/no/such/file"), "acct"); }
static int p_quotactl(char **args) { (void)args; return gate(syscall(SYS_quotactl, 0x800001 << 8, NULL, 0, NULL), "quotactl"); }
static int p_vhangup(char **args) {
  (void)args;
  own_session(); /* so that nobody's terminal is hung up */
  return judge(syscall(SYS_vhangup), "vhangup");
}
static int p_syslog(char **args) { (void)args; return judge(syscall(SYS_syslog, 3, (char[64]){0}, 64), "the kernel log"); }
#if defined(__x86_64__)
static int p_iopl(char **args) { (void)args; return judge(syscall(SYS_iopl, 3), "I/O ports"); }
static int p_ioperm(char **args) { (void)args; return judge(syscall(SYS_ioperm, 0x80, 1, 1), "an I/O port"); }
static int p_modify_ldt(char **args) { (void)args; return judge(syscall(SYS_modify_ldt, 0, (char[64]){0}, 64), "modify_ldt"); }
#else
static int p_iopl(char **args) { (void)args; return absent("only on x86"); }
static int p_ioperm(char **args) { return p_iopl(args); }
static int p_modify_ldt(char **args) { return p_iopl(args); }
#endif

static int p_adjtimex(char **args) {
  (void)args;
  struct timex now = {0};
  if (adjtimex(&now) < 0) return blocked();
  struct timex same = {.modes = ADJ_TICK, .tick = now.tick};
  return judge(adjtimex(&same), "the clock's speed");
}
static int p_clock_settime(char **args) {
  (void)args;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return judge(clock_settime(CLOCK_REALTIME, &now), "the clock");
}
static int p_settimeofday(char **args) {
  (void)args;
  struct timeval now;
  gettimeofday(&now, NULL);
  return judge(syscall(SYS_settimeofday, &now, NULL), "the clock");
}
static int p_sethostname(char **args) {
  (void)args;
  char name[256] = {0};
  gethostname(name, sizeof name - 1);
  return judge(sethostname(name, strlen(name)), "the host's name");
}
static int p_setdomainname(char **args) {
  (void)args;
  char name[256] = {0};
  if (getdomainname(name, sizeof name - 1) < 0) return blocked();
  return judge(setdomainname(name, strlen(name)), "the domain's name");
}
static int p_personality(char **args) { (void)args; return judge(syscall(SYS_personality, ADDR_NO_RANDOMIZE), "no address randomization"); }
static int p_read_implies_exec(char **args) { (void)args; return judge(syscall(SYS_personality, READ_IMPLIES_EXEC), "executable data"); }
static int p_unknown(char **args) {
  long nr = strtol(arg(args, 0), NULL, 0);
  if (syscall(nr, 0, 0, 0, 0, 0, 0) >= 0) return reached("an unknown call succeeded");
  return errno == ENOSYS ? blocked() : reached("an unknown call does not say ENOSYS");
}

#if defined(__x86_64__)
static long int80(long nr, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) errno = -result;
  return result;
}
static int p_int80_getpid(char **args) { (void)args; return judge(int80(20, 0, 0, 0), "a 32-bit call"); }
static int p_int80_connect(char **args) {
  (void)args;
  uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) return blocked();
  low[0] = AF_INET, low[1] = SOCK_STREAM, low[2] = 0;
  long fd = int80(102, 1 /* socket */, (long)low, 0);
  if (fd < 0) return blocked();
  struct sockaddr_in *to = (void *)(low + 16);
  *to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(number("TP")), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  low[0] = fd, low[1] = (uint32_t)(uintptr_t)to, low[2] = sizeof *to;
  return judge(int80(102, 3 /* connect */, (long)low, 0), "a connection by 32-bit calls");
}
static int p_x32_getpid(char **args) { (void)args; return judge(syscall(0x40000000L | SYS_getpid), "an x32 call"); }
#else
static int p_int80_getpid(char **args) { (void)args; return absent("only on x86-64"); }
static int p_int80_connect(char **args) { return p_int80_getpid(args); }
static int p_x32_getpid(char **args) { return p_int80_getpid(args); }
#endif

/* The value of a line of /proc/self/status. */
static const char *status_line(const char *key) {
  static char line[256];
  FILE *file = fopen("/proc/self/status", "r");
  size_t length = strlen(key);
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, key, length) && line[length] == ':') {
      line[strcspn(line, "\n")] = 0;
      return fclose(file), line + length + 1;
    }
  return NULL;
}
static int p_capabilities(char **args) {
  for (; *args; args++) {
    const char *value = status_line(*args);
    if (!value) return reached("the status cannot be read");
    if (strtoull(value, NULL, 16)) return reached(value);
  }
  return stopped("EMPTY");
}
/* `status KEY WANTED`: reached unless the line has the wanted value. */
static int p_status(char **args) {
  const char *value = status_line(arg(args, 0));
  if (!value) return reached("the status cannot be read");
  return strtol(value, NULL, 10) == strtol(arg(args, 1), NULL, 10) ? stopped("AS WANTED") : reached(value);
}
/* `host_id MAP ID`: whether the host knows this process by its number 0. */
static int p_host_id(char **args) {
  FILE *file = fopen(arg(args, 0), "r");
  unsigned long inside, outside, count, id = strcmp(arg(args, 1), "group") ? getuid() : getgid();
  if (!file) return reached("the map cannot be read");
  while (fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3)
    if (id >= inside && id - inside < count && id - inside + outside == 0) return reached("number 0");
  return stopped("ANOTHER");
}

#define KERNEL_CHECKS \
  {"bpf", p_bpf}, {"perf", p_perf}, {"userfaultfd", p_userfaultfd}, {"io_uring_setup", p_io_uring_setup}, \
  {"io_uring_enter", p_io_uring_enter}, {"io_uring_register", p_io_uring_register}, {"init_module", p_init_module}, \
  {"finit_module", p_finit_module}, {"delete_module", p_delete_module}, {"kexec", p_kexec}, {"reboot", p_reboot}, \
  {"swapon", p_swapon}, {"swapoff", p_swapoff}, {"acct", p_acct}, {"quotactl", p_quotactl}, {"vhangup", p_vhangup}, \
  {"syslog", p_syslog}, {"iopl", p_iopl}, {"ioperm", p_ioperm}, {"modify_ldt", p_modify_ldt}, {"adjtimex", p_adjtimex}, \
  {"clock_settime", p_clock_settime}, {"settimeofday", p_settimeofday}, {"sethostname", p_sethostname}, \
  {"setdomainname", p_setdomainname}, {"personality", p_personality}, {"read_implies_exec", p_read_implies_exec}, \
  {"unknown", p_unknown}, {"int80_getpid", p_int80_getpid}, {"int80_connect", p_int80_connect}, \
  {"x32_getpid", p_x32_getpid}, {"capabilities", p_capabilities}, {"status", p_status}, {"host_id", p_host_id}
