/* Files: what can be opened, marked setuid, watched or reached by handle. */

/* Whether a descriptor is the null device, which sandboxes lay over files they hide. */
static int is_mask(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* Opens each path and asks `good` about it; one good one is enough. */
static int any_path(char **paths, int flags, int (*good)(int fd)) {
  int last = ENOENT;
  for (; *paths; paths++) {
    int fd = open(*paths, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) { last = errno; continue; }
    int yes = !is_mask(fd) && good(fd);
    close(fd);
    if (yes) return reached(*paths);
    last = ENODATA;
  }
  errno = last;
  return blocked();
}
static int is_open(int fd) { return fd >= 0; }
static int has_data(int fd) {
  char byte;
  return read(fd, &byte, 1) == 1;
}
static int p_openable(char **args) { return any_path(args, O_RDONLY, is_open); }
static int p_readable(char **args) { return any_path(args, O_RDONLY, has_data); }
static int p_writable(char **args) { return any_path(args, O_WRONLY, is_open); }

static int p_listable(char **args) {
  DIR *directory = opendir(arg(args, 0));
  if (!directory) return blocked();
  for (struct dirent *entry; (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) return reached(entry->d_name);
  return stopped("EMPTY");
}

static int any_match(const char *pattern, int flags, int (*good)(int fd)) {
  glob_t found = {0};
  if (glob(pattern, 0, NULL, &found)) { errno = ENOENT; return blocked(); }
  return any_path(found.gl_pathv, flags, good);
}
/* Only what is a disk is opened: opening others, such as a watchdog, has effects. */
static int p_block_device(char **args) {
  glob_t found = {0};
  int last = ENOENT;
  (void)args;
  glob("/dev/*", 0, NULL, &found);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    struct stat st;
    if (stat(found.gl_pathv[i], &st) < 0 || !S_ISBLK(st.st_mode)) continue;
    if (open(found.gl_pathv[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC) >= 0) return reached(found.gl_pathv[i]);
    last = errno;
  }
  errno = last;
  return blocked();
}
static int p_sys_writable(char **args) { return any_match(arg(args, 0), O_WRONLY, is_open); }

/* Another program's file: "busy" means that only its running stands in the way. */
static int p_write_program(char **args) {
  int fd = open(arg(args, 0), O_WRONLY | O_CLOEXEC);
  return fd >= 0 || errno == ETXTBSY ? reached("the file of a running program can be written") : blocked();
}

static int p_fdleak(char **args) {
  (void)args;
  char name[64], target[256];
  for (int fd = 3; fd < 1024; fd++) {
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (fcntl(fd, F_GETFD) < 0) continue;
    ssize_t length = readlink(name, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = 0;
    return reached(target);
  }
  return stopped("NONE");
}

static int p_open_by_handle(char **args) {
  struct { struct file_handle head; char room[128]; } handle = {.head = {.handle_bytes = 128}};
  int mount_id, at = open(arg(args, 0), O_RDONLY | O_DIRECTORY);
  if (at < 0 || name_to_handle_at(AT_FDCWD, arg(args, 0), &handle.head, &mount_id, 0) < 0) return blocked();
  return judge(open_by_handle_at(at, &handle.head, O_RDONLY), "a file by its handle");
}

static int p_chroot_escape(char **args) {
  if (mkdir(var("S"), 0755) < 0 && errno != EEXIST) return blocked();
  if (chroot(var("S")) < 0) return blocked();
  for (int i = 0; i < 64; i++)
    if (chdir("..") < 0) break;
  if (chroot(".") < 0) return blocked();
  return any_path(args, O_RDONLY, has_data);
}

static int p_mknod(char **args) {
  int block = arg(args, 0)[0] == 'b';
  dev_t device = makedev(strtoul(arg(args, 1), NULL, 0), strtoul(arg(args, 2), NULL, 0));
  unlink(var("S"));
  if (mknod(var("S"), (block ? S_IFBLK : S_IFCHR) | 0600, device) < 0) return blocked();
  unlink(var("S"));
  return reached("a device node");
}

static int p_setxattr(char **args) {
  return judge(setxattr(arg(args, 0), "user.attack", "x", 1, 0), "an attribute");
}
/* A file capability: the other way to give a program privileges. */
static int p_filecap(char **args) {
  (void)args;
  uint32_t data[5] = {0x02000001, 0xffffffff, 0, 0xffffffff, 0};
  close(open(var("S"), O_CREAT | O_WRONLY, 0755));
  return judge(setxattr(var("S"), "security.capability", data, sizeof data, 0), "a file capability");
}

/* Every call that can leave a setuid or setgid bit behind. */
static int p_suid(char **args) {
  const char *how = arg(args, 0), *path = var("S");
  uint64_t open_how[3] = {O_CREAT | O_EXCL | O_WRONLY, 06755, 0};
  long result = -1;
  umask(0);
  unlink(path);
  if (strstr(how, "chmod")) close(open(path, O_CREAT | O_EXCL | O_RDWR, 0755));
  if (!strcmp(how, "chmod")) result = syscall(SYS_chmod, path, 04755);
  else if (!strcmp(how, "chmod_sgid")) result = syscall(SYS_chmod, path, 02755);
  else if (!strcmp(how, "chmod_high")) result = syscall(SYS_chmod, path, 0xffffffff00010000UL | 04755);
  else if (!strcmp(how, "fchmod")) result = fchmod(open(path, O_RDWR), 04755);
  else if (!strcmp(how, "fchmodat")) result = syscall(SYS_fchmodat, AT_FDCWD, path, 04755);
  else if (!strcmp(how, "fchmodat2")) result = syscall(NR_fchmodat2, AT_FDCWD, path, 04755, 0);
  else if (!strcmp(how, "mknod")) result = syscall(SYS_mknod, path, S_IFREG | 04755, 0);
  else if (!strcmp(how, "mknodat")) result = syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | 04755, 0);
  else if (!strcmp(how, "open")) result = syscall(SYS_open, path, O_CREAT | O_EXCL | O_WRONLY, 04755);
  else if (!strcmp(how, "openat")) result = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_WRONLY, 04755);
  else if (!strcmp(how, "creat")) result = syscall(SYS_creat, path, 04755);
  else if (!strcmp(how, "openat2")) result = syscall(NR_openat2, AT_FDCWD, path, open_how, sizeof open_how);
  int error = errno;
  struct stat st;
  if (stat(path, &st) == 0 && (st.st_mode & 06000)) return reached(how);
  unlink(path);
  errno = error;
  return result < 0 ? blocked() : stopped("STRIPPED");
}
static int p_other_identity(char **args) {
  (void)args;
  return geteuid() != getuid() || getegid() != getgid() ? reached("the rights of another user") : stopped("SAME");
}

static int p_inotify(char **args) {
  return judge(inotify_add_watch(inotify_init1(0), arg(args, 0), IN_ALL_EVENTS), "a watch");
}
static int p_fanotify(char **args) {
  (void)args;
  return judge(syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, O_RDONLY), "fanotify");
}

#define FILE_CHECKS \
  {"openable", p_openable}, {"readable", p_readable}, {"writable", p_writable}, {"listable", p_listable}, \
  {"block_device", p_block_device}, {"sys_writable", p_sys_writable}, {"write_program", p_write_program}, \
  {"fdleak", p_fdleak}, {"open_by_handle", p_open_by_handle}, {"chroot_escape", p_chroot_escape}, \
  {"mknod", p_mknod}, {"setxattr", p_setxattr}, {"filecap", p_filecap}, {"suid", p_suid}, \
  {"other_identity", p_other_identity}, {"inotify", p_inotify}, {"fanotify", p_fanotify}
