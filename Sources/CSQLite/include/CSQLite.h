#pragma once

#include <sqlite3.h>

/// Lets SQLite allocate memory without counting it under a lock (https://sqlite.org/malloc.html).
///
/// It has no effect once SQLite is in use. Swift cannot call sqlite3_config, which is variadic.
void kist_sqlite_start(void);

/// Disables features of a connection that a forged schema could use.
///
/// Swift cannot call sqlite3_db_config, which is variadic.
void kist_sqlite_harden(sqlite3 *connection);

/// Interrupts each statement of a connection after this many steps, with SQLITE_INTERRUPT.
///
/// 0 removes the limit.
void kist_sqlite_limit_steps(sqlite3 *connection, int steps);

/// Stores the number of frames in the log at each commit of a connection in the first of two numbers.
///
/// Merges the log from 1000 frames on, as SQLite does by default, and then stores 1 in the second one.
/// The numbers must remain valid while the connection is open.
void kist_sqlite_note_commits(sqlite3 *connection, int *log);

/// Sets whether closing a connection leaves the log as it is.
void kist_sqlite_keep_log(sqlite3 *connection, int keeps);
