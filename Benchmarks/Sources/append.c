// append FILE BYTES COUNT: repeatedly appends and flushes a number of bytes.
// This is the minimum cost of a durable change on this file system, for comparison with a save.

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "samples.h"

int main(int argc, char **argv) {
  if (argc != 4) errx(64, "usage: append FILE BYTES COUNT");
  size_t size = count_from(argv[2]), count = count_from(argv[3]);
  uint64_t *samples = samples_of(count);
  char *bytes = malloc(size);
  if (!bytes) err(1, "malloc");
  memset(bytes, 'x', size);

  int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) err(1, "%s", argv[1]);
  for (size_t round = 0; round < count; round++) {
    uint64_t start = nanoseconds();
    if (write(file, bytes, size) != (ssize_t)size) err(1, "write");
    if (fdatasync(file)) err(1, "fdatasync");
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
