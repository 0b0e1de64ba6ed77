#include "CWiping.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// sd-bus overwrites a message when it is released. But while a message grows, realloc(3) copies it,
// and its old memory keeps the secrets of a reply. This function replaces the one of the C library
// in the whole program, and overwrites the old memory.
__attribute__((used, visibility("default"))) void *realloc(void *old, size_t size) {
  if (old == NULL) return malloc(size);
  size_t had = malloc_usable_size(old);
  if (size != 0 && size <= had) return old;
  void *new = NULL;
  if (size != 0) {
    new = malloc(size);
    if (new == NULL) return NULL;
    memcpy(new, old, had);
  }
  explicit_bzero(old, had);
  free(old);
  return new;
}
