// Times of single runs, and what is printed of them.
#ifndef SAMPLES_H
#define SAMPLES_H

#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline size_t count_from(const char *text) {
  long count = strtol(text, NULL, 10);
  if (count < 1) errx(64, "a count is at least 1");
  return (size_t)count;
}

static inline uint64_t *samples_of(size_t count) {
  uint64_t *samples = calloc(count, sizeof *samples);
  if (!samples) err(1, "calloc");
  return samples;
}

static inline int by_size(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

// Prints the median, the 99th percentile and how many there are a second, times in nanoseconds.
static inline void print_samples(uint64_t *samples, size_t count, double per_second) {
  qsort(samples, count, sizeof *samples, by_size);
  printf("%" PRIu64 " %" PRIu64 " %f\n", samples[count / 2], samples[count * 99 / 100], per_second);
}

// The same of what was done one after another.
static inline void print_turns(uint64_t *samples, size_t count) {
  uint64_t sum = 0;
  for (size_t round = 0; round < count; round++) sum += samples[round];
  print_samples(samples, count, (double)count * 1e9 / (double)sum);
}

#endif
