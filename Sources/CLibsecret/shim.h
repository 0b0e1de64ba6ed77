// The parts of libsecret that speak of sessions and object paths are marked as subject to change;
// they have been stable since 0.16, and libsecret's soname promises as much.
#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>
#include <gio/gio.h>
