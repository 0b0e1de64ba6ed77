import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The codebase` {
  @Test func `every module imports only what its line in the table allows`() throws {
    let modules = try modules()
    for file in try sourceFiles() {
      let allowed = try #require(modules[file.module], "\(file.module) has no line in the table")
      for module in file.imports where !standardLibrary.contains(module) {
        #expect(allowed.contains(module), "\(file.module)/\(file.name) imports \(module)")
      }
    }
  }

  @Test func `KistCore imports the C library in two files only`() throws {
    let files = try sourceFiles().filter { $0.module == "KistCore" && $0.imports.contains("Glibc") }
    #expect(Set(files.map(\.name)) == coreFilesWithGlibc)
  }

  @Test func `the manifest has only dependencies that the table allows`() throws {
    let modules = try modules()
    for target in try manifestTargets() where target.type != "test" {
      let allowed = try #require(modules[target.name], "\(target.name) has no line in the table")
      let edges = Set(target.dependencies)
      #expect(edges.isSubset(of: allowed), "\(target.name): \(edges.subtracting(allowed))")
    }
  }

  @Test func `every suite has a time limit, so that a hanging test fails`() throws {
    let tests = packageRoot.appending(path: "Tests")
    for path in try FileManager.default.subpathsOfDirectory(atPath: tests.path)
    where path.hasSuffix("Tests.swift") {
      let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
      for suite in text.matches(of: /\n *@Suite((?s).*?)struct `/) {
        #expect(suite.1.contains(".timeLimit("), "\(path)")
      }
      // A suite is on the line of its type, or on the line before, which ends with a parenthesis.
      for type in text.matches(
        of: /([^\n]*)\n(?:struct|final class) [^\n]*\{(?s)(.*?)\n\}/
      ) where !type.1.hasSuffix(")") {
        #expect(!type.2.contains("@Test"), "\(path)")
      }
    }
  }

  @Test func `every line of the table belongs to a target`() throws {
    let targets = Set(try manifestTargets().filter { $0.type != "test" }.map(\.name))
    #expect(targets == Set(try modules().keys))
  }

  @Test func `every import that the table allows is used`() throws {
    let imports = Dictionary(
      grouping: try sourceFiles() + sourceFiles(under: "Tests"), by: \.module
    ).mapValues { Set($0.flatMap(\.imports)) }
    for (module, allowed) in try modules() {
      let unused = allowed.subtracting(imports[module] ?? [])
      #expect(unused.isEmpty, "\(module): \(unused)")
    }
  }

  @Test func `no source file has over 300 lines`() throws {
    for file in try sourceFiles() + sourceFiles(under: "Tests") where !file.isGenerated {
      #expect(file.lines.count <= 301, "\(file.module)/\(file.name)")
    }
  }

  @Test func `no value stores a number of 128 bits, whose alignment breaks asynchronous calls`()
    throws
  {
    for file in try sourceFiles() {
      for line in file.lines {
        let stored = line.firstMatch(of: /\b(?:let|var) [^={]*\bU?Int128\b(?![^=]*\{)/)
        #expect(stored == nil, "\(file.module)/\(file.name): \(line); see Words128")
      }
    }
  }

  @Test func `the test of the imports finds every form of an import`() {
    let file = SourceFile(
      module: "", name: "",
      lines: [
        "import A", "public import B", "@_exported public import C", "internal import struct D.E",
        "  @testable import F", "@_spi(G) import H", "// import I", "let a = \"import J\"",
      ])
    #expect(file.imports == ["A", "B", "C", "D", "F", "H"])
  }
}
