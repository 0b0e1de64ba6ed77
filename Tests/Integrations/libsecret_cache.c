/* Watches the default collection through the caches of libsecret, and prints its items after each change.
 *
 * A line is "locked" or "unlocked", and the labels of the items in order. An end of standard input ends the program. */

#include <libsecret/secret.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static SecretCollection *collection;
static char last[4096];

static int compare(const void *one, const void *other) {
  return strcmp(*(char *const *)one, *(char *const *)other);
}

static gboolean print_items(gpointer unused) {
  (void)unused;
  GList *items = secret_collection_get_items(collection);
  char *labels[64];
  int count = 0;
  for (GList *at = items; at && count < 64; at = at->next) {
    SecretItem *item = at->data;
    /* Items that were printed before have their signals connected already. */
    g_signal_handlers_disconnect_by_func(item, G_CALLBACK(print_items), NULL);
    g_signal_connect_swapped(item, "notify::label", G_CALLBACK(print_items), NULL);
    labels[count++] = secret_item_get_label(item);
  }
  qsort(labels, count, sizeof *labels, compare);
  char line[4096];
  int length = snprintf(line, sizeof line, "%s", secret_collection_get_locked(collection) ? "locked" : "unlocked");
  for (int i = 0; i < count; i++) {
    length += snprintf(line + length, sizeof line - length, " %s", labels[i]);
    g_free(labels[i]);
  }
  g_list_free_full(items, g_object_unref);
  if (strcmp(line, last) != 0) {
    puts(line);
    fflush(stdout);
    strcpy(last, line);
  }
  return G_SOURCE_REMOVE;
}

static gboolean end(GIOChannel *channel, GIOCondition condition, gpointer loop) {
  (void)channel;
  (void)condition;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

int main(void) {
  GError *error = NULL;
  SecretService *service =
      secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION | SECRET_SERVICE_LOAD_COLLECTIONS, NULL, &error);
  if (service)
    collection = secret_collection_for_alias_sync(
        service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_LOAD_ITEMS, NULL, &error);
  if (!collection) {
    fprintf(stderr, "%s\n", error ? error->message : "there is no default collection");
    return 1;
  }
  g_signal_connect_swapped(collection, "notify::items", G_CALLBACK(print_items), NULL);
  g_signal_connect_swapped(collection, "notify::locked", G_CALLBACK(print_items), NULL);
  print_items(NULL);
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);
  g_io_add_watch(g_io_channel_unix_new(STDIN_FILENO), G_IO_HUP | G_IO_IN, end, loop);
  g_main_loop_run(loop);
  return 0;
}
