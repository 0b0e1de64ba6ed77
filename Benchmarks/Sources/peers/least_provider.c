// least_provider ITEMS: the least program that libsecret can look up and store passwords in, on sd-bus.
//
// It has one collection and plain sessions, and finds an item by its service and account alone, in a table in
// memory. It checks nothing and writes nothing. So it shows the time that the bus and libsecret need.

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define SERVICE "org.freedesktop.Secret.Service"
#define COLLECTION "org.freedesktop.Secret.Collection"
#define ROOT "/org/freedesktop/secrets"
#define LOGIN ROOT "/collection/login"
#define SESSION ROOT "/session/s1"

struct item { char service[128], account[64], secret[128]; };

static struct item *items;
static size_t count, capacity;
// The number of an item plus 1, by the hash of its names.
static uint32_t *table;
static size_t table_size;

static int check(int result, const char *what) {
  if (result < 0) errx(1, "%s: %s", what, strerror(-result));
  return result;
}

static uint32_t *place(const char *service, const char *account) {
  uint64_t hash = 14695981039346656037u;
  for (const char *byte = service; *byte; byte++) hash = (hash ^ (uint8_t)*byte) * 1099511628211u;
  size_t index = hash & (table_size - 1);
  for (;; index = (index + 1) & (table_size - 1)) {
    if (!table[index]) break;
    struct item *item = &items[table[index] - 1];
    if (!strcmp(item->service, service) && !strcmp(item->account, account)) break;
  }
  return &table[index];
}

static size_t add(const char *service, const char *account) {
  uint32_t *found = place(service, account);
  if (!*found) {
    if (count == capacity) errx(1, "too many items");
    snprintf(items[count].service, sizeof items->service, "%s", service);
    snprintf(items[count].account, sizeof items->account, "%s", account);
    *found = ++count;
  }
  return *found - 1;
}

static void read_names(sd_bus_message *message, const char **service, const char **account) {
  const char *name, *value;
  *service = *account = "";
  check(sd_bus_message_enter_container(message, 'a', "{ss}"), "attributes");
  while (check(sd_bus_message_read(message, "{ss}", &name, &value), "attribute") > 0) {
    if (!strcmp(name, "service")) *service = value;
    if (!strcmp(name, "account")) *account = value;
  }
  check(sd_bus_message_exit_container(message), "attributes");
}

static void append_path(sd_bus_message *reply, size_t number) {
  char path[64];
  snprintf(path, sizeof path, LOGIN "/%zu", number);
  check(sd_bus_message_append(reply, "o", path), "path");
}

static sd_bus_message *reply_to(sd_bus_message *message) {
  sd_bus_message *reply = NULL;
  check(sd_bus_message_new_method_return(message, &reply), "reply");
  return reply;
}

static int send(sd_bus_message *reply) {
  check(sd_bus_send(NULL, reply, NULL), "send");
  sd_bus_message_unref(reply);
  return 1;
}

static int open_session(sd_bus_message *message, void *data, sd_bus_error *error) {
  (void)data;
  const char *algorithm;
  check(sd_bus_message_read(message, "s", &algorithm), "algorithm");
  if (strcmp(algorithm, "plain"))
    return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED, "only plain sessions");
  return sd_bus_reply_method_return(message, "vo", "s", "", SESSION);
}

static int search_items(sd_bus_message *message, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  const char *service, *account;
  read_names(message, &service, &account);
  sd_bus_message *reply = reply_to(message);
  uint32_t number = *place(service, account);
  check(sd_bus_message_open_container(reply, 'a', "o"), "open");
  if (number) append_path(reply, number - 1);
  check(sd_bus_message_close_container(reply), "close");
  check(sd_bus_message_append(reply, "ao", 0), "locked");
  return send(reply);
}

static int get_secrets(sd_bus_message *message, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  const char *path;
  sd_bus_message *reply = reply_to(message);
  check(sd_bus_message_open_container(reply, 'a', "{o(oayays)}"), "open");
  check(sd_bus_message_enter_container(message, 'a', "o"), "paths");
  while (check(sd_bus_message_read(message, "o", &path), "path") > 0) {
    struct item *item = &items[strtoul(path + sizeof LOGIN, NULL, 10) % capacity];
    check(sd_bus_message_open_container(reply, 'e', "o(oayays)"), "entry");
    check(sd_bus_message_append(reply, "o", path), "path");
    check(sd_bus_message_open_container(reply, 'r', "oayays"), "struct");
    check(sd_bus_message_append(reply, "oay", SESSION, 0), "session");
    check(sd_bus_message_append_array(reply, 'y', item->secret, strlen(item->secret)), "secret");
    check(sd_bus_message_append(reply, "s", "text/plain"), "type");
    check(sd_bus_message_close_container(reply), "struct");
    check(sd_bus_message_close_container(reply), "entry");
  }
  check(sd_bus_message_close_container(reply), "close");
  return send(reply);
}

static int create_item(sd_bus_message *message, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  const char *name, *service = "", *account = "";
  check(sd_bus_message_enter_container(message, 'a', "{sv}"), "properties");
  while (check(sd_bus_message_enter_container(message, 'e', "sv"), "property") > 0) {
    check(sd_bus_message_read(message, "s", &name), "name");
    if (!strcmp(name, "org.freedesktop.Secret.Item.Attributes")) {
      check(sd_bus_message_enter_container(message, 'v', "a{ss}"), "variant");
      read_names(message, &service, &account);
      check(sd_bus_message_exit_container(message), "variant");
    } else {
      check(sd_bus_message_skip(message, "v"), "variant");
    }
    check(sd_bus_message_exit_container(message), "property");
  }
  check(sd_bus_message_exit_container(message), "properties");
  const void *value;
  size_t size;
  check(sd_bus_message_enter_container(message, 'r', "oayays"), "struct");
  check(sd_bus_message_skip(message, "oay"), "session");
  check(sd_bus_message_read_array(message, 'y', &value, &size), "secret");
  size_t number = add(service, account);
  if (size >= sizeof items->secret) errx(1, "a secret is too long");
  memcpy(items[number].secret, value, size);
  items[number].secret[size] = 0;
  sd_bus_message *reply = reply_to(message);
  append_path(reply, number);
  check(sd_bus_message_append(reply, "o", "/"), "prompt");
  return send(reply);
}

static int collections(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *data, sd_bus_error *error) {
  (void)bus, (void)path, (void)interface, (void)property, (void)data, (void)error;
  return sd_bus_message_append(reply, "ao", 1, LOGIN);
}

static int read_alias(sd_bus_message *message, void *data, sd_bus_error *error) {
  (void)data, (void)error;
  return sd_bus_reply_method_return(message, "o", LOGIN);
}

static const sd_bus_vtable service_table[] = {
  SD_BUS_VTABLE_START(0),
  SD_BUS_METHOD("OpenSession", "sv", "vo", open_session, SD_BUS_VTABLE_UNPRIVILEGED),
  SD_BUS_METHOD("SearchItems", "a{ss}", "aoao", search_items, SD_BUS_VTABLE_UNPRIVILEGED),
  SD_BUS_METHOD("GetSecrets", "aoo", "a{o(oayays)}", get_secrets, SD_BUS_VTABLE_UNPRIVILEGED),
  SD_BUS_METHOD("ReadAlias", "s", "o", read_alias, SD_BUS_VTABLE_UNPRIVILEGED),
  SD_BUS_PROPERTY("Collections", "ao", collections, 0, 0),
  SD_BUS_VTABLE_END,
};

static const sd_bus_vtable collection_table[] = {
  SD_BUS_VTABLE_START(0),
  SD_BUS_METHOD("CreateItem", "a{sv}(oayays)b", "oo", create_item, SD_BUS_VTABLE_UNPRIVILEGED),
  SD_BUS_VTABLE_END,
};

int main(int argc, char **argv) {
  if (argc != 2) errx(64, "usage: least_provider ITEMS");
  size_t filled = strtoul(argv[1], NULL, 10);
  capacity = filled + 1000;
  for (table_size = 4; table_size < 2 * capacity;) table_size *= 2;
  items = calloc(capacity, sizeof *items);
  table = calloc(table_size, sizeof *table);
  if (!items || !table) err(1, "calloc");
  for (size_t number = 0; number < filled; number++) {
    char service[64];
    snprintf(service, sizeof service, "service-%07zu.example.org", number);
    snprintf(items[add(service, "alice")].secret, sizeof items->secret,
             "correct horse battery staple %07zu", number);
  }
  sd_bus *bus = NULL;
  check(sd_bus_open_user(&bus), "the session bus");
  check(sd_bus_add_object_vtable(bus, NULL, ROOT, SERVICE, service_table, NULL), SERVICE);
  const char *paths[] = {LOGIN, ROOT "/aliases/default"};
  for (size_t index = 0; index < 2; index++)
    check(sd_bus_add_object_vtable(bus, NULL, paths[index], COLLECTION, collection_table, NULL), COLLECTION);
  check(sd_bus_request_name(bus, "org.freedesktop.secrets", 0), "the name");
  for (;;) {
    int more = sd_bus_process(bus, NULL);
    if (more < 0) return 0;
    if (!more) check(sd_bus_wait(bus, UINT64_MAX), "wait");
  }
}
