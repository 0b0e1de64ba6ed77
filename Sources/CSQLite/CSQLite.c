#include "CSQLite.h"

void kist_sqlite_start(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

static int end_it(void *context) {
  (void)context;
  return 1;
}

void kist_sqlite_limit_steps(sqlite3 *connection, int steps) {
  sqlite3_progress_handler(connection, steps, steps > 0 ? end_it : 0, 0);
}

void kist_sqlite_keep_log(sqlite3 *connection, int keeps) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}

static int note_commit(void *log, sqlite3 *connection, const char *name, int count) {
  ((int *)log)[0] = count;
  // SQLite's own hook, which this one replaces, does the same. A failed merge is tried again.
  if (count >= 1000) {
    ((int *)log)[1] = 1;
    sqlite3_wal_checkpoint(connection, name);
  }
  return SQLITE_OK;
}

void kist_sqlite_note_commits(sqlite3 *connection, int *log) {
  sqlite3_wal_hook(connection, note_commit, log);
}

void kist_sqlite_harden(sqlite3 *connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
}
