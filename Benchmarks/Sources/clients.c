// clients SOCKET CLIENTS DEPTH COUNT < LINES: keeps connections busy until COUNT requests are answered.
// Each connection sends DEPTH lines in one write, waits for all replies, and continues. Measures the
// time from a write to the last of its replies, and the replies per second.

#include <sys/epoll.h>
#include <unistd.h>

#include "lines.h"
#include "samples.h"
#include "unix_socket.h"

struct client {
  int stream;
  size_t owed;      // outstanding replies
  uint64_t start;
  char *batch;      // the lines to send
  char reply[512];  // the beginning of the current reply
  size_t reply_length;
};

static struct lines lines;
static size_t depth, next_line;

// Sends the next lines. A whole batch must fit into the buffer of the socket, or the program would hang.
static void send_batch(struct client *client) {
  size_t length = 0;
  for (size_t number = 0; number < depth; number++) {
    struct line line = lines.all[next_line++ % lines.count];
    memcpy(client->batch + length, line.bytes, line.length);
    length += line.length;
  }
  client->owed = depth;
  client->start = nanoseconds();
  if (write(client->stream, client->batch, length) != (ssize_t)length) err(1, "write");
}

static void read_replies(struct client *client) {
  static char buffer[1 << 18];
  ssize_t got = read(client->stream, buffer, sizeof buffer);
  if (got <= 0) err(1, "read");
  const char *at = buffer, *end = buffer + got;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((newline ? newline : end) - at);
    size_t room = sizeof client->reply - client->reply_length;
    memcpy(client->reply + client->reply_length, at, length < room ? length : room);
    client->reply_length += length < room ? length : room;
    if (!newline) return;
    refuse_refusal(client->reply, client->reply_length);
    client->reply_length = 0;
    client->owed--;
    at = newline + 1;
  }
}

static struct client *connect_all(const char *path, size_t count, int poll) {
  struct client *clients = calloc(count, sizeof *clients);
  if (!clients) err(1, "calloc");
  size_t longest = 0;
  for (size_t number = 0; number < lines.count; number++)
    if (lines.all[number].length > longest) longest = lines.all[number].length;
  for (size_t number = 0; number < count; number++) {
    struct client *client = &clients[number];
    client->stream = connected_to(path);
    client->batch = malloc(depth * longest);
    if (!client->batch) err(1, "malloc");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, client->stream, &event)) err(1, "epoll_ctl");
  }
  return clients;
}

int main(int argc, char **argv) {
  if (argc != 5) errx(64, "usage: clients SOCKET CLIENTS DEPTH COUNT < LINES");
  size_t client_count = count_from(argv[2]);
  depth = count_from(argv[3]);
  size_t batches = (count_from(argv[4]) + depth - 1) / depth, begun = 0, done = 0;
  lines = read_lines();
  uint64_t *samples = samples_of(batches);
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (poll < 0) err(1, "epoll_create1");
  struct client *clients = connect_all(argv[1], client_count, poll);

  uint64_t start = nanoseconds();
  for (; begun < client_count && begun < batches; begun++) send_batch(&clients[begun]);
  while (done < batches) {
    struct epoll_event events[64];
    int ready = epoll_wait(poll, events, 64, -1);
    if (ready < 0) err(1, "epoll_wait");
    for (int number = 0; number < ready; number++) {
      struct client *client = events[number].data.ptr;
      read_replies(client);
      if (client->owed) continue;
      samples[done++] = nanoseconds() - client->start;
      if (begun < batches) send_batch(client), begun++;
    }
  }
  double seconds = (double)(nanoseconds() - start) / 1e9;
  print_samples(samples, batches, (double)(batches * depth) / seconds);
}
