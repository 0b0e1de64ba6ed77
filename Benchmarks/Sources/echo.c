// echo SOCKET BYTES: answers every line with a line of BYTES bytes, including its newline. Each client
// has a thread, and each reply is one write. This is the minimum cost of a round trip over a Unix
// socket, for comparison with a load.

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "samples.h"
#include "unix_socket.h"

static char *reply;
static size_t size;

static void *serve(void *argument) {
  int stream = (int)(intptr_t)argument;
  static _Thread_local char buffer[1 << 16];
  ssize_t got;
  while ((got = read(stream, buffer, sizeof buffer)) > 0) {
    for (char *at = buffer; (at = memchr(at, '\n', (size_t)(buffer + got - at))); at++)
      if (write(stream, reply, size) != (ssize_t)size) goto gone;
  }
gone:
  close(stream);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 3) errx(64, "usage: echo SOCKET BYTES");
  size = count_from(argv[2]);
  reply = malloc(size);
  if (!reply) err(1, "malloc");
  memset(reply, 'x', size);
  reply[size - 1] = '\n';

  struct sockaddr_un address = address_of(argv[1]);
  int listener = stream_socket();
  if (bind(listener, (struct sockaddr *)&address, sizeof address)) err(1, "%s", argv[1]);
  if (listen(listener, 128)) err(1, "listen");
  for (;;) {
    int stream = accept(listener, NULL, NULL);
    pthread_t thread;
    if (stream < 0) err(1, "accept");
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)stream)) errx(1, "pthread_create");
    pthread_detach(thread);
  }
}
