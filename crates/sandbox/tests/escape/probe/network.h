/* Connections and kinds of sockets. */

static int connect_in(const char *address, int port, int type) {
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  int is_six = inet_pton(AF_INET, address, &four.sin_addr) != 1;
  if (is_six && inet_pton(AF_INET6, address, &six.sin6_addr) != 1) { errno = EDESTADDRREQ; return -1; }
  int fd = socket(is_six ? AF_INET6 : AF_INET, type, 0);
  struct timeval patience = {2, 0};
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (fd < 0) return -1;
  return connect(fd, is_six ? (void *)&six : (void *)&four, is_six ? sizeof six : sizeof four) < 0 ? -1 : fd;
}
/* `tcp ADDRESS PORT`: reached once the victim speaks. */
static int p_tcp(char **args) {
  if (!*arg(args, 0) || !*arg(args, 1)) return absent("the machine has no such address");
  int fd = connect_in(arg(args, 0), atoi(arg(args, 1)), SOCK_STREAM);
  return fd < 0 ? blocked() : has_data(fd) ? reached("a TCP connection") : blocked();
}
static int p_udp(char **args) {
  int fd = connect_in(arg(args, 0), atoi(arg(args, 1)), SOCK_DGRAM);
  if (fd < 0 || send(fd, "x", 1, 0) < 0) return blocked();
  return has_data(fd) ? reached("an answer over UDP") : blocked();
}
/* A connected datagram socket shows that there is a way, without a packet. */
static int p_route(char **args) { return judge(connect_in(arg(args, 0), 53, SOCK_DGRAM), "a route"); }
static int p_raw(char **args) { (void)args; return judge(socket(AF_INET, SOCK_RAW, 1 /* ICMP */), "raw packets"); }

static int p_family(char **args) {
  unsigned long family = strtoul(arg(args, 0), NULL, 0), type = strtoul(arg(args, 1), NULL, 0), protocol = strtoul(arg(args, 2), NULL, 0);
  return judge(syscall(SYS_socket, family, type, protocol), "a socket of that family");
}
static int p_families(char **args) {
  static const int TYPES[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
  char text[64];
  (void)args;
  for (int family = 0; family < 64; family++)
    for (int type = 0; type < 4; type++) {
      if (family == AF_UNIX || family == AF_INET || family == AF_INET6) continue;
      if (socket(family, TYPES[type], 0) < 0) continue;
      snprintf(text, sizeof text, "family %d", family);
      return reached(text);
    }
  errno = EAFNOSUPPORT;
  return blocked();
}

static int connect_unix(const char *name, int is_abstract) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length + 1 >= sizeof to.sun_path) { errno = ENAMETOOLONG; return -1; }
  memcpy(to.sun_path + is_abstract, name, length);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  return connect(fd, (void *)&to, offsetof(struct sockaddr_un, sun_path) + length + 1);
}
static int p_unix(char **args) {
  int last = ENOENT;
  for (; *args; args++) {
    if (**args && connect_unix(*args, 0) == 0) return reached(*args);
    last = errno;
  }
  errno = last;
  return blocked();
}
static int p_abstract(char **args) { return judge(connect_unix(arg(args, 0), 1), "an abstract socket"); }

/* One operation on a ring: its result, or a negative error. */
static int ring_operation(int op, int fd, uint64_t address, uint64_t offset, uint32_t length) {
  struct { uint32_t sq_entries, cq_entries, flags, cpu, idle, features, wq, resv[3]; uint32_t sq[10], cq[10]; } p = {0};
  int ring = syscall(NR_io_uring_setup, 4, &p);
  if (ring < 0) return -errno;
  uint8_t *sq = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0);
  uint8_t *cq = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0x8000000);
  struct { uint8_t op, flags; uint16_t prio; int32_t fd; uint64_t off, addr; uint32_t len, rest[9]; } *entry =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, 0x10000000);
  if (sq == MAP_FAILED || cq == MAP_FAILED || entry == MAP_FAILED) return -ENOMEM;
  entry->op = op, entry->fd = fd, entry->off = offset, entry->addr = address, entry->len = length;
  *(uint32_t *)(sq + p.sq[6]) = 0;                                           /* array[0] is entry 0 */
  __atomic_store_n((uint32_t *)(sq + p.sq[1]), 1, __ATOMIC_RELEASE);         /* the tail */
  if (syscall(NR_io_uring_enter, ring, 1, 1, 1 /* wait for it */, NULL, 0) < 0) return -errno;
  return *(int32_t *)(cq + p.cq[5] + 8);
}
static int p_io_uring_connect(char **args) {
  (void)args;
  int fd = ring_operation(45 /* socket */, AF_INET, 0, SOCK_STREAM, 0);
  if (fd < 0) return errno = -fd, blocked();
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(number("TP")), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int result = ring_operation(16 /* connect */, fd, (uintptr_t)&to, sizeof to, 0);
  return errno = -result, judge(result, "a connection by io_uring");
}

#define NETWORK_CHECKS \
  {"tcp", p_tcp}, {"udp", p_udp}, {"route", p_route}, {"raw", p_raw}, {"family", p_family}, {"families", p_families}, \
  {"unix", p_unix}, {"abstract", p_abstract}, {"io_uring_connect", p_io_uring_connect}
