#include <sys/eventfd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-id128.h>

/// Returns whether this machine has an identifier, and writes one that is derived from it for kist.
///
/// It is a keyed hash of the machine's identifier, which does not reveal that one: sd_id128_get_machine(3).
static inline int kist_machine_identifier(unsigned char *bytes) {
  sd_id128_t identifier;
  const sd_id128_t kist =
      SD_ID128_MAKE(5d, 3e, 0c, 8f, 91, 7a, 4b, 2e, 8c, 41, d6, 60, 27, f9, 1b, 73);
  if (sd_id128_get_machine_app_specific(kist, &identifier) < 0) return 0;
  for (int place = 0; place < 16; place++) bytes[place] = identifier.bytes[place];
  return 1;
}

/// Returns a descriptor that wakes a thread which waits for it, or -1: eventfd(2).
static inline int kist_make_alarm(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
