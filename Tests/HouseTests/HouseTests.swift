import Foundation
import Testing

@Suite struct `The house` {
  @Test func `every room imports only what its line in the table allows`() throws {
    let rooms = try rooms()
    for file in try sourceFiles() {
      let allowed = try #require(rooms[file.room], "\(file.room) has no line in the table")
      for module in file.imports where !standardLibrary.contains(module) {
        #expect(allowed.contains(module), "\(file.room)/\(file.name) imports \(module)")
      }
    }
  }

  @Test func `KistCore touches the C library in two files only`() throws {
    let files = try sourceFiles().filter { $0.room == "KistCore" && $0.imports.contains("Glibc") }
    #expect(Set(files.map(\.name)) == coreFilesWithGlibc)
  }

  @Test func `the manifest has no edge that the table does not allow`() throws {
    let rooms = try rooms()
    for target in try manifestTargets() where target.type != "test" {
      let allowed = try #require(rooms[target.name], "\(target.name) has no line in the table")
      let edges = Set(target.dependencies)
      #expect(edges.isSubset(of: allowed), "\(target.name): \(edges.subtracting(allowed))")
    }
  }

  @Test func `no line of the table is left over`() throws {
    let targets = Set(try manifestTargets().filter { $0.type != "test" }.map(\.name))
    #expect(targets == Set(try rooms().keys))
  }

  @Test func `nothing is allowed in the table that no file imports`() throws {
    let imports = Dictionary(
      grouping: try sourceFiles() + sourceFiles(under: "Tests"), by: \.room
    ).mapValues { Set($0.flatMap(\.imports)) }
    for (room, allowed) in try rooms() {
      let unused = allowed.subtracting(imports[room] ?? [])
      #expect(unused.isEmpty, "\(room): \(unused)")
    }
  }

  @Test func `no source file is over 300 lines long, and half are under 100`() throws {
    let files = try sourceFiles()
    for file in try files + sourceFiles(under: "Tests") {
      #expect(file.lines.count <= 301, "\(file.room)/\(file.name)")
    }
    let lengths = files.map(\.lines.count).sorted()
    #expect(lengths[lengths.count / 2] < 100)
  }

  @Test func `the test of the imports reads every form of an import`() {
    let file = SourceFile(
      room: "", name: "",
      lines: [
        "import A", "public import B", "@_exported public import C", "internal import struct D.E",
        "  @testable import F", "@_spi(G) import H", "// import I", "let a = \"import J\"",
      ])
    #expect(file.imports == ["A", "B", "C", "D", "F", "H"])
  }
}
