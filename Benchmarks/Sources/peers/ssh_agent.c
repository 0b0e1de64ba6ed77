// ssh_agent SOCKET COUNT: repeatedly requests the keys of an ssh-agent over one connection
// (SSH_AGENTC_REQUEST_IDENTITIES of draft-miller-ssh-agent), as an example of a mature local agent.

#include <arpa/inet.h>
#include <unistd.h>

#include "../samples.h"
#include "../unix_socket.h"

enum { REQUEST_IDENTITIES = 11, IDENTITIES_ANSWER = 12 };

static void ask(int stream) {
  static const unsigned char request[] = {0, 0, 0, 1, REQUEST_IDENTITIES};
  static unsigned char reply[1 << 16];
  size_t got = 0, wanted = 4;
  if (write(stream, request, sizeof request) != sizeof request) err(1, "write");
  while (got < wanted) {
    ssize_t more = read(stream, reply + got, sizeof reply - got);
    if (more <= 0) err(1, "read");
    got += (size_t)more;
    uint32_t length;
    memcpy(&length, reply, sizeof length);
    if (got >= 4) wanted = 4 + (size_t)ntohl(length);
    if (wanted > sizeof reply) errx(1, "the reply is too long");
  }
  if (wanted < 9 || reply[4] != IDENTITIES_ANSWER || reply[8] != 1) errx(1, "not one key");
}

int main(int argc, char **argv) {
  if (argc != 3) errx(64, "usage: ssh_agent SOCKET COUNT");
  size_t count = count_from(argv[2]);
  uint64_t *samples = samples_of(count);
  int stream = connected_to(argv[1]);
  for (size_t round = 0; round < count; round++) {
    uint64_t start = nanoseconds();
    ask(stream);
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
