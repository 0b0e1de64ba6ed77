#if Etcd
  /// A version of etcd.
  struct EtcdVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    let numbers: [Int]

    /// Reads a version such as `3.4.23`; `nil` for any other text.
    init?(_ text: String) {
      let parts = text.prefix { $0 != "-" && $0 != "+" }.split(
        separator: ".", omittingEmptySubsequences: false)
      numbers = parts.compactMap { Int($0) }
      guard parts.count == 3, numbers.count == 3 else { return nil }
    }

    static func < (left: Self, right: Self) -> Bool {
      left.numbers.lexicographicallyPrecedes(right.numbers)
    }

    var description: String { numbers.map(String.init).joined(separator: ".") }

    /// The faults of this version that concern a shared vault, with the version that ends each.
    ///
    /// Source: etcd's changelogs of 3.4 and 3.5.
    var faults: [String] {
      let (minor, patch) = ((numbers[0], numbers[1]), numbers[2])
      guard minor >= (3, 4) else { return ["versions before 3.4 are not tested with kist"] }
      let fixed: [(patch34: Int, patch35: Int, text: String)] = [
        (31, 0, "changes can be missing after compaction"),
        (32, 0, "the revision can go back after a crash during compaction"),
        (36, 0, "the report of a deletion can be missing"),
        (42, 28, "a paused node can answer old records"),
      ]
      return fixed.compactMap { fault in
        switch minor {
        case (3, 4) where patch < fault.patch34: "\(fault.text) (fixed in 3.4.\(fault.patch34))"
        case (3, 5) where patch < fault.patch35: "\(fault.text) (fixed in 3.5.\(fault.patch35))"
        default: nil
        }
      }
    }
  }

  extension Nodes {
    /// Asks each node for its version, and warns of known faults and of nodes that do not answer.
    ///
    /// - Parameter known: the last known version of each node.
    /// - Returns: Whether all nodes answered.
    func checkVersions(_ known: inout [NodeAddress: EtcdVersion]) async -> Bool {
      var silent: [String] = []
      for address in addresses {
        do throws(CallFailure) { known[address] = try await version(of: address) } catch {
          silent.append("the node at \(address) does not answer")
        }
      }
      let faulty = Dictionary(grouping: known.values) { $0 }.filter { !$0.key.faults.isEmpty }
      let faults = faulty.map { version, nodes in
        "\(nodes.count) of \(addresses.count) nodes have etcd \(version), with known faults: "
          + version.faults.joined(separator: "; ")
      }
      warn(faults + silent, about: .nodes)
      return silent.isEmpty
    }
  }
#endif
