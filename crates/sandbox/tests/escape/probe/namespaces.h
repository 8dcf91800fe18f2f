/* Mounts and namespaces, by the old calls and the new ones. */

static const struct { const char *name; unsigned long flag; } KINDS[] = {
  {"user", 0x10000000}, {"mount", 0x00020000}, {"pid", 0x20000000}, {"net", 0x40000000}, {"ipc", 0x08000000},
  {"uts", 0x04000000}, {"cgroup", 0x02000000}, {"time", 0x00000080}
};
static unsigned long kind(const char *name) {
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
    if (!strcmp(KINDS[i].name, name)) return KINDS[i].flag;
  return 0;
}

static int p_unshare(char **args) { return judge(syscall(SYS_unshare, kind(arg(args, 0))), "a new namespace"); }

/* A child in a new namespace; it ends at once. */
static int after_clone(long child) {
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, NULL, 0);
  return judge(child, "a process in a new namespace");
}
static int p_clone(char **args) {
  return after_clone(syscall(SYS_clone, kind(arg(args, 0)) | SIGCHLD, NULL, NULL, NULL, NULL));
}
static int p_clone3(char **args) {
  uint64_t how[11] = {kind(arg(args, 0)), 0, 0, 0, SIGCHLD};
  return after_clone(syscall(NR_clone3, how, sizeof how));
}

/* Every namespace of every process that is there. */
static int p_setns(char **args) {
  glob_t found = {0};
  int last = ENOENT;
  (void)args;
  glob("/proc/[0-9]*/ns/*", 0, NULL, &found);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && setns(fd, 0) == 0) return reached(found.gl_pathv[i]);
    last = errno;
    if (fd >= 0) close(fd);
  }
  errno = last;
  return blocked();
}

static int p_mount(char **args) {
  const char *data = arg(args, 3);
  mkdir(arg(args, 1), 0755);
  unsigned long flags = strtoul(arg(args, 2), NULL, 0);
  return judge(syscall(SYS_mount, "none", arg(args, 1), arg(args, 0), flags, data), "a mount");
}
static int p_umount(char **args) { return judge(syscall(SYS_umount2, arg(args, 0), 2 /* lazily */), "a mount is gone"); }
static int p_pivot_root(char **args) { (void)args; return gate(syscall(SYS_pivot_root, ".", "."), "pivot_root"); }

static int p_fsopen(char **args) {
  (void)args;
  int context = syscall(NR_fsopen, "tmpfs", 0);
  if (context < 0 || syscall(NR_fsconfig, context, 6 /* create */, NULL, NULL, 0) < 0) return blocked();
  return judge(syscall(NR_fsmount, context, 0, 0), "a new file system");
}
static int p_open_tree(char **args) { return judge(syscall(NR_open_tree, AT_FDCWD, arg(args, 0), 1 /* clone */), "a copy of a mount"); }
/* Makes a read-only mount writable, by a copy of it or in place. */
static int p_mount_setattr(char **args) {
  struct { uint64_t set, clear, propagation, userns; } attr = {0, 1 /* read-only */, 0, 0};
  int tree = syscall(NR_open_tree, AT_FDCWD, arg(args, 0), 1);
  if (tree >= 0 && syscall(NR_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) == 0) return reached("a writable copy");
  return judge(syscall(NR_mount_setattr, AT_FDCWD, arg(args, 0), 0, &attr, sizeof attr), "a writable mount");
}
static int p_move_mount(char **args) {
  int tree = syscall(NR_open_tree, AT_FDCWD, arg(args, 0), 1);
  if (tree < 0) return gate(syscall(NR_move_mount, -1, "", -1, "", 4 /* empty path */), "move_mount");
  mkdir(var("S"), 0755);
  return judge(syscall(NR_move_mount, tree, "", AT_FDCWD, var("S"), 4), "a mount at another place");
}

#define NAMESPACE_CHECKS \
  {"unshare", p_unshare}, {"clone", p_clone}, {"clone3", p_clone3}, {"setns", p_setns}, {"mount", p_mount}, \
  {"umount", p_umount}, {"pivot_root", p_pivot_root}, {"fsopen", p_fsopen}, {"open_tree", p_open_tree}, \
  {"mount_setattr", p_mount_setattr}, {"move_mount", p_move_mount}
