#pragma once

#include <sqlite3.h>

/// Lets SQLite allocate memory without counting it under a lock (https://sqlite.org/malloc.html); of
/// no effect once SQLite is in use. sqlite3_config is variadic, which Swift cannot call.
void kist_sqlite_start(void);

/// Takes from a connection what a planted schema could use. sqlite3_db_config is variadic, too.
void kist_sqlite_harden(sqlite3 *connection);

/// Ends each statement of a connection that takes more than so many steps, by SQLITE_INTERRUPT; 0 lets
/// them take as many as they do.
void kist_sqlite_limit_steps(sqlite3 *connection, int steps);

/// Says whether a connection leaves the log as it is when it is closed.
void kist_sqlite_keep_log(sqlite3 *connection, int keeps);
