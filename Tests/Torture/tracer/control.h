#pragma once

#include <stdint.h>

enum { CALLS = 512 };

/// The fault to inject, in a file that the tracer and tracer.py map.
struct control {
  /// Whether calls are numbered. If it is 2 at the start, they are from the hardening of kistd on.
  uint32_t armed;
  /// The number of calls since it was armed.
  uint32_t count;
  /// The first and the last number of a call to hit, counted from 1.
  uint32_t first, last;
  /// The kind of fault: enum action.
  uint32_t action;
  /// The error of a failing call.
  int32_t error;
  /// The number of calls that were hit, and its limit.
  uint32_t hits, most;
  /// The traced process.
  int32_t pid;
  /// For each system call: the kinds of calls to number (enum kind, as bits).
  uint8_t numbered[CALLS];
  /// Whether it may be hit.
  uint8_t hittable[CALLS];
  /// Whether the first argument is a descriptor.
  uint8_t takes_descriptor[CALLS];
  /// The memory to record at the start of the call: enum payload.
  uint8_t payload[CALLS];
};

/// FAIL_AFTER: the call is performed but reported as failed, as a network file system may do.
enum action { NONE, KILL_BEFORE, KILL_AFTER, FAIL, SHORTEN, FAIL_AFTER };

/// The kind of a call's descriptor. Standard streams, files in /proc and /sys, and devices are OTHER.
/// CREATING is a call on a path that creates a file.
enum kind { NO_DESCRIPTOR = 1, FILE_OR_DIRECTORY = 2, SOCKET = 4, OTHER = 8, CREATING = 16 };

enum payload { NOTHING, BUFFER, VECTOR, MESSAGE, PATH_1, PATH_2, PATHS_1_2, PATHS_2_4 };

/// One record of the log: the start or the end of a call. `size` bytes of payload follow.
struct record {
  uint32_t number;
  int32_t thread;
  int32_t call;
  uint8_t ends, hit, kind, unused;
  int64_t arguments[6];
  int64_t result;
  uint64_t inode;
  uint64_t size;
};
