// Unix sockets, and their addresses.
#ifndef UNIX_SOCKET_H
#define UNIX_SOCKET_H

#include <err.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static inline struct sockaddr_un address_of(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) errx(64, "the socket's path is too long");
  strcpy(address.sun_path, path);
  return address;
}

static inline int stream_socket(void) {
  int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (stream < 0) err(1, "socket");
  return stream;
}

static inline int connected_to(const char *path) {
  struct sockaddr_un address = address_of(path);
  int stream = stream_socket();
  if (connect(stream, (struct sockaddr *)&address, sizeof address)) err(1, "%s", path);
  return stream;
}

#endif
