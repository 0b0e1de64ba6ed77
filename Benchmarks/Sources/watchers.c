// watchers SOCKET WATCHERS COUNT < LINES: sends COUNT changing requests over one connection, while
// others watch. Sends the next request after the reply to the previous one and after all watchers have
// received its change. Measures the time from a request until the last watcher has received its change.

#include <sys/epoll.h>
#include <unistd.h>

#include "lines.h"
#include "samples.h"
#include "unix_socket.h"

static void send_line(int stream, const char *bytes, size_t length) {
  if (write(stream, bytes, length) != (ssize_t)length) err(1, "write");
}

// Returns the number of lines that end in the next bytes of a connection.
static size_t lines_from(int stream) {
  char buffer[1 << 12];
  ssize_t got = read(stream, buffer, sizeof buffer);
  if (got <= 0) err(1, "read");
  refuse_refusal(buffer, (size_t)got);
  size_t ended = 0;
  for (ssize_t at = 0; at < got; at++) ended += buffer[at] == '\n';
  return ended;
}

static int added_to(int poll, int stream) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = stream};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, stream, &event)) err(1, "epoll_ctl");
  return stream;
}

static void read_all(int poll, size_t owed) {
  while (owed) {
    struct epoll_event events[64];
    int ready = epoll_wait(poll, events, 64, -1);
    if (ready < 0) err(1, "epoll_wait");
    for (int number = 0; number < ready; number++) {
      size_t ended = lines_from(events[number].data.fd);
      if (ended > owed) errx(1, "more lines than changes");
      owed -= ended;
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 4) errx(64, "usage: watchers SOCKET WATCHERS COUNT < LINES");
  static const char watch[] = "{\"op\":\"watch\"}\n";
  size_t watchers = count_from(argv[2]), count = count_from(argv[3]);
  struct lines lines = read_lines();
  uint64_t *samples = samples_of(count);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (poll < 0) err(1, "epoll_create1");
  for (size_t number = 0; number < watchers; number++)
    send_line(added_to(poll, connected_to(argv[1])), watch, sizeof watch - 1);
  read_all(poll, watchers);

  int changing = added_to(poll, connected_to(argv[1]));
  for (size_t round = 0; round < count; round++) {
    struct line line = lines.all[round % lines.count];
    uint64_t start = nanoseconds();
    send_line(changing, line.bytes, line.length);
    read_all(poll, watchers + 1);
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
