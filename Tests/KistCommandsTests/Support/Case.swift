import Foundation
import Testing

/// A text file of steps that are carried out one after another on one storage.
///
/// Each line begins with what it is:
///
///     # a comment
///     $ the arguments; 'single quotes' keep blanks together
///     @ terminal   input and output are a terminal; or
///     @ output     only output is a terminal; or
///     @ daemonless the command is run with its real storage, which is not there
///     < a line of standard input        <* 3 x   the same character three times
///     ? a line typed at a hidden prompt
///     > a line of standard output       ! a line of standard error
///     = the exit status, unless it is 0
///
/// A backslash at the end of a line takes its newline away; `\t` and `\r` are a tab and a CR.
struct Case: CustomTestStringConvertible {
  struct Step {
    var arguments: [String]
    var isTerminal = false
    var hasTerminalOutput = false
    var isDaemonless = false
    var typed: [String] = []
    var input = ""
    var output = ""
    var error = ""
    var status: Int32 = 0
  }

  let testDescription: String
  let steps: [Step]

  static let all: [Case] = {
    let folder = Bundle.module.url(forResource: "Cases", withExtension: nil)!
    let files = try! FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    return files.map(\.lastPathComponent).sorted().map { name in
      let text = try! String(contentsOf: folder.appending(path: name), encoding: .utf8)
      return Case(testDescription: name, steps: steps(of: text))
    }
  }()

  private static func steps(of text: String) -> [Step] {
    var steps: [Step] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let kind = line.prefix { $0 != " " }
      let content = String(line.dropFirst(kind.count + 1))
      if kind == "$" {
        steps.append(Step(arguments: words(of: content)))
      } else {
        steps[steps.count - 1].add(String(kind), content)
      }
    }
    return steps
  }

  private static func words(of line: String) -> [String] {
    var words: [String] = []
    for (index, part) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
      // What stands between quotes is one word, and may be empty.
      words += index % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
    }
    return words
  }
}

extension Case.Step {
  fileprivate mutating func add(_ kind: String, _ content: String) {
    switch kind {
    case "@":
      isTerminal = isTerminal || content == "terminal"
      hasTerminalOutput = isTerminal || content == "output"
      isDaemonless = isDaemonless || content == "daemonless"
    case "?": typed.append(content)
    case "<": input += unescaped(content)
    case "<*":
      let parts = content.split(separator: " ")
      input += String(repeating: String(parts[1]), count: Int(parts[0])!)
    case ">": output += unescaped(content)
    case "!": error += unescaped(content)
    case "=": status = Int32(content)!
    default: Issue.record("a case has a line of an unknown kind: \(kind)")
    }
  }

  private func unescaped(_ line: String) -> String {
    let text = line.replacing("\\t", with: "\t").replacing("\\r", with: "\r")
    return text.hasSuffix("\\") ? String(text.dropLast()) : text + "\n"
  }
}
