// echo SOCKET BYTES: answers every line with a line of so many bytes, its newline counted.
// What a round trip over a Unix socket costs at least: the yardstick of a load.

#include <stdlib.h>
#include <unistd.h>

#include "samples.h"
#include "unix_socket.h"

static void serve(int stream, const char *reply, size_t size) {
  static char buffer[1 << 16];
  ssize_t got;
  while ((got = read(stream, buffer, sizeof buffer)) > 0) {
    for (ssize_t i = 0; i < got; i++) {
      if (buffer[i] == '\n' && write(stream, reply, size) != (ssize_t)size) return;
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 3) errx(64, "usage: echo SOCKET BYTES");
  size_t size = count_from(argv[2]);
  char *reply = malloc(size);
  if (!reply) err(1, "malloc");
  memset(reply, 'x', size);
  reply[size - 1] = '\n';

  struct sockaddr_un address = address_of(argv[1]);
  int listener = stream_socket();
  if (bind(listener, (struct sockaddr *)&address, sizeof address)) err(1, "%s", argv[1]);
  if (listen(listener, 8)) err(1, "listen");
  for (;;) {
    int stream = accept(listener, NULL, NULL);
    if (stream < 0) err(1, "accept");
    serve(stream, reply, size);
    close(stream);
  }
}
