/// What each room may import, beside the standard library: the table of docs/architecture.md.
let rooms: [String: Set<String>] = [
  "KistCore": ["Glibc"],
  "KistJSON": ["KistCore"],
  "KistWire": ["KistCore", "KistJSON"],
  "KistClient": ["Glibc", "KistCore", "KistWire"],
  "KistServer": ["Glibc", "KistCore", "KistWire", "Logging", "NIOCore", "NIOPosix"],
  "KistSodium": ["CSodium", "KistCore"],
  "KistFile": ["CSQLite", "Dispatch", "Glibc", "KistCore", "KistSodium"],
  "KistLibsecret": ["CLibsecret", "Glibc", "KistCore", "KistJSON"],
  "KistDaemon": [
    "ArgumentParser", "CLinux", "Glibc", "KistCore", "KistFile", "KistLibsecret", "KistServer",
    "KistWire", "Logging",
  ],
  "KistCommands": ["ArgumentParser", "Glibc", "KistClient", "KistCore", "KistWire"],
  "KistTesting": ["Glibc", "KistCore", "Testing"],
  "KistKeyrings": ["Foundation", "Glibc", "KistCore"],
  "CLinux": [],
  "CSQLite": [],
  "CSodium": [],
  "CLibsecret": [],
  "kistd": ["KistDaemon"],
  "kist": ["KistCommands"],
]

/// Part of the toolchain and free of I/O: any room may import them.
let standardLibrary: Set<String> = ["Synchronization"]

/// The files of KistCore that may touch the C library, and what for: wiping, and the clock.
let coreFilesWithGlibc: Set<String> = ["WipedBytes.swift", "Now.swift"]
