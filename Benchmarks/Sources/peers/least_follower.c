// least_follower CLUSTER_SOCKET POSITION SOCKET FILE: the least that a machine of a shared vault can do. For each change after
// POSITION, it verifies a signature and decrypts a record, writes three pages to FILE and waits until they are on the disk, and
// sends a line to its only client, which connects to SOCKET. Signature and record are its own, because it has no key of the vault.

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../unix_socket.h"

enum { RECORD = 300, PAGES = 3 * (4096 + 24) };

static unsigned char key[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
static unsigned char nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
static unsigned char sealed[RECORD + crypto_aead_xchacha20poly1305_ietf_ABYTES];
static unsigned char public_key[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];

static void seal_record(void) {
  unsigned char record[RECORD] = {0}, secret_key[crypto_sign_SECRETKEYBYTES];
  if (sodium_init() < 0) errx(1, "sodium_init");
  crypto_aead_xchacha20poly1305_ietf_encrypt(sealed, NULL, record, RECORD, NULL, 0, NULL, nonce, key);
  crypto_sign_keypair(public_key, secret_key);
  crypto_sign_detached(signature, NULL, sealed, sizeof sealed, secret_key);
}

static void open_record(void) {
  unsigned char record[RECORD];
  if (crypto_sign_verify_detached(signature, sealed, sizeof sealed, public_key) ||
      crypto_aead_xchacha20poly1305_ietf_decrypt(record, NULL, NULL, sealed, sizeof sealed, NULL, 0, nonce, key))
    errx(1, "the record is damaged");
}

static void store(int file) {
  static const char pages[PAGES];
  if (pwrite(file, pages, PAGES, 0) != PAGES || fdatasync(file)) err(1, "write");
}

// Returns the only client, which connects to a socket.
static int client_of(const char *path) {
  struct sockaddr_un address = address_of(path);
  int listener = stream_socket();
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1)) err(1, "%s", path);
  int client = accept(listener, NULL, NULL);
  if (client < 0) err(1, "accept");
  return client;
}

int main(int argc, char **argv) {
  if (argc != 5) errx(64, "usage: least_follower CLUSTER_SOCKET POSITION SOCKET FILE");
  seal_record();
  int file = open(argv[4], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) err(1, "%s", argv[4]);
  store(file);
  int adapter = connected_to(argv[1]);
  if (dprintf(adapter, "{\"op\":\"changes\",\"generation\":1,\"after\":\"%s\"}\n", argv[2]) < 0) err(1, "write");
  FILE *lines = fdopen(adapter, "r");
  char *line = NULL;
  size_t room = 0;
  if (!lines || getline(&line, &room, lines) <= 0 || strcmp(line, "{\"ok\":true}\n")) errx(1, "the adapter refused");
  int client = client_of(argv[3]);
  while (getline(&line, &room, lines) > 0) {
    open_record();
    store(file);
    if (write(client, "\n", 1) != 1) return 0;
  }
}
