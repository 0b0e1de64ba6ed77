// swift-tools-version: 6.2

// The modules that parse foreign input, instrumented for libFuzzer, and the fuzz targets.

import PackageDescription

let measuresCoverage = Context.environment["KIST_FUZZ_COVERAGE"] != nil

let package = Package(
  name: "fuzz",
  targets: [
    .target(name: "KistCore"),
    .target(name: "KistJSON", dependencies: ["KistCore"]),
    .target(name: "KistWire", dependencies: ["KistCore", "KistJSON"]),
    .target(name: "KistSystem"),
    .systemLibrary(name: "CSodium", path: "Sources/CSodium", pkgConfig: "libsodium"),
    .target(name: "KistSodium", dependencies: ["CSodium", "KistCore"]),
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(name: "KistVault", dependencies: ["KistCore", "KistSodium"]),
    .target(
      name: "KistFile",
      dependencies: ["CSQLite", "KistCore", "KistSodium", "KistSystem", "KistVault"]),
    .systemLibrary(name: "CLibsecret", path: "Sources/CLibsecret", pkgConfig: "libsecret-1"),
    .target(name: "KistLibsecret", dependencies: ["CLibsecret", "KistCore", "KistJSON"]),
    .target(name: "KistInterop", dependencies: ["KistCore", "KistJSON"]),
    .systemLibrary(name: "CGcrypt", path: "Sources/CGcrypt", pkgConfig: "libgcrypt"),
    .target(name: "KistGcrypt", dependencies: ["CGcrypt", "KistCore"]),
    .systemLibrary(name: "CSystemd", path: "Sources/CSystemd", pkgConfig: "libsystemd"),
    .target(name: "KistBus", dependencies: ["CSystemd", "KistCore", "KistSystem"]),
    .target(
      name: "KistSecretService",
      dependencies: ["KistCore", "KistGcrypt", "KistInterop", "KistSodium"]),
    .target(name: "CLinux"),
    // Without the command line.
    .target(
      name: "KistSecretServiceProgram",
      dependencies: [
        "CLinux", "KistBus", "KistCore", "KistGcrypt", "KistJSON", "KistSecretService",
        "KistSystem", "KistWire",
      ],
      exclude: ["Program.swift"]),
    // The reader of the audit log, without the rest of the daemon.
    .target(
      name: "KistDaemon", dependencies: ["KistCore", "KistFile", "KistSystem", "KistWire"],
      sources: [
        "Audit/AuditChain.swift", "Audit/AuditFile.swift", "Audit/AuditReader.swift",
        "Audit/AuditVerifier.swift", "Audit/OpenLog.swift",
        "Hardening/SystemError.swift",
      ]),
    .systemLibrary(name: "CFuzzer", path: "CFuzzer"),
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "CFuzzer", "CLibsecret", "CSystemd", "KistBus", "KistCore", "KistDaemon", "KistFile",
        "KistGcrypt", "KistInterop", "KistJSON", "KistLibsecret", "KistSecretService",
        "KistSecretServiceProgram", "KistSodium", "KistVault", "KistWire",
      ],
      path: "Targets"),
  ],
  swiftLanguageModes: [.v6]
)

// The settings of the fuzzed package that affect the meaning of code.
for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .unsafeFlags(
      ["-enable-testing"]
        + (measuresCoverage
          ? ["-profile-generate", "-profile-coverage-mapping"] : ["-sanitize=fuzzer,address"])),
  ]
}
