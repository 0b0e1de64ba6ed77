#pragma once

#include <stdint.h>

enum { CALLS = 512 };

/// Which call is to be hit, and how; a file that both sides map (tracer.py).
struct control {
  /// Whether calls are numbered; from when kistd hardens itself on, where this is 2 at the start.
  uint32_t armed;
  /// Calls that were numbered since it was armed.
  uint32_t count;
  /// From which number to which one a call is hit, from 1.
  uint32_t first, last;
  /// How: enum action.
  uint32_t action;
  /// What a call fails with.
  int32_t error;
  /// How many were hit, and how many are at the most.
  uint32_t hits, most;
  /// The traced process.
  int32_t pid;
  /// By the number of a system call: of which kinds a call is numbered (enum kind, as bits).
  uint8_t numbered[CALLS];
  /// Whether it may be hit.
  uint8_t hittable[CALLS];
  /// Whether the first argument is a descriptor.
  uint8_t takes_descriptor[CALLS];
  /// What of the memory is written down when it begins: enum payload.
  uint8_t payload[CALLS];
};

/// FAIL_AFTER: the call is carried out, and said to have failed, as a file system over a network may do.
enum action { NONE, KILL_BEFORE, KILL_AFTER, FAIL, SHORTEN, FAIL_AFTER };

/// What the descriptor is of that a call takes; the standard ones are others, and so is what lies in /proc
/// and /sys, and devices. CREATING is a call without one
/// that is to make a file which is not there.
enum kind { NO_DESCRIPTOR = 1, FILE_OR_DIRECTORY = 2, SOCKET = 4, OTHER = 8, CREATING = 16 };

enum payload { NOTHING, BUFFER, VECTOR, MESSAGE, PATH_1, PATH_2, PATHS_1_2, PATHS_2_4 };

/// One line of the log: a call begins or ends. So many bytes of payload follow.
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
