// sqlite load|save FILE COUNT ITEMS: SQLite with kist's durability, but without its encryption. Selects
// rows by key, or replaces one row per commit, each flushed before it returns.

#include <sqlite3.h>
#include <string.h>

#include "../samples.h"

static sqlite3 *database;

static void run(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL)) errx(1, "%s", sqlite3_errmsg(database));
}

static sqlite3_stmt *prepared(const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL))
    errx(1, "%s", sqlite3_errmsg(database));
  return statement;
}

static void step(sqlite3_stmt *statement, size_t number, int expected) {
  char service[64];
  int length = snprintf(service, sizeof service, "service-%07zu.example.org", number);
  sqlite3_bind_text(statement, 1, service, length, SQLITE_STATIC);
  if (sqlite3_step(statement) != expected) errx(1, "%s", sqlite3_errmsg(database));
  if (expected == SQLITE_ROW && sqlite3_column_bytes(statement, 0) != 36)
    errx(1, "a secret was not found");
  sqlite3_reset(statement);
}

int main(int argc, char **argv) {
  if (argc != 5) errx(64, "usage: sqlite load|save FILE COUNT ITEMS");
  size_t count = count_from(argv[3]), items = count_from(argv[4]);
  uint64_t *samples = samples_of(count);
  if (sqlite3_open(argv[2], &database)) errx(1, "%s", argv[2]);
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
      "CREATE TABLE IF NOT EXISTS credentials("
      "service TEXT, account TEXT, secret BLOB, PRIMARY KEY(service, account)) WITHOUT ROWID");
  sqlite3_stmt *save = prepared(
    "REPLACE INTO credentials VALUES(?, 'alice', 'correct horse battery staple 0000000')");
  sqlite3_stmt *load = prepared(
    "SELECT secret FROM credentials WHERE service = ? AND account = 'alice'");
  run("BEGIN");
  for (size_t number = 0; number < items; number++) step(save, number, SQLITE_DONE);
  run("COMMIT");

  int saves = !strcmp(argv[1], "save");
  for (size_t round = 0; round < count; round++) {
    uint64_t start = nanoseconds();
    if (saves) step(save, round % items, SQLITE_DONE);
    else step(load, round % items, SQLITE_ROW);
    samples[round] = nanoseconds() - start;
  }
  print_turns(samples, count);
}
