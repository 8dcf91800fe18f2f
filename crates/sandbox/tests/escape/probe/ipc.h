/* Objects that processes share by name: SysV objects, message queues, keys; and terminals. */

static int p_shmget(char **args) {
  (void)args;
  int id = shmget(number("KEY"), 0, 0);
  char *memory = id < 0 ? (char *)-1 : shmat(id, NULL, SHM_RDONLY);
  return memory == (char *)-1 ? blocked() : reached(memory);
}
static int p_shm_list(char **args) {
  (void)args;
  struct shmid_ds info;
  long highest = shmctl(0, 13 /* SHM_STAT */, &info);
  FILE *file = fopen("/proc/sysvipc/shm", "r");
  char line[512];
  while (file && fgets(line, sizeof line, file))
    if (strtol(line, NULL, 10) == number("KEY")) return reached("the victim's segment is listed");
  return highest < 0 ? blocked() : stopped("NOT LISTED");
}
static int p_semget(char **args) { (void)args; return judge(semget(number("KEY"), 0, 0), "the victim's semaphore"); }
static int p_msgget(char **args) { (void)args; return judge(msgget(number("KEY"), 0), "the victim's queue"); }
static int p_mq_open(char **args) {
  char name[128];
  snprintf(name, sizeof name, "/%s", arg(args, 0));
  return judge(mq_open(name, O_RDONLY), "the victim's queue");
}

static int p_key_read(char **args) {
  (void)args;
  char text[64] = {0};
  long key = syscall(SYS_keyctl, 10 /* search */, -4 /* user keyring */, "user", var("TAG"), 0);
  if (key < 0 || syscall(SYS_keyctl, 11 /* read */, key, text, sizeof text - 1) < 0) return blocked();
  return reached(text);
}
static int p_add_key(char **args) {
  (void)args;
  long key = syscall(SYS_add_key, "user", "attack", "x", 1, -2 /* process keyring */);
  return judge(key, "a key");
}
static int p_request_key(char **args) {
  (void)args;
  return gate(syscall(SYS_request_key, "user", "no such key", NULL, -4), "request_key");
}

/* A terminal of our own, as our controlling terminal: the call is what counts. */
static int own_terminal(void) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return -1;
  own_session();
  return open(ptsname(master), O_RDWR);
}
static int p_tiocsti(char **args) {
  unsigned long high = strtoul(arg(args, 0), NULL, 0);
  int terminal = own_terminal();
  if (terminal < 0) return blocked();
  return judge(syscall(SYS_ioctl, terminal, high | TIOCSTI, "x"), "input put into a terminal");
}
static int p_tiocsti_stdin(char **args) { (void)args; return judge(ioctl(0, TIOCSTI, "x"), "input put into the terminal"); }
static int p_tioclinux(char **args) {
  (void)args;
  int terminal = open("/dev/tty1", O_RDWR | O_NOCTTY);
  char code = 6; /* the state of the shift keys */
  if (terminal < 0) terminal = open("/dev/console", O_RDWR | O_NOCTTY);
  return terminal < 0 ? blocked() : judge(ioctl(terminal, TIOCLINUX, &code), "a console");
}

#define IPC_CHECKS \
  {"shmget", p_shmget}, {"shm_list", p_shm_list}, {"semget", p_semget}, {"msgget", p_msgget}, {"mq_open", p_mq_open}, \
  {"key_read", p_key_read}, {"add_key", p_add_key}, {"request_key", p_request_key}, {"tiocsti", p_tiocsti}, \
  {"tiocsti_stdin", p_tiocsti_stdin}, {"tioclinux", p_tioclinux}
