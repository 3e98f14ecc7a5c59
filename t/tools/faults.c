/*
 * faults.c
 *		To be preloaded: counts calls of the server's processes about files of
 *		relations and of pgbufprobe, and makes them fail or wait, as the file
 *		named by FAULTS says.  t/perl/Faults.pm writes that file.
 *
 *		A call is one of a process whose title contains that of the file, and
 *		about a path that contains its path.  Forks are those of the postmaster.
 *		A call that hangs waits until a signal interrupts it, as on a file system
 *		that does not answer.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum
{
	OPEN, READ, PREAD, WRITE, FSYNC, RENAME, READDIR, FORK, CALLS
};

typedef struct Call
{
	int64_t		count;
	int64_t		failed;
	int64_t		delayed;
	int64_t		fail_at;		/* the call of this number fails; 0: none */
	int64_t		fail_rate;		/* of a million calls */
	int64_t		error;
	int64_t		delay_rate;
	int64_t		delay_us;		/* -1: hangs */
} Call;

typedef struct Control
{
	int64_t		active;
	int64_t		seed;
	char		title[64];
	char		path[512];
	Call		calls[CALLS];
} Control;

#define REAL(name) \
	static __typeof__(name) *real = NULL; \
	if (!real) \
		real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

static Control *
find_control(void)
{
	static Control *control = NULL;
	const char *name = getenv("FAULTS");
	void	   *mapped;
	int			fd;

	if (control || !name || (fd = (int) syscall(SYS_openat, AT_FDCWD, name, O_RDWR)) < 0)
		return control;
	mapped = mmap(NULL, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		control = mapped;
	return control;
}

static void
read_title(char *title, size_t size)
{
	int			fd = (int) syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
	long		length = fd < 0 ? 0 : syscall(SYS_read, fd, title, size - 1);

	if (fd >= 0)
		close(fd);
	title[length < 0 ? 0 : length] = '\0';
}

/* A title is set once, soon after the fork. */
static int
has_title(const Control *control)
{
	static char title[256];
	static int	pid = 0;

	if (pid != getpid() || strncmp(title, "postgres: ", 10) != 0)
		read_title(title, sizeof(title));
	pid = getpid();
	return strncmp(title, "postgres: ", 10) == 0 && strstr(title, control->title) != NULL;
}

static int
is_postmaster(void)
{
	char		title[256];
	size_t		length;

	read_title(title, sizeof(title));
	length = strlen(title);
	return length >= 8 && strcmp(title + length - 8, "postgres") == 0;
}

/* Files that the server needs in order to connect are left out. */
static int
has_path(const Control *control, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (strstr(path, control->path) == NULL)
		return 0;
	if (strcmp(name, "base") == 0 || strcmp(name, "global") == 0 ||
		strcmp(name, "pg_tblspc") == 0 || strcmp(name, "pg_stat") == 0)
		return 1;
	if (strstr(path, "base/") == NULL && strstr(path, "global/") == NULL &&
		strstr(path, "pg_stat/") == NULL && strstr(path, "pg_tblspc/") == NULL && strstr(path, "/PG_1") == NULL)
		return 0;
	return (*name >= '0' && *name <= '9') || strncmp(name, "pgbufprobe.", 11) == 0 || strncmp(name, "PG_1", 4) == 0;
}

/* True for so many of a million numbers; the same ones for the same seed. */
static int
is_drawn(int64_t seed, int64_t number, int64_t rate)
{
	uint64_t	x = ((uint64_t) seed << 32) + (uint64_t) number * UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return (int64_t) ((x ^ x >> 31) % 1000000) < rate;
}

/* Waits as long as the kernel restarts calls after a signal.  Returns true with errno. */
static int
hang(void)
{
	int			ends[2];
	char		byte;

	if (pipe(ends) == 0)
	{
		(void) syscall(SYS_read, ends[0], &byte, 1);
		close(ends[0]);
		close(ends[1]);
	}
	errno = EINTR;
	return 1;
}

/* Counts a call, and delays it if it may wait; returns true, and sets errno, if it is to fail. */
static int
fails(Control *control, int kind, int may_wait)
{
	Call	   *call = &control->calls[kind];
	int64_t		number = __atomic_add_fetch(&call->count, 1, __ATOMIC_SEQ_CST);
	int64_t		seed = control->seed * CALLS + kind;

	if (may_wait && is_drawn(~seed, number, call->delay_rate))
	{
		struct timespec left = {call->delay_us / 1000000, call->delay_us % 1000000 * 1000};

		__atomic_add_fetch(&call->delayed, 1, __ATOMIC_SEQ_CST);
		if (call->delay_us < 0)
			return hang();
		while (nanosleep(&left, &left) != 0 && errno == EINTR)
			;
	}
	if (number != call->fail_at && !is_drawn(seed, number, call->fail_rate))
		return 0;
	__atomic_add_fetch(&call->failed, 1, __ATOMIC_SEQ_CST);
	errno = (int) call->error;
	return 1;
}

static int
fails_at(int kind, const char *path, int may_wait)
{
	Control    *control = find_control();
	int			before = errno;
	int			result = control && control->active && has_path(control, path) && has_title(control) &&
		fails(control, kind, may_wait);

	if (!result)
		errno = before;
	return result;
}

static int
fails_at_path(int kind, const char *path)
{
	return fails_at(kind, path, 1);
}

static void
path_of(int fd, char *path, size_t size)
{
	Control    *control = find_control();
	int			before = errno;
	char		link[64];
	ssize_t		length = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (control && control->active)
		length = readlink(link, path, size - 1);
	path[length < 0 ? 0 : length] = '\0';
	errno = before;
}

static int
fails_at_file(int kind, int fd)
{
	char		path[4096];

	path_of(fd, path, sizeof(path));
	return fails_at_path(kind, path);
}

int
open(const char *path, int flags,...)
{
	va_list		arguments;
	int			mode;

	REAL(open);
	va_start(arguments, flags);
	mode = va_arg(arguments, int);
	va_end(arguments);
	return fails_at_path(OPEN, path) ? -1 : real(path, flags, mode);
}

FILE *
fopen(const char *path, const char *mode)
{
	REAL(fopen);
	return fails_at_path(OPEN, path) ? NULL : real(path, mode);
}

DIR *
opendir(const char *path)
{
	REAL(opendir);
	return fails_at_path(OPEN, path) ? NULL : real(path);
}

ssize_t
read(int fd, void *buffer, size_t length)
{
	REAL(read);
	return fails_at_file(READ, fd) ? -1 : real(fd, buffer, length);
}

ssize_t
pread(int fd, void *buffer, size_t length, off_t offset)
{
	REAL(pread);
	return fails_at_file(PREAD, fd) ? -1 : real(fd, buffer, length, offset);
}

ssize_t
preadv(int fd, const struct iovec *parts, int nparts, off_t offset)
{
	REAL(preadv);
	return fails_at_file(PREAD, fd) ? -1 : real(fd, parts, nparts, offset);
}

ssize_t
write(int fd, const void *buffer, size_t length)
{
	REAL(write);
	return fails_at_file(WRITE, fd) ? -1 : real(fd, buffer, length);
}

/* Most calls only fill a buffer. */
size_t
fwrite(const void *buffer, size_t size, size_t n, FILE *file)
{
	static size_t filled = 0;
	char		path[4096];
	int			is_full;

	REAL(fwrite);
	filled += size * n;
	is_full = filled >= 4096;
	if (is_full)
		filled = 0;
	path_of(fileno(file), path, sizeof(path));
	return fails_at(WRITE, path, is_full) ? 0 : real(buffer, size, n, file);
}

int
fsync(int fd)
{
	REAL(fsync);
	return fails_at_file(FSYNC, fd) ? -1 : real(fd);
}

int
fdatasync(int fd)
{
	REAL(fdatasync);
	return fails_at_file(FSYNC, fd) ? -1 : real(fd);
}

int
rename(const char *from, const char *to)
{
	REAL(rename);
	return fails_at_path(RENAME, to) ? -1 : real(from, to);
}

struct dirent *
readdir(DIR *folder)
{
	REAL(readdir);
	return fails_at_file(READDIR, dirfd(folder)) ? NULL : real(folder);
}

pid_t
fork(void)
{
	Control    *control = find_control();

	REAL(fork);
	return control && control->active && is_postmaster() && fails(control, FORK, 1) ? -1 : real();
}

ssize_t
__read_chk(int fd, void *buffer, size_t length, size_t size __attribute__((unused)))
{
	return read(fd, buffer, length);
}

struct dirent64 *
readdir64(DIR *folder)
{
	return (struct dirent64 *) readdir(folder);
}

/* These are the same where off_t has 64 bits anyway. */
int			open64(const char *path, int flags,...) __attribute__((alias("open")));
FILE	   *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));
ssize_t		pread64(int fd, void *buffer, size_t length, off64_t offset) __attribute__((alias("pread")));
ssize_t		preadv64(int fd, const struct iovec *parts, int nparts, off64_t offset) __attribute__((alias("preadv")));
