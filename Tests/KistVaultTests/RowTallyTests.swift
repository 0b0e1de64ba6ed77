import KistCore
import KistTesting
import Testing

@testable import KistVault

@Suite(.timeLimit(.minutes(5))) struct `A tally of rows` {
  private static func vault() throws -> Vault {
    var vault = try Vault()
    for account in ["a", "b", "c"] {
      try vault.save(.sample(CredentialKey(service: "service", account: account)))
    }
    return vault
  }

  @Test func `matches the header of exactly the rows that were saved`() throws {
    var vault = try Self.vault()
    #expect(vault.tally().matches(vault.header))
    let rows = Array(vault.rows.values)
    #expect(!vault.tally(Array(rows.dropFirst())).matches(vault.header))
    let old = try #require(vault.rows.first)
    try vault.save(.sample(old.key, secret: "new"))
    vault.rows[old.key] = old.value
    #expect(!vault.tally().matches(vault.header))
  }

  @Test func `does not match with another store's row in place of one`() throws {
    var vault = try Self.vault()
    var other = try Vault(keyOf: 8)
    let key = CredentialKey(service: "service", account: "b")
    try other.save(.sample(key))
    vault.rows[key] = other.rows[key]
    #expect(!vault.tally().matches(vault.header))
  }

  @Test func `refuses a row at an address where no lookup finds it`() async throws {
    let vault = try Self.vault()
    let row = try #require(vault.rows.values.first)
    let range = RowAddresses.of(row.identity.tag)
    for address in [range.lowerBound - 1, range.upperBound + 1] {
      await expect(.corrupt) {
        var tally = RowTally(vault.keys)
        try tally.verify(
          row.metadata.span, row.secret.span, as: row.identity, address: address, in: vault.header)
      }
    }
  }

  @Test func `refuses rows that are not in the order of their addresses`() async throws {
    let vault = try Self.vault()
    let row = try #require(vault.rows.values.first)
    let range = RowAddresses.of(row.identity.tag)
    for second in [range.lowerBound, range.lowerBound + 1] {
      var tally = RowTally(vault.keys)
      try tally.verify(
        row.metadata.span, row.secret.span, as: row.identity, address: range.lowerBound + 1,
        in: vault.header)
      await expect(.corrupt) { [tally] in
        var tally = tally
        try tally.verify(
          row.metadata.span, row.secret.span, as: row.identity, address: second, in: vault.header)
      }
      let isFound = tally.add(
        row.metadata.span, row.secret.span, as: row.identity, address: second, expectsOrder: false)
      #expect(isFound)
    }
  }

  @Test func `refuses a row of a change that the header does not count`() async throws {
    let vault = try Self.vault()
    var row = try #require(vault.rows.values.first)
    row.identity.sequence = vault.header.sequence + 1
    await expect(.corrupt) { [row] in
      var tally = RowTally(vault.keys)
      try tally.verify(
        row.metadata.span, row.secret.span, as: row.identity,
        address: RowAddresses.of(row.identity.tag).lowerBound, in: vault.header)
    }
  }

  @Test func `a sum carries into its higher limbs and back`() throws {
    let most = [UInt8](repeating: 0xFF, count: 32)
    var reader = ByteReader()
    let minusOne = try RowSum(&reader, from: most.span)
    var sum = RowSum.zero
    sum -= minusOne
    #expect(copy(sum) == [1] + [UInt8](repeating: 0, count: 31))
    sum += minusOne
    #expect(sum == .zero)
  }
}
