#pragma once

#include <sqlite3.h>

/// Takes from a connection what a planted schema could use. sqlite3_db_config is variadic, which
/// Swift cannot call.
void kist_sqlite_harden(sqlite3 *connection);
