// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "kist",
  products: [
    .executable(name: "kist", targets: ["kist"]),
    .executable(name: "kistd", targets: ["kistd"]),
    .executable(name: "kist-secret-service", targets: ["kist-secret-service"]),
    .executable(name: "kist-etcd", targets: ["kist-etcd"]),
    .library(name: "KistClient", targets: ["KistClient"]),
    .library(name: "KistTesting", targets: ["KistTesting"]),
  ],
  traits: [
    .trait(
      name: "Libsecret",
      description: "Keeps credentials in the user's keyring; needs libsecret-1 and GLib."),
    .trait(
      name: "SecretService",
      description: "Serves the Secret Service; needs libsystemd and libgcrypt."),
    .trait(
      name: "Etcd",
      description: "Keeps shared vaults in etcd; needs gRPC, which compiles for ten minutes."),
    .default(enabledTraits: ["Libsecret", "SecretService"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: [
    // MARK: - Vocabulary and wire

    .target(name: "KistCore"),
    .target(name: "KistJSON", dependencies: ["KistCore"]),
    .target(name: "KistWire", dependencies: ["KistCore", "KistJSON"]),

    // MARK: - Sockets

    .target(name: "KistSystem"),
    .target(name: "KistClient", dependencies: ["KistCore", "KistSystem", "KistWire"]),
    .target(
      name: "KistServer",
      dependencies: [
        "KistCore",
        "KistSystem",
        "KistWire",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),

    // MARK: - Storages

    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "KistSodium", dependencies: ["CSodium", "KistCore"]),
    .target(name: "KistVault", dependencies: ["KistCore", "KistSodium"]),
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(
      name: "KistFile",
      dependencies: ["CSQLite", "KistCore", "KistSodium", "KistSystem", "KistVault"]),
    .systemLibrary(
      name: "CLibsecret", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),
    .target(name: "KistLibsecret", dependencies: ["CLibsecret", "KistCore", "KistJSON"]),

    // MARK: - Shared vaults

    .target(name: "KistCluster", dependencies: ["KistCore"]),
    .target(
      name: "KistClusterSocket",
      dependencies: [
        "KistClient",
        "KistCluster",
        "KistCore",
        "KistJSON",
        "KistServer",
        "KistSystem",
        "KistWire",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "KistShared", dependencies: ["KistCluster", "KistCore", "KistSodium", "KistVault"]),

    .target(
      name: "KistReplica",
      dependencies: ["KistCluster", "KistCore", "KistShared", "KistSodium", "KistVault"]),

    // MARK: - A person at a terminal

    .target(name: "KistTerminal", dependencies: ["KistCore"]),

    // MARK: - Other tools' protocols

    .target(name: "KistInterop", dependencies: ["KistCore", "KistJSON"]),

    // MARK: - The Secret Service

    .systemLibrary(
      name: "CGcrypt", pkgConfig: "libgcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    .target(name: "KistGcrypt", dependencies: ["CGcrypt", "KistCore"]),
    .systemLibrary(
      name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .target(name: "KistBus", dependencies: ["CSystemd", "KistCore", "KistSystem"]),
    .target(
      name: "KistSecretService",
      dependencies: ["KistCore", "KistGcrypt", "KistInterop", "KistSodium"]),
    .target(
      name: "KistSecretServiceProgram",
      dependencies: [
        "CLinux",
        "KistBus",
        "KistClient",
        "KistCore",
        "KistGcrypt",
        "KistJSON",
        "KistSecretService",
        "KistSystem",
        "KistWire",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .target(name: "CWiping"),
    .executableTarget(
      name: "kist-secret-service",
      dependencies: [
        "CWiping",
        .target(name: "KistSecretServiceProgram", condition: .when(traits: ["SecretService"])),
      ]),

    // MARK: - etcd

    .target(
      name: "KistEtcd",
      dependencies: [
        "CLinux",
        "KistClient",
        "KistCluster",
        "KistClusterSocket",
        "KistCore",
        "KistServer",
        "KistSystem",
        "KistWire",
        .product(
          name: "ArgumentParser", package: "swift-argument-parser",
          condition: .when(traits: ["Etcd"])),
        .product(name: "GRPCCore", package: "grpc-swift-2", condition: .when(traits: ["Etcd"])),
        .product(
          name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport",
          condition: .when(traits: ["Etcd"])),
        .product(
          name: "GRPCProtobuf", package: "grpc-swift-protobuf", condition: .when(traits: ["Etcd"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Etcd"])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Etcd"])),
        .product(
          name: "SwiftProtobuf", package: "swift-protobuf", condition: .when(traits: ["Etcd"])),
      ],
      exclude: ["Generated/rpc.proto"]),
    .executableTarget(
      name: "kist-etcd",
      dependencies: [.target(name: "KistEtcd", condition: .when(traits: ["Etcd"]))]),

    // MARK: - Programs

    .target(name: "CConcurrency"),
    .target(name: "CLinux"),
    .target(
      name: "KistDaemon",
      dependencies: [
        "CConcurrency",
        "CLinux",
        "KistClient",
        "KistCluster",
        "KistClusterSocket",
        "KistCore",
        "KistFile",
        "KistJSON",
        .target(name: "KistLibsecret", condition: .when(traits: ["Libsecret"])),
        "KistReplica",
        "KistServer",
        "KistShared",
        "KistSodium",
        "KistSystem",
        "KistTerminal",
        "KistVault",
        "KistWire",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "KistCommands",
      dependencies: [
        "CLinux",
        "KistClient",
        "KistCore",
        "KistInterop",
        "KistJSON",
        "KistSystem",
        "KistTerminal",
        "KistWire",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(name: "kistd", dependencies: ["KistDaemon"]),
    .executableTarget(name: "kist", dependencies: ["KistCommands"]),

    // MARK: - Tests

    .target(name: "KistTesting", dependencies: ["KistCore"]),
    .testTarget(name: "KistCoreTests", dependencies: ["KistCore", "KistTesting"]),
    .testTarget(name: "KistJSONTests", dependencies: ["KistCore", "KistJSON", "KistTesting"]),
    .testTarget(
      name: "KistWireTests", dependencies: ["KistCore", "KistJSON", "KistTesting", "KistWire"]),
    .testTarget(name: "KistSystemTests", dependencies: ["KistSystem"]),
    .testTarget(
      name: "KistClientTests",
      dependencies: ["KistClient", "KistCore", "KistTesting", "KistWire"]),
    .testTarget(
      name: "KistServerTests",
      dependencies: [
        "KistClient",
        "KistCore",
        "KistFile",
        "KistServer",
        "KistSodium",
        "KistTesting",
        "KistWire",
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ]),
    .testTarget(name: "KistSodiumTests", dependencies: ["KistCore", "KistSodium"]),
    .testTarget(
      name: "KistVaultTests", dependencies: ["KistCore", "KistSodium", "KistTesting", "KistVault"]),
    .testTarget(
      name: "KistClusterTests",
      dependencies: [
        "KistCluster",
        "KistClusterSocket",
        "KistCore",
        "KistServer",
        "KistSystem",
        "KistTesting",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "KistSharedTests",
      dependencies: [
        "KistCluster", "KistCore", "KistShared", "KistSodium", "KistTesting", "KistVault",
      ],
      exclude: ["Golden"]),
    .target(name: "KistLinearizability", path: "Tests/KistLinearizability"),
    .executableTarget(
      name: "KistSimulation",
      dependencies: [
        "KistCluster", "KistCore", "KistLinearizability", "KistReplica", "KistShared", "KistSodium",
        "KistTesting", "KistVault",
      ],
      path: "Tests/KistSimulation", exclude: ["seeds.txt"]),
    .testTarget(
      name: "KistReplicaTests",
      dependencies: [
        "KistCluster", "KistCore", "KistFile", "KistReplica", "KistShared", "KistSimulation",
        "KistLinearizability", "KistSodium", "KistTesting", "KistVault",
      ]),
    .testTarget(
      name: "KistFileTests",
      dependencies: [
        "KistCore",
        "KistFile",
        "KistSodium",
        "KistTesting",
        "KistVault",
        "KistWire",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      resources: [.copy("Golden")]),
    // A private bus, and the keyrings on it.
    .target(
      name: "KistKeyrings", dependencies: ["KistCore"], path: "Tests/KistKeyrings",
      exclude: ["Mock"]),
    .testTarget(
      name: "KistLibsecretTests",
      dependencies: [
        "KistCore",
        "KistKeyrings",
        .target(name: "KistLibsecret", condition: .when(traits: ["Libsecret"])),
        "KistTesting",
        "KistWire",
      ]),
    .testTarget(
      name: "KistSecretServiceTests",
      dependencies: [
        .target(name: "CSystemd", condition: .when(traits: ["SecretService"])),
        "KistCore",
        "KistKeyrings",
        .target(name: "KistBus", condition: .when(traits: ["SecretService"])),
        .target(name: "KistGcrypt", condition: .when(traits: ["SecretService"])),
        .target(name: "KistSecretService", condition: .when(traits: ["SecretService"])),
        .target(name: "KistSecretServiceProgram", condition: .when(traits: ["SecretService"])),
        "KistSystem",
        "KistTesting",
      ]),
    // System calls by their numbers.
    .target(name: "CCalls", path: "Tests/CCalls"),
    .testTarget(
      name: "KistDaemonTests",
      dependencies: [
        "CCalls",
        "CLinux",
        "KistClient",
        "KistCore",
        "KistDaemon",
        "KistFile",
        "KistReplica",
        "KistServer",
        "KistSodium",
        "KistSystem",
        "KistTesting",
        "KistVault",
        "KistWire",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "KistInteropTests", dependencies: ["KistCore", "KistInterop", "KistTesting"]),
    .testTarget(name: "KistTerminalTests", dependencies: ["KistCore", "KistTerminal"]),
    .testTarget(
      name: "KistCommandsTests",
      dependencies: [
        "KistClient", "KistCommands", "KistCore", "KistInterop", "KistTerminal", "KistTesting",
        "KistWire",
      ],
      resources: [.copy("Cases")]),
    .testTarget(name: "HouseTests"),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "CLinux",
        "KistClient",
        "KistCluster",
        "KistClusterSocket",
        "KistCore",
        "KistKeyrings",
        "KistServer",
        "KistTesting",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ]),
    .testTarget(
      name: "SystemdTests",
      dependencies: [
        "KistTesting",
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      exclude: ["Probes"]),
  ],
  swiftLanguageModes: [.v6]
)

// One set of compiler settings for every target of ours. Each line names the proposal behind it.
for target in package.targets where target.type != .system {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
      .enableUpcomingFeature("ExistentialAny"),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
      .enableUpcomingFeature("InternalImportsByDefault"),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
      .enableUpcomingFeature("MemberImportVisibility"),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0470-isolated-conformances.md
      .enableUpcomingFeature("InferIsolatedConformances"),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0481-weak-let.md
      .enableUpcomingFeature("ImmutableWeakCaptures"),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0458-strict-memory-safety.md
      .strictMemorySafety(),
      // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0443-warning-control-flags.md
      .treatAllWarnings(as: .error),
    ]
}
