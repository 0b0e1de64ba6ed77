// libsecret marks its functions for sessions and object paths as subject to change. It has had them
// since 2012.
#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>

// libsecret always takes the bus that the environment names, on a connection that it shares with
// other callers. That connection ends the process when the bus ends. This subclass of its proxy
// takes a given connection, and starts no provider.

static GObject *kist_secret_service_construct(
    GType type, guint count, GObjectConstructParam *properties) {
  GObjectClass *parent = (GObjectClass *)g_type_class_peek(SECRET_TYPE_SERVICE);
  GObject *service = parent->constructor(type, count, properties);
  g_object_set(
      service, "g-bus-type", G_BUS_TYPE_NONE,
      "g-flags", G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START | G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES |
                     G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS,
      NULL);
  return service;
}

static void kist_secret_service_class_init(gpointer class, gpointer data) {
  (void)data;
  ((GObjectClass *)class)->constructor = kist_secret_service_construct;
}

// For an encrypted session, libsecret 0.20.5 takes any value in the answer for the bytes of a key.
// If the value is not an array, it reads a length that was never set. If the value has no bytes, it
// makes a key that is publicly known. So this filter replaces such answers with an empty one.

/// `call` is the serial number of the call that opens the session; GLib's thread uses it.
static GDBusMessage *kist_check_session_key(
    GDBusConnection *bus, GDBusMessage *message, gboolean incoming, gpointer call) {
  (void)bus;
  guint32 *serial = (guint32 *)call;
  GVariant *body = g_dbus_message_get_body(message);
  if (!incoming) {
    if (g_strcmp0(g_dbus_message_get_member(message), "OpenSession") == 0) {
      const gchar *algorithm;
      g_variant_get_child(body, 0, "&s", &algorithm);
      *serial = g_str_equal(algorithm, "plain") ? 0 : g_dbus_message_get_serial(message);
    }
  } else if (
      *serial != 0 && g_dbus_message_get_reply_serial(message) == *serial && body != NULL &&
      g_variant_is_of_type(body, G_VARIANT_TYPE("(vo)"))) {
    GVariant *key;
    g_variant_get_child(body, 0, "v", &key);
    if (!g_variant_is_of_type(key, G_VARIANT_TYPE("ay")) || g_variant_n_children(key) == 0) {
      GDBusMessage *answer = message;
      // If the copy fails, the answer is dropped, and the request ends at its deadline.
      message = g_dbus_message_copy(answer, NULL);
      if (message != NULL) g_dbus_message_set_body(message, NULL);
      g_object_unref(answer);
    }
    g_variant_unref(key);
  }
  return message;
}

/// Returns a proxy of the Secret Service over this connection; initialising it opens a session.
static inline SecretService *kist_secret_service_new(GDBusConnection *bus) {
  static gsize type;
  if (g_once_init_enter(&type))
    g_once_init_leave(
        &type, g_type_register_static_simple(
                   SECRET_TYPE_SERVICE, "KistSecretService", sizeof(SecretServiceClass),
                   kist_secret_service_class_init, sizeof(SecretService), NULL, 0));
  g_dbus_connection_add_filter(bus, kist_check_session_key, g_new0(guint32, 1), g_free);
  return (SecretService *)g_object_new(
      type, "g-connection", bus, "flags", SECRET_SERVICE_OPEN_SESSION, NULL);
}

// GLib answers calls from other programs on its own thread. It ends the process if the connection
// is released at that moment. kist offers no methods, so this filter drops the calls.
static GDBusMessage *kist_drop_call(
    GDBusConnection *bus, GDBusMessage *message, gboolean incoming, gpointer data) {
  (void)bus;
  (void)data;
  if (!incoming || g_dbus_message_get_message_type(message) != G_DBUS_MESSAGE_TYPE_METHOD_CALL)
    return message;
  g_object_unref(message);
  return NULL;
}

/// Returns the connection that `g_dbus_connection_new_for_address` requested.
///
/// `loop` is released with the last reference to the connection, even if no caller waits for it any
/// more.
static inline GDBusConnection *kist_bus_connection_finish(
    GAsyncResult *result, gpointer loop, void (*release)(gpointer loop), GError **error) {
  GObject *made = g_async_result_get_source_object(result);
  g_object_set_data_full(made, "kist-loop", loop, release);
  // The connection is already initialised, so this only returns whether that succeeded.
  if (g_initable_init(G_INITABLE(made), NULL, NULL))
    g_dbus_connection_add_filter(G_DBUS_CONNECTION(made), kist_drop_call, NULL, NULL);
  GDBusConnection *connection = g_dbus_connection_new_for_address_finish(result, error);
  g_object_unref(made);
  return connection;
}

/// Calls a function with `data` when a connection is closed.
static inline gulong kist_connect_to_closing(
    GDBusConnection *bus, void (*body)(gpointer data), gpointer data,
    void (*release)(gpointer data, GClosure *closure)) {
  return g_signal_connect_data(
      bus, "closed", G_CALLBACK(body), data, release, G_CONNECT_SWAPPED);
}
