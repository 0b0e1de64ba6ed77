// roundtrip SOCKET COUNT < LINES: sends the lines in turn over one connection, each after the reply to
// the previous one, and measures every round trip. Used for kistd and for the echo server.

#include <unistd.h>

#include "lines.h"
#include "samples.h"
#include "unix_socket.h"

static void exchange(int stream, struct line line) {
  static char reply[1 << 21];
  size_t got = 0;
  if (write(stream, line.bytes, line.length) != (ssize_t)line.length) err(1, "write");
  do {
    ssize_t more = read(stream, reply + got, sizeof reply - got);
    if (more <= 0) err(1, "read");
    got += (size_t)more;
  } while (reply[got - 1] != '\n');
  refuse_refusal(reply, got);
}

int main(int argc, char **argv) {
  if (argc != 3) errx(64, "usage: roundtrip SOCKET COUNT < LINES");
  size_t count = count_from(argv[2]);
  struct lines lines = read_lines();
  uint64_t *samples = samples_of(count);
  int stream = connected_to(argv[1]);

  for (size_t round = 0; round < count; round++) {
    uint64_t start = nanoseconds();
    exchange(stream, lines.all[round % lines.count]);
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
