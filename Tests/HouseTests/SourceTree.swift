import Foundation

/// One source file of a module.
struct SourceFile {
  let module: String
  let name: String
  let lines: [Substring]

  /// Whether a plugin of protoc wrote the file.
  var isGenerated: Bool { name.hasSuffix(".pb.swift") || name.hasSuffix(".grpc.swift") }

  /// The modules that the file imports.
  var imports: [String] {
    lines.compactMap { line in
      line.wholeMatch(
        of:
          /\s*(?:@\w+(?:\(\w+\))? )*(?:\w+ )?import (?:(?:struct|class|enum|func|protocol|let|var|typealias) )?(\w+)[.\w]*\s*/
      )
      .map { String($0.1) }
    }
  }
}

let packageRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent()

/// Returns all Swift files in a folder, with the module of each.
func sourceFiles(under folder: String = "Sources") throws -> [SourceFile] {
  let sources = packageRoot.appending(path: folder)
  let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
  return try paths.filter { $0.hasSuffix(".swift") }.map { path in
    let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
    let parts = path.split(separator: "/")
    return SourceFile(
      module: String(parts[0]), name: String(parts[parts.count - 1]),
      lines: text.split(separator: "\n", omittingEmptySubsequences: false))
  }
}
