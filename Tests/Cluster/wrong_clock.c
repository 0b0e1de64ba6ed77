// A library to preload, with which a program's clock is CLOCK_OFFSET seconds fast. With CLOCK_FILE, the clock shows the seconds
// since 1970 in the first eight bytes of that file, and stands still in between. Timers stay right.

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t offset(void) {
  const char *text = getenv("CLOCK_OFFSET");
  return text ? atol(text) : 0;
}

static volatile const int64_t *shown;

// Maps the file before kistd restricts its own access to files.
__attribute__((constructor)) static void map_file(void) {
  const char *path = getenv("CLOCK_FILE");
  if (!path) return;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  void *bytes = mmap(NULL, sizeof *shown, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) abort();
  close(file);
  shown = bytes;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int status = (int)syscall(SYS_clock_gettime, clock, now);
  if (status != 0 || clock != CLOCK_REALTIME) return status;
  if (shown) {
    *now = (struct timespec){.tv_sec = *shown};
  } else {
    now->tv_sec += offset();
  }
  return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
