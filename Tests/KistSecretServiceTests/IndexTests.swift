#if SecretService
  import KistCore
  @testable import KistSecretService
  import KistTesting
  import Testing

  @Suite(.timeLimit(.minutes(10))) struct `The index of items` {
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `finds what a plain list finds, after any changes`(seed: UInt64) throws {
      var random = Seeded(seed)
      var index = ItemIndex(hashing: try Hashing(machine: []), numbers: ItemNumbers())
      var list: [CredentialSummary] = []
      for _ in 0..<4000 {
        let key = CredentialKey(
          service: "s\(Int.random(in: 0..<200, using: &random))", account: "a")
        list.removeAll { $0.key == key }
        if Int.random(in: 0..<4, using: &random) == 0 {
          index.remove(key)
        } else {
          let attributes: Attributes = [
            "kist:item": "1", "few": "\(Int.random(in: 0..<3, using: &random))",
            "many": "\(Int.random(in: 0..<50, using: &random))",
          ]
          let summary = CredentialSummary.sample(of: .sample(key, attributes: attributes))
          index.insert(summary)
          list.append(summary)
        }
      }
      #expect(index.count == list.count)
      let searches: [Attributes] = [
        [:], ["few": "1"], ["many": "7"], ["few": "2", "many": "3"], ["few": "9"],
      ]
      for searched in searches {
        let expected = list.reversed().filter { searched.areContained(in: $0.attributes) }
        #expect(index.find(searched).map { index.key(at: $0) } == expected.map(\.key))
      }
      for summary in list {
        let place = try #require(index.place(of: summary.key))
        guard case .item(let collection, let item) = index.path(at: place) else {
          Issue.record("not the path of an item")
          continue
        }
        #expect(index.place(ofItem: item, in: collection) == place)
      }
    }

    @Test func `begins with the item that was saved last, in any order of reading`() throws {
      let hashing = try Hashing(machine: [])
      var read = ReadItems(into: ItemIndex(hashing: hashing, numbers: ItemNumbers()))
      let saves = (0..<100).map { number in
        CredentialSummary.sample(
          of: .sample(CredentialKey(service: "s\(number)")),
          at: Timestamp(secondsSinceEpoch: Int64(number / 10))!, revision: "e.\(number)")
      }
      var random = Seeded(1)
      for summary in saves.shuffled(using: &random) { read.add(summary) }
      read.sort()
      #expect(read.index.find([:]).map { read.index.key(at: $0) } == saves.reversed().map(\.key))
      #expect(
        read.times[Collection.login]
          == Timestamp(secondsSinceEpoch: 0)!...Timestamp(secondsSinceEpoch: 9)!)
    }
  }
#endif
