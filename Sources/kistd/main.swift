import KistDaemon

await startKistd()
