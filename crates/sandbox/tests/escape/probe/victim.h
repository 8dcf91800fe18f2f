/* The victims: `victim DIR TAG` makes one of everything that an attack could reach, tells where it is, and takes it
 * away again when standard input ends. The process with the secrets is a child: it may be killed. */

static char VICTIM_MEMORY[64];

static int listen_in(const char *address, int type) {
  struct sockaddr_in four = {.sin_family = AF_INET};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  int is_six = inet_pton(AF_INET, address, &four.sin_addr) != 1;
  if (is_six) inet_pton(AF_INET6, address, &six.sin6_addr);
  int fd = socket(is_six ? AF_INET6 : AF_INET, type, 0);
  if (fd < 0 || bind(fd, is_six ? (void *)&six : (void *)&four, is_six ? sizeof six : sizeof four) < 0) return -1;
  return type == SOCK_STREAM && listen(fd, 64) < 0 ? -1 : fd;
}
static void tell_port(const char *name, int fd) {
  struct sockaddr_in6 at = {0};
  socklen_t length = sizeof at;
  if (fd >= 0 && getsockname(fd, (void *)&at, &length) == 0) printf("%s=%d\n", name, ntohs(at.sin6_port));
}
static int listen_unix(const char *name, int is_abstract) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  strncpy(at.sun_path + is_abstract, name, sizeof at.sun_path - 2);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(fd, (void *)&at, offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1) < 0) return -1;
  return listen(fd, 64) < 0 ? -1 : fd;
}
/* The machine's own address on a network, if it has one; no packet is sent. */
static void own_address(char *text, size_t size) {
  int fd = connect_in("192.0.2.1", 9, SOCK_DGRAM);
  struct sockaddr_in at = {0};
  socklen_t length = sizeof at;
  *text = 0;
  if (fd >= 0 && getsockname(fd, (void *)&at, &length) == 0) inet_ntop(AF_INET, &at.sin_addr, text, size);
}

static void serve_secrets(struct pollfd *fds, int count, int datagrams) {
  for (;;) {
    poll(fds, count, -1);
    for (int i = 0; i < count; i++) {
      if (!(fds[i].revents & POLLIN)) continue;
      struct sockaddr_storage from;
      socklen_t length = sizeof from;
      char byte;
      if (i == datagrams) {
        if (recvfrom(fds[i].fd, &byte, 1, 0, (void *)&from, &length) > 0) sendto(fds[i].fd, "s", 1, 0, (void *)&from, length);
        continue;
      }
      int peer = accept(fds[i].fd, NULL, NULL);
      if (peer >= 0) { send(peer, VICTIM_MEMORY, strlen(VICTIM_MEMORY), MSG_NOSIGNAL); close(peer); }
    }
  }
}

static int p_victim(char **args) {
  const char *tag = arg(args, 1);
  char path[512], queue[128], object[128], lan[64];
  snprintf(VICTIM_MEMORY, sizeof VICTIM_MEMORY, "%s", var("VICTIM_SECRET"));
  snprintf(path, sizeof path, "%s/socket", arg(args, 0));
  snprintf(queue, sizeof queue, "/%s", tag);
  snprintf(object, sizeof object, "/dev/shm/%s", tag);
  own_address(lan, sizeof lan);
  struct pollfd fds[] = {
    {listen_in("127.0.0.1", SOCK_STREAM), POLLIN, 0}, {listen_in("127.0.0.1", SOCK_DGRAM), POLLIN, 0},
    {listen_in("::1", SOCK_STREAM), POLLIN, 0}, {*lan ? listen_in(lan, SOCK_STREAM) : -1, POLLIN, 0},
    {listen_unix(path, 0), POLLIN, 0}, {listen_unix(tag, 1), POLLIN, 0}
  };
  tell_port("TP", fds[0].fd), tell_port("UP", fds[1].fd), tell_port("T6", fds[2].fd), tell_port("LP", fds[3].fd);
  printf("LAN=%s\nUS=%s\nAB=%s\nTAG=%s\n", lan, path, tag, tag);

  key_t number = 0x41540000 | (getpid() & 0xffff);
  int memory = shmget(number, 4096, IPC_CREAT | 0666), queue_id = msgget(number, IPC_CREAT | 0666);
  int semaphore = semget(number, 1, IPC_CREAT | 0666);
  strcpy(shmat(memory, NULL, 0), VICTIM_MEMORY);
  mq_close(mq_open(queue, O_CREAT | O_RDWR, 0666, NULL));
  long key = syscall(SYS_add_key, "user", tag, VICTIM_MEMORY, strlen(VICTIM_MEMORY), -4);
  syscall(SYS_keyctl, 5 /* permissions */, key, 0x3f3f0000);
  int fd = open(object, O_CREAT | O_WRONLY, 0666);
  if (write(fd, VICTIM_MEMORY, strlen(VICTIM_MEMORY)) < 0) return 2;

  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve_secrets(fds, 6, 1);
  }
  printf("KEY=%d\nVP=%d\nVS=%llu\nVM=%p\nREADY\n", number, child, start_time(child), (void *)VICTIM_MEMORY);
  fflush(stdout);
  while (getchar() != EOF) {}
  kill(child, SIGKILL);
  shmctl(memory, IPC_RMID, NULL), msgctl(queue_id, IPC_RMID, NULL), semctl(semaphore, 0, IPC_RMID);
  mq_unlink(queue), unlink(object), syscall(SYS_keyctl, 9 /* unlink */, key, -4);
  return 0;
}

#define VICTIM_CHECKS {"victim", p_victim}
