// libsecret lookup|search|store|fill COUNT ITEMS: loads or saves credentials in turn with libsecret: looks up a
// password by its attributes, searches for items with attributes and secrets, or replaces a password.
// `store` stores its own items, which are not those of kist. `fill` stores those that `lookup` looks up.

#include <libsecret/secret.h>
#include <string.h>

#include "../samples.h"

static const SecretSchema schema = {
  "io.kist.Credential", SECRET_SCHEMA_NONE,
  {{"service", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"account", SECRET_SCHEMA_ATTRIBUTE_STRING}},
  0, NULL, NULL, NULL, NULL, NULL, NULL, NULL};

static void check(gboolean found, GError *error) {
  if (error) errx(1, "%s", error->message);
  if (!found) errx(1, "a credential was not found");
}

static void lookup(const char *service) {
  GError *error = NULL;
  gchar *password = secret_password_lookup_sync(
    &schema, NULL, &error, "service", service, "account", "alice", NULL);
  check(password != NULL, error);
  secret_password_free(password);
}

static void search(SecretService *keyring, const char *service) {
  GError *error = NULL;
  GHashTable *attributes = secret_attributes_build(
    &schema, "service", service, "account", "alice", NULL);
  GList *items = secret_service_search_sync(
    keyring, &schema, attributes, SECRET_SEARCH_ALL | SECRET_SEARCH_LOAD_SECRETS, NULL, &error);
  check(items != NULL, error);
  g_list_free_full(items, g_object_unref);
  g_hash_table_unref(attributes);
}

static void store(const char *service) {
  GError *error = NULL;
  gboolean stored = secret_password_store_sync(
    &schema, SECRET_COLLECTION_DEFAULT, "Alice at work", "correct horse battery staple 0000000",
    NULL, &error, "service", service, "account", "alice", NULL);
  check(stored, error);
}

int main(int argc, char **argv) {
  if (argc != 4) errx(64, "usage: libsecret lookup|search|store|fill COUNT ITEMS");
  size_t count = count_from(argv[2]), items = count_from(argv[3]);
  uint64_t *samples = samples_of(count);
  GError *error = NULL;
  SecretService *keyring = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION, NULL, &error);
  check(keyring != NULL, error);

  for (size_t round = 0; round < count; round++) {
    char service[64];
    snprintf(service, sizeof service, "%s-%07zu.example.org",
             strcmp(argv[1], "store") ? "service" : "stored", round % items);
    uint64_t start = nanoseconds();
    if (!strcmp(argv[1], "store") || !strcmp(argv[1], "fill")) store(service);
    else if (!strcmp(argv[1], "search")) search(keyring, service);
    else lookup(service);
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
