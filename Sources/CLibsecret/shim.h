// The parts of libsecret that speak of sessions and object paths are marked as subject to change,
// although they have been in its library since 2012.
#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>

// libsecret always takes the bus that the environment names, on a connection that it shares with
// whoever else asks, and that ends the process when the bus ends. This class of its proxy takes a
// connection that it is given, and starts no provider.

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

/// A proxy of the Secret Service over this connection; initialising it opens a session.
static inline SecretService *kist_secret_service_new(GDBusConnection *bus) {
  static gsize type;
  if (g_once_init_enter(&type))
    g_once_init_leave(
        &type, g_type_register_static_simple(
                   SECRET_TYPE_SERVICE, "KistSecretService", sizeof(SecretServiceClass),
                   kist_secret_service_class_init, sizeof(SecretService), NULL, 0));
  return (SecretService *)g_object_new(
      type, "g-connection", bus, "flags", SECRET_SERVICE_OPEN_SESSION, NULL);
}
