// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "Examples",
  dependencies: [.package(name: "kist", path: "..")],
  targets: [
    .target(name: "Deployment", dependencies: [.product(name: "KistClient", package: "kist")]),
    .executableTarget(
      name: "deploy",
      dependencies: ["Deployment", .product(name: "KistClient", package: "kist")]),
    .testTarget(
      name: "DeploymentTests",
      dependencies: [
        "Deployment", .product(name: "KistClient", package: "kist"),
        .product(name: "KistTesting", package: "kist"),
      ]),
  ]
)
