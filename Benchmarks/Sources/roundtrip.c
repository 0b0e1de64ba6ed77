// roundtrip SOCKET COUNT < LINES: sends the lines in turn over one connection, each after the reply
// to the one before, and measures every pair. The same program asks kistd and the echo server.

#include <stdlib.h>
#include <unistd.h>

#include "samples.h"
#include "unix_socket.h"

enum { MOST_LINES = 4096 };

static char *lines[MOST_LINES];
static size_t lengths[MOST_LINES];

static size_t read_lines(void) {
  size_t count = 0, capacity = 0;
  ssize_t length;
  while (count < MOST_LINES && (length = getline(&lines[count], &capacity, stdin)) > 0) {
    lengths[count++] = (size_t)length;
    capacity = 0;
  }
  if (!count) errx(64, "no lines on standard input");
  return count;
}

static void exchange(int stream, const char *line, size_t length) {
  static char reply[1 << 21];
  static const char refusal[] = "{\"ok\":false";
  size_t got = 0;
  if (write(stream, line, length) != (ssize_t)length) err(1, "write");
  do {
    ssize_t more = read(stream, reply + got, sizeof reply - got);
    if (more <= 0) err(1, "read");
    got += (size_t)more;
  } while (reply[got - 1] != '\n');
  if (!strncmp(reply, refusal, sizeof refusal - 1)) errx(1, "refused: %.*s", (int)got - 1, reply);
}

int main(int argc, char **argv) {
  if (argc != 3) errx(64, "usage: roundtrip SOCKET COUNT < LINES");
  size_t count = count_from(argv[2]), line_count = read_lines();
  uint64_t *samples = samples_of(count);
  struct sockaddr_un address = address_of(argv[1]);
  int stream = stream_socket();
  if (connect(stream, (struct sockaddr *)&address, sizeof address)) err(1, "%s", argv[1]);

  for (size_t round = 0; round < count; round++) {
    size_t line = round % line_count;
    uint64_t start = nanoseconds();
    exchange(stream, lines[line], lengths[line]);
    samples[round] = nanoseconds() - start;
  }
  print_samples(samples, count);
}
