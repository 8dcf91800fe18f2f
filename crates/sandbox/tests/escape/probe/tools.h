/* Not attacks by themselves: loads that limits must contain. */

/* `eat MB`: touches that much memory and says so. */
static int p_eat(char **args) {
  size_t size = strtoul(arg(args, 0), NULL, 10) << 20;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return blocked();
  for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
  return reached("all of it");
}
/* `share N`: uses N megabytes in four processes, as memory that could be shared and is not any process's own. */
static int p_share(char **args) {
  size_t size = strtoul(arg(args, 0), NULL, 10) << 18;
  int status, failed = 0;
  for (int i = 0; i < 4; i++)
    if (fork() == 0) {
      char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) _exit(1);
      for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
      sleep(2);
      _exit(0);
    }
  while (wait(&status) > 0) failed |= status;
  return failed ? blocked() : reached("all of it");
}
/* `hoard N`: the same in files without a name, which are mapped by nobody. */
static int p_hoard(char **args) {
  static char chunk[1 << 20];
  int file = memfd_create("hoard", 0);
  if (file < 0) return blocked();
  for (int left = atoi(arg(args, 0)); left > 0; left--)
    if (write(file, chunk, sizeof chunk) != (ssize_t)sizeof chunk) return blocked();
  return reached("all of it");
}
/* `segment N`: the same in a segment of System V. */
static int p_segment(char **args) {
  size_t size = strtoul(arg(args, 0), NULL, 10) << 20;
  int id = shmget(IPC_PRIVATE, size, 0600);
  char *memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
  if (memory == (void *)-1 || shmctl(id, IPC_RMID, NULL)) return blocked();
  for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
  sleep(1);
  return reached("all of it");
}
/* `nest N`: directories inside each other, N deep; those that are there are moved to the end of a hundred more. */
static int p_nest(char **args) {
  int top = open(".", O_RDONLY | O_DIRECTORY);
  for (int done = 0; done < atoi(arg(args, 0)); done += 100) {
    if (fchdir(top)) return blocked();
    for (int i = 0; i < 100; i++) if (mkdir("n", 0700) || chdir("n")) return blocked();
    if (done && renameat(top, "d", AT_FDCWD, "d")) return blocked();
    if (renameat(top, "n", top, "d")) return blocked();
  }
  return reached("all of them");
}
/* `drown`: leaves processes behind that fill a large pipe faster than anybody reads it. */
static int p_drown(char **args) {
  static char chunk[1 << 20];
  (void)args;
  fcntl(1, F_SETPIPE_SZ, 1 << 20);
  signal(SIGHUP, SIG_IGN);
  for (int i = 0; i < 4; i++)
    if (fork() == 0) for (;;) if (write(1, chunk, sizeof chunk) < 0) _exit(0);
  for (int i = 0; i < 100; i++) sched_yield();
  return 7;
}
/* `terminals N`: opens N terminals. */
static int p_terminals(char **args) {
  for (int left = atoi(arg(args, 0)); left > 0; left--)
    if (open("/dev/ptmx", O_RDWR | O_NOCTTY) < 0) return blocked();
  return reached("all of them");
}
/* `forks N`: starts N processes that stay, and says how many there were. */
static int p_forks(char **args) {
  int wanted = atoi(arg(args, 0)), made = 0;
  for (; made < wanted; made++) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) { pause(); _exit(0); }
  }
  printf("forked %d\n", made);
  fflush(stdout);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  return made == wanted ? reached("all of them") : blocked();
}
/* `spin N MS`: N busy processes; prints the processor time that they got in milliseconds. */
static int p_spin(char **args) {
  int count = atoi(arg(args, 0)), length = atoi(arg(args, 1));
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; i++)
    if (fork() == 0)
      for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >= length) _exit(0);
      }
  while (wait(NULL) > 0) {}
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("%ld\n", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000L + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
  return 0;
}
/* `flood MB`: writes that much to standard output. */
static int p_flood(char **args) {
  static char block[1 << 20];
  memset(block, 'f', sizeof block);
  for (long left = atol(arg(args, 0)); left > 0; left--)
    for (size_t done = 0; done < sizeof block;) {
      ssize_t count = write(1, block + done, sizeof block - done);
      if (count < 0) return 2;
      done += count;
    }
  return 0;
}
/* `serve PORT`: waits for one connection, from anywhere. */
static int p_serve(char **args) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(arg(args, 0)))};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (void *)&at, sizeof at) < 0 || listen(fd, 1) < 0) return blocked();
  puts("LISTENING");
  return judge(accept(fd, NULL, NULL), "a connection from outside");
}
/* `fallocate MB`: one large file at $S. */
static int p_fallocate(char **args) {
  signal(SIGXFSZ, SIG_IGN);
  int fd = open(var("S"), O_CREAT | O_WRONLY, 0644);
  int error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)atol(arg(args, 0)) << 20);
  unlink(var("S"));
  return errno = error, error ? blocked() : reached("a large file");
}
/* `swap A B`: exchanges the two again and again until it is told to end; says how often. */
static volatile sig_atomic_t SWAP_ENDS;
static void end_swap(int signal) { SWAP_ENDS = signal; }
static int p_swap(char **args) {
  long rounds = 0;
  signal(SIGTERM, end_swap);
  puts("swapping");
  for (; !SWAP_ENDS; rounds++)
    if (syscall(SYS_renameat2, AT_FDCWD, arg(args, 0), AT_FDCWD, arg(args, 1), 2 /* exchange */) < 0) return blocked();
  printf("%ld\n", rounds);
  return 0;
}
/* `die SIGNAL`: dies of it. */
static int p_die(char **args) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(atoi(arg(args, 0)), SIG_DFL);
  raise(atoi(arg(args, 0)));
  return 0;
}

#define TOOL_CHECKS \
  {"eat", p_eat}, {"share", p_share}, {"hoard", p_hoard}, {"segment", p_segment}, {"nest", p_nest}, {"terminals", p_terminals}, \
  {"drown", p_drown}, {"forks", p_forks}, {"spin", p_spin}, {"flood", p_flood}, {"serve", p_serve}, \
  {"fallocate", p_fallocate}, {"swap", p_swap}, {"die", p_die}
