// The lines on standard input, and the replies to them.
#ifndef LINES_H
#define LINES_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct line {
  char *bytes;
  size_t length;
};

struct lines {
  struct line *all;
  size_t count;
};

static inline struct lines read_lines(void) {
  struct lines lines = {0};
  size_t room = 0;
  for (;;) {
    char *bytes = NULL;
    size_t capacity = 0;
    ssize_t length = getline(&bytes, &capacity, stdin);
    if (length <= 0) break;
    if (lines.count == room) {
      room = room ? 2 * room : 1024;
      lines.all = realloc(lines.all, room * sizeof *lines.all);
      if (!lines.all) err(1, "realloc");
    }
    lines.all[lines.count++] = (struct line){bytes, (size_t)length};
  }
  if (!lines.count) errx(64, "no lines on standard input");
  return lines;
}

static inline void refuse_refusal(const char *reply, size_t length) {
  static const char refusal[] = "{\"ok\":false";
  if (length >= sizeof refusal - 1 && !memcmp(reply, refusal, sizeof refusal - 1))
    errx(1, "refused: %.*s", (int)(length < 400 ? length : 400), reply);
}

#endif
