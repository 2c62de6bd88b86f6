// Copyright (c) 2026, Sluice contributors.
// GPLv2, see LICENSE.

/** A file system that records, in order, all that could be lost by a power failure.

    recorder [option ...] BASE STORE LOG MOUNTPOINT

Serves a copy of the directory BASE at MOUNTPOINT with FUSE. Contents are kept in
STORE, one file for each inode; names are kept in memory. LOG gets one record for
each write, sync, truncation, fallocate and change of a name, and one more when a
write or sync has ended, see Record. Nothing is synced: the log says what was.

Who writes to the file MOUNTPOINT/.mark puts a mark into the log, which comes after
all that was replied to before. So clients tell at which point they were
promised something.

Options:
  --sync-delay=US    a sync takes up to US microseconds (default 400)
  --write-delay=US   every 8th write takes up to US microseconds (default 200), so that
                     a sync finds writes in flight
  --seed=N           of the delays

Ends when MOUNTPOINT is unmounted, with status 77 if it cannot be mounted. */

#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

enum Kind : uint8_t {
  BASE = 1,    // an inode of BASE: ino, a = parent, b = mode, name
  MKNOD,       // a new file, directory or link: ino, a = parent, b = mode, name [\0 target]
  LINK,        // ino, a = parent, name
  UNLINK,      // also rmdir: ino, a = parent, name
  RENAME,      // ino, a = parent, b = new parent, name \0 new name
  WRITE,       // has come in: ino, a = offset, payload = data, flags
  DONE,        // the write of record a is about to be replied to
  TRUNCATE,    // ino, a = size
  FALLOCATE,   // ino, a = offset, b = length, flags = mode
  SYNC,        // has come in: ino, flags: DATASYNC
  SYNCED,      // the sync of record a is about to be replied to
  MARK,        // payload: what was written to .mark
};

enum Flag : uint32_t { DIRECT = 1, DSYNC = 2, DATASYNC = 4 };

/** What stands before each payload in the log. The number of a record is its place. */
struct Record {
  uint32_t length;  // of the payload
  Kind kind;
  uint8_t unused[3]{};
  uint32_t flags;
  uint32_t micros;  // since the start, low 32 bits
  uint64_t ino;
  uint64_t a;
  uint64_t b;
};
static_assert(sizeof(Record) == 40);

constexpr uint64_t ROOT = FUSE_ROOT_ID;
constexpr uint64_t MARKS = 2;
constexpr const char *MARK_NAME = ".mark";
constexpr double FOREVER = 1e9;

struct Node {
  uint64_t ino = 0;
  uint64_t parent = 0;  // of a directory
  mode_t mode = 0;
  nlink_t links = 0;
  uint64_t lookups = 0;
  int fd = -1;  // of the content in STORE
  std::string target;
  std::map<std::string, uint64_t> names;  // of a directory
  timespec changed{};
  bool is_dir() const { return S_ISDIR(mode); }
};

std::string store_path;
std::mutex mutex;  // names and nodes
std::unordered_map<uint64_t, std::unique_ptr<Node>> nodes;
uint64_t next_ino = 16;
unsigned sync_delay = 400;
unsigned write_delay = 200;
uint64_t seed = 1;

/** The log. Its own mutex gives records their order. */
class Log {
 public:
  void open(const char *path) {
    m_fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (m_fd < 0) {
      perror(path);
      exit(1);
    }
    m_buffer.reserve(SIZE * 2);
  }

  uint64_t add(Kind kind, uint64_t ino, uint64_t a = 0, uint64_t b = 0, uint32_t flags = 0,
               const void *payload = nullptr, size_t length = 0) {
    const auto now = std::chrono::steady_clock::now() - m_start;
    Record record{};
    record.length = static_cast<uint32_t>(length);
    record.kind = kind;
    record.flags = flags;
    record.micros = static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now).count());
    record.ino = ino;
    record.a = a;
    record.b = b;
    const std::lock_guard guard(m_mutex);
    m_buffer.append(reinterpret_cast<const char *>(&record), sizeof(record));
    if (length != 0) m_buffer.append(static_cast<const char *>(payload), length);
    if (m_buffer.size() >= SIZE) write_out();
    return m_count++;
  }

  void flush() {
    const std::lock_guard guard(m_mutex);
    write_out();
  }

 private:
  void write_out() {
    for (size_t done = 0; done < m_buffer.size();) {
      const ssize_t n = ::write(m_fd, m_buffer.data() + done, m_buffer.size() - done);
      if (n < 0) {
        perror("recorder: the log cannot be written");
        _exit(1);
      }
      done += static_cast<size_t>(n);
    }
    m_buffer.clear();
  }

  static constexpr size_t SIZE = 1 << 20;
  const std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
  std::mutex m_mutex;
  std::string m_buffer;
  uint64_t m_count = 0;
  int m_fd = -1;
} oplog;

uint64_t dice() {
  static std::atomic<uint64_t> threads{0};
  thread_local std::mt19937_64 engine(seed * 1000 + threads++);
  return engine();
}

void delay(unsigned up_to) {
  if (up_to != 0) std::this_thread::sleep_for(std::chrono::microseconds(dice() % up_to));
}

std::string two(const char *first, const char *second) {
  std::string both(first);
  both.push_back('\0');
  return both + second;
}

timespec now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return t;
}

Node *find(uint64_t ino) {
  const auto it = nodes.find(ino);
  return it == nodes.end() ? nullptr : it->second.get();
}

Node *child(uint64_t parent, const char *name) {
  Node *dir = find(parent);
  if (dir == nullptr) return nullptr;
  const auto it = dir->names.find(name);
  return it == dir->names.end() ? nullptr : find(it->second);
}

Node *add_node(uint64_t ino, mode_t mode, uint64_t parent) {
  auto node = std::make_unique<Node>();
  node->ino = ino;
  node->mode = mode;
  node->changed = now();
  if (S_ISDIR(mode)) {
    node->parent = parent;
    node->links = 2;
  } else {
    node->links = 1;
    if (S_ISREG(mode)) {
      const auto path = store_path + "/" + std::to_string(ino);
      node->fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (node->fd < 0) return nullptr;
    }
  }
  Node *raw = node.get();
  nodes[ino] = std::move(node);
  return raw;
}

/** Gives up what nobody can reach any more. */
void drop(Node *node) {
  if (node->lookups != 0 || node->links != 0) return;
  if (node->fd >= 0) {
    close(node->fd);
    unlink((store_path + "/" + std::to_string(node->ino)).c_str());
  }
  nodes.erase(node->ino);
}

void attributes(const Node &node, struct stat *st) {
  *st = {};
  if (node.fd >= 0) fstat(node.fd, st);
  st->st_dev = 0;
  st->st_ino = node.ino;
  st->st_mode = node.mode;
  st->st_nlink = node.links;
  st->st_uid = getuid();
  st->st_gid = getgid();
  st->st_blksize = 4096;
  if (node.fd < 0) {
    st->st_size = static_cast<off_t>(node.target.size());
    st->st_mtim = st->st_ctim = st->st_atim = node.changed;
  }
}

void reply_entry(fuse_req_t req, Node *node, fuse_file_info *file = nullptr) {
  fuse_entry_param entry{};
  entry.ino = node->ino;
  entry.attr_timeout = entry.entry_timeout = FOREVER;
  attributes(*node, &entry.attr);
  node->lookups++;
  if (file != nullptr) {
    fuse_reply_create(req, &entry, file);
  } else {
    fuse_reply_entry(req, &entry);
  }
}

void fs_init(void *, fuse_conn_info *connection) {
  connection->max_write = 1 << 20;
  connection->max_background = 64;
  connection->congestion_threshold = 64;
  connection->want &= ~(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ |
                        FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
}

void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
  const std::lock_guard guard(mutex);
  Node *node = parent == ROOT && strcmp(name, MARK_NAME) == 0 ? find(MARKS) : child(parent, name);
  if (node == nullptr) {
    fuse_reply_err(req, ENOENT);
  } else {
    reply_entry(req, node);
  }
}

void forget(uint64_t ino, uint64_t count) {
  Node *node = find(ino);
  if (node == nullptr || ino == ROOT || ino == MARKS) return;
  node->lookups -= std::min(count, node->lookups);
  drop(node);
}

void fs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count) {
  {
    const std::lock_guard guard(mutex);
    forget(ino, count);
  }
  fuse_reply_none(req);
}

void fs_forget_multi(fuse_req_t req, size_t count, fuse_forget_data *forgets) {
  {
    const std::lock_guard guard(mutex);
    for (size_t i = 0; i < count; i++) forget(forgets[i].ino, forgets[i].nlookup);
  }
  fuse_reply_none(req);
}

void fs_getattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info *) {
  const std::lock_guard guard(mutex);
  const Node *node = find(ino);
  if (node == nullptr) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  struct stat st;
  attributes(*node, &st);
  fuse_reply_attr(req, &st, FOREVER);
}

void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *wanted, int which, fuse_file_info *) {
  const std::lock_guard guard(mutex);
  Node *node = find(ino);
  if (node == nullptr) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  // Owner and times are nothing that a server could lose.
  if (which & FUSE_SET_ATTR_MODE) node->mode = (node->mode & S_IFMT) | (wanted->st_mode & 07777);
  if ((which & FUSE_SET_ATTR_SIZE) && node->fd >= 0) {
    if (ftruncate(node->fd, wanted->st_size) != 0) {
      fuse_reply_err(req, errno);
      return;
    }
    oplog.add(TRUNCATE, ino, static_cast<uint64_t>(wanted->st_size));
  }
  struct stat st;
  attributes(*node, &st);
  fuse_reply_attr(req, &st, FOREVER);
}

/** Makes a file, directory or link; returns an error number. */
int make(uint64_t parent, const char *name, mode_t mode, const char *target, Node **made) {
  Node *dir = find(parent);
  if (dir == nullptr || !dir->is_dir()) return ENOENT;
  if (dir->names.contains(name)) return EEXIST;
  Node *node = add_node(next_ino++, mode, parent);
  if (node == nullptr) return errno;
  if (target != nullptr) node->target = target;
  dir->names[name] = node->ino;
  dir->changed = node->changed;
  if (node->is_dir()) dir->links++;
  const std::string payload = target != nullptr ? two(name, target) : std::string(name);
  oplog.add(MKNOD, node->ino, parent, mode, 0, payload.data(), payload.size());
  *made = node;
  return 0;
}

void reply_made(fuse_req_t req, uint64_t parent, const char *name, mode_t mode,
                const char *target = nullptr) {
  const std::lock_guard guard(mutex);
  Node *node = nullptr;
  const int error = make(parent, name, mode, target, &node);
  if (error != 0) {
    fuse_reply_err(req, error);
  } else {
    reply_entry(req, node);
  }
}

void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t) {
  reply_made(req, parent, name, mode);
}

void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode) {
  reply_made(req, parent, name, S_IFDIR | (mode & 07777));
}

void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name) {
  reply_made(req, parent, name, S_IFLNK | 0777, target);
}

void fs_readlink(fuse_req_t req, fuse_ino_t ino) {
  const std::lock_guard guard(mutex);
  const Node *node = find(ino);
  if (node == nullptr) {
    fuse_reply_err(req, ENOENT);
  } else {
    fuse_reply_readlink(req, node->target.c_str());
  }
}

void set_file(fuse_file_info *file, uint64_t ino) {
  if (ino == MARKS) {
    file->direct_io = 1;
  } else {
    file->keep_cache = 1;
  }
}

void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               fuse_file_info *file) {
  const std::lock_guard guard(mutex);
  Node *node = nullptr;
  const int error = make(parent, name, S_IFREG | (mode & 07777), nullptr, &node);
  if (error != 0) {
    fuse_reply_err(req, error);
    return;
  }
  set_file(file, node->ino);
  reply_entry(req, node, file);
}

void fs_open(fuse_req_t req, fuse_ino_t ino, fuse_file_info *file) {
  set_file(file, ino);
  fuse_reply_open(req, file);
}

/** Takes a name away and its node, if that was the last one. */
void take_name(Node *dir, const std::string &name, Node *node) {
  dir->names.erase(name);
  dir->changed = now();
  if (node->is_dir()) {
    dir->links--;
    node->links = 0;
  } else {
    node->links--;
  }
  drop(node);
}

void remove_name(fuse_req_t req, uint64_t parent, const char *name, bool directory) {
  const std::lock_guard guard(mutex);
  Node *node = child(parent, name);
  int error = 0;
  if (node == nullptr) {
    error = ENOENT;
  } else if (directory && !node->is_dir()) {
    error = ENOTDIR;
  } else if (!directory && node->is_dir()) {
    error = EISDIR;
  } else if (directory && !node->names.empty()) {
    error = ENOTEMPTY;
  } else {
    oplog.add(UNLINK, node->ino, parent, 0, 0, name, strlen(name));
    take_name(find(parent), name, node);
  }
  fuse_reply_err(req, error);
}

void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name) {
  remove_name(req, parent, name, false);
}

void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name) {
  remove_name(req, parent, name, true);
}

void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name) {
  const std::lock_guard guard(mutex);
  Node *node = find(ino);
  Node *dir = find(parent);
  if (node == nullptr || dir == nullptr || node->is_dir()) {
    fuse_reply_err(req, EPERM);
  } else if (dir->names.contains(name)) {
    fuse_reply_err(req, EEXIST);
  } else {
    dir->names[name] = ino;
    node->links++;
    oplog.add(LINK, ino, parent, 0, 0, name, strlen(name));
    reply_entry(req, node);
  }
}

void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
               const char *new_name, unsigned flags) {
  const std::lock_guard guard(mutex);
  Node *node = child(parent, name);
  Node *to = find(new_parent);
  int error = 0;
  if (node == nullptr || to == nullptr) {
    error = ENOENT;
  } else if (flags & ~1U) {  // RENAME_NOREPLACE
    error = EINVAL;
  } else {
    Node *replaced = child(new_parent, new_name);
    if (replaced == node) {
      // nothing to do
    } else if (replaced != nullptr && (flags & 1U)) {
      error = EEXIST;
    } else if (replaced != nullptr && replaced->is_dir() && !replaced->names.empty()) {
      error = ENOTEMPTY;
    } else {
      const std::string both = two(name, new_name);
      oplog.add(RENAME, node->ino, parent, new_parent, 0, both.data(), both.size());
      if (replaced != nullptr) take_name(to, new_name, replaced);
      Node *from = find(parent);
      from->names.erase(name);
      to->names[new_name] = node->ino;
      from->changed = to->changed = now();
      if (node->is_dir()) {
        from->links--;
        to->links++;
        node->parent = new_parent;
      }
    }
  }
  fuse_reply_err(req, error);
}

int content(uint64_t ino) {
  const std::lock_guard guard(mutex);
  const Node *node = find(ino);
  return node == nullptr ? -1 : node->fd;
}

void fs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, fuse_file_info *) {
  thread_local std::vector<char> buffer;
  buffer.resize(size);
  const ssize_t n = ino == MARKS ? 0 : pread(content(ino), buffer.data(), size, offset);
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_buf(req, buffer.data(), static_cast<size_t>(n));
  }
}

void fs_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
              fuse_file_info *file) {
  if (ino == MARKS) {
    oplog.add(MARK, ino, 0, 0, 0, data, size);
    fuse_reply_write(req, size);
    return;
  }
  // Pages that the kernel writes back (mmap) come without the flags of an open file.
  uint32_t flags = 0;
  if (!file->writepage) {
    if (file->flags & O_DIRECT) flags |= DIRECT;
    if (file->flags & O_DSYNC) flags |= DSYNC;
  }
  const uint64_t number =
      oplog.add(WRITE, ino, static_cast<uint64_t>(offset), 0, flags, data, size);
  if (dice() % 8 == 0) delay(write_delay);
  const ssize_t n = pwrite(content(ino), data, size, offset);
  if (n != static_cast<ssize_t>(size)) {
    fprintf(stderr, "recorder: the store cannot be written: %s\n", strerror(errno));
    _exit(1);
  }
  oplog.add(DONE, ino, number);
  fuse_reply_write(req, size);
}

void fs_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                  fuse_file_info *) {
  if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)) {
    fuse_reply_err(req, EOPNOTSUPP);
    return;
  }
  const std::lock_guard guard(mutex);
  const Node *node = find(ino);
  if (node == nullptr || fallocate(node->fd, mode, offset, length) != 0) {
    fuse_reply_err(req, node == nullptr ? ENOENT : errno);
    return;
  }
  oplog.add(FALLOCATE, ino, static_cast<uint64_t>(offset), static_cast<uint64_t>(length),
            static_cast<uint32_t>(mode));
  fuse_reply_err(req, 0);
}

void sync(fuse_req_t req, uint64_t ino, int datasync) {
  const uint64_t number = oplog.add(SYNC, ino, 0, 0, datasync != 0 ? uint32_t{DATASYNC} : 0U);
  delay(sync_delay);
  oplog.add(SYNCED, ino, number);
  fuse_reply_err(req, 0);
}

void fs_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, fuse_file_info *) {
  sync(req, ino, datasync);
}

void fs_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, fuse_file_info *) {
  const off_t where = lseek(content(ino), offset, whence);
  if (where < 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_lseek(req, where);
  }
}

void fs_statfs(fuse_req_t req, fuse_ino_t) {
  struct statvfs st {};
  statvfs(store_path.c_str(), &st);
  fuse_reply_statfs(req, &st);
}

void fs_opendir(fuse_req_t req, fuse_ino_t ino, fuse_file_info *file) {
  const std::lock_guard guard(mutex);
  const Node *dir = find(ino);
  if (dir == nullptr || !dir->is_dir()) {
    fuse_reply_err(req, ENOTDIR);
    return;
  }
  auto *buffer = new std::string;
  const auto add = [&](const std::string &name, uint64_t number, mode_t mode) {
    struct stat st {};
    st.st_ino = number;
    st.st_mode = mode;
    const size_t before = buffer->size();
    buffer->resize(before + fuse_add_direntry(req, nullptr, 0, name.c_str(), nullptr, 0));
    fuse_add_direntry(req, buffer->data() + before, buffer->size() - before, name.c_str(), &st,
                      static_cast<off_t>(buffer->size()));
  };
  add(".", ino, S_IFDIR);
  add("..", dir->parent, S_IFDIR);
  for (const auto &[name, number] : dir->names) add(name, number, find(number)->mode);
  file->fh = reinterpret_cast<uint64_t>(buffer);
  fuse_reply_open(req, file);
}

void fs_readdir(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info *file) {
  const auto *buffer = reinterpret_cast<std::string *>(file->fh);
  const auto start = static_cast<size_t>(offset);
  if (start >= buffer->size()) {
    fuse_reply_buf(req, nullptr, 0);
    return;
  }
  // Whole entries only: each says where the next one begins.
  size_t end = start;
  while (end < buffer->size()) {
    uint32_t length;
    memcpy(&length, buffer->data() + end + 16, sizeof(length));
    const size_t entry = (24 + length + 7) & ~size_t{7};
    if (end + entry - start > size) break;
    end += entry;
  }
  fuse_reply_buf(req, buffer->data() + start, end - start);
}

void fs_releasedir(fuse_req_t req, fuse_ino_t, fuse_file_info *file) {
  delete reinterpret_cast<std::string *>(file->fh);
  fuse_reply_err(req, 0);
}

void fs_ok(fuse_req_t req, fuse_ino_t, fuse_file_info *) { fuse_reply_err(req, 0); }

void load(const std::filesystem::path &from, uint64_t parent) {
  std::vector<std::filesystem::directory_entry> entries;
  for (const auto &entry : std::filesystem::directory_iterator(from)) entries.push_back(entry);
  std::sort(entries.begin(), entries.end());
  for (const auto &entry : entries) {
    struct stat st;
    if (lstat(entry.path().c_str(), &st) != 0) continue;
    const std::string name = entry.path().filename();
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode)) continue;
    const uint64_t ino = next_ino++;
    Node *node = add_node(ino, st.st_mode, parent);
    find(parent)->names[name] = ino;
    oplog.add(BASE, ino, parent, st.st_mode, 0, name.data(), name.size());
    if (S_ISDIR(st.st_mode)) {
      find(parent)->links++;
      load(entry.path(), ino);
    } else if (S_ISLNK(st.st_mode)) {
      node->target = std::filesystem::read_symlink(entry.path());
    } else {
      close(node->fd);
      const auto path = store_path + "/" + std::to_string(ino);
      std::filesystem::copy_file(entry.path(), path,
                                 std::filesystem::copy_options::overwrite_existing);
      node->fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      if (node->fd < 0) {
        perror(path.c_str());
        exit(1);
      }
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  std::vector<char *> places;
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument.starts_with("--sync-delay=")) {
      sync_delay = static_cast<unsigned>(atoi(argv[i] + 13));
    } else if (argument.starts_with("--write-delay=")) {
      write_delay = static_cast<unsigned>(atoi(argv[i] + 14));
    } else if (argument.starts_with("--seed=")) {
      seed = strtoull(argv[i] + 7, nullptr, 10);
    } else {
      places.push_back(argv[i]);
    }
  }
  if (places.size() != 4) {
    fprintf(stderr, "usage: recorder [--sync-delay=US] [--write-delay=US] [--seed=N] "
                    "BASE STORE LOG MOUNTPOINT\n");
    return 2;
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  umask(0);
  store_path = places[1];
  oplog.open(places[2]);
  add_node(ROOT, S_IFDIR | 0755, ROOT);
  Node *marks = add_node(MARKS, S_IFREG | 0666, ROOT);
  marks->lookups = 1;
  load(places[0], ROOT);

  fuse_lowlevel_ops operations{};
  operations.init = fs_init;
  operations.lookup = fs_lookup;
  operations.forget = fs_forget;
  operations.forget_multi = fs_forget_multi;
  operations.getattr = fs_getattr;
  operations.setattr = fs_setattr;
  operations.readlink = fs_readlink;
  operations.mknod = fs_mknod;
  operations.mkdir = fs_mkdir;
  operations.unlink = fs_unlink;
  operations.rmdir = fs_rmdir;
  operations.symlink = fs_symlink;
  operations.rename = fs_rename;
  operations.link = fs_link;
  operations.open = fs_open;
  operations.read = fs_read;
  operations.write = fs_write;
  operations.flush = fs_ok;
  operations.release = fs_ok;
  operations.fsync = fs_fsync;
  operations.opendir = fs_opendir;
  operations.readdir = fs_readdir;
  operations.releasedir = fs_releasedir;
  operations.fsyncdir = fs_fsync;
  operations.statfs = fs_statfs;
  operations.create = fs_create;
  operations.fallocate = fs_fallocate;
  operations.lseek = fs_lseek;

  char name[] = "recorder";
  char option[] = "-o";
  char options[] = "fsname=powercut,subtype=recorder,default_permissions";
  char *arguments[] = {name, option, options};
  fuse_args args = FUSE_ARGS_INIT(3, arguments);
  fuse_session *session = fuse_session_new(&args, &operations, sizeof(operations), nullptr);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, places[3]) != 0) {
    fprintf(stderr, "recorder: cannot mount %s; is there a /dev/fuse, and may you use it?\n",
            places[3]);
    return 77;
  }
  fuse_loop_config *config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, 32);
  fuse_loop_cfg_set_clone_fd(config, 0);
  const int status = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  oplog.flush();
  fuse_session_unmount(session);
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  return status == 0 ? 0 : 1;
}
