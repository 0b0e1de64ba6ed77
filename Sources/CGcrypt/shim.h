#include <gcrypt.h>

// Swift cannot call functions with a variable number of arguments.

/// Starts libgcrypt, with memory for secret numbers that stays in RAM where the system allows it.
///
/// Returns 0 if the library is older than the header.
static inline int kist_gcrypt_start(void) {
  // libgcrypt's own generator collects entropy whenever a cipher is opened, which takes longer than
  // the cipher. The kernel's generator does not need that.
  gcry_control(GCRYCTL_SET_PREFERRED_RNG_TYPE, GCRY_RNG_TYPE_SYSTEM);
  if (!gcry_check_version(GCRYPT_VERSION)) return 0;
  gcry_control(GCRYCTL_SUSPEND_SECMEM_WARN, 0);
  gcry_control(GCRYCTL_INIT_SECMEM, 32768, 0);
  gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  return 1;
}
