/// Chains three functions into one: the output of each is the input of the next.
///
/// Always inlined, so that a chain is of the types at hand: one of any types would convert them, in
/// a function with a suspension of its own.
@inlinable @inline(__always)
package func chain<A, B, C, D>(
  _ first: @escaping @Sendable (A) throws(StorageError) -> B,
  _ second: @escaping @Sendable (B) async throws(StorageError) -> C,
  _ third: @escaping @Sendable (C) throws(StorageError) -> D
) -> @Sendable (A) async throws(StorageError) -> D {
  { input throws(StorageError) in try third(await second(first(input))) }
}
