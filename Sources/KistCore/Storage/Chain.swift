/// Chains three functions: the output of each is the input of the next.
///
/// Always inlined, so that it is compiled for concrete types. A generic version converts the values
/// and adds a suspension point.
@inlinable @inline(__always)
package func chain<A, B, C, D>(
  _ first: @escaping @Sendable (A) throws(StorageError) -> B,
  _ second: @escaping @Sendable (B) async throws(StorageError) -> C,
  _ third: @escaping @Sendable (C) throws(StorageError) -> D
) -> @Sendable (A) async throws(StorageError) -> D {
  { input throws(StorageError) in try third(await second(first(input))) }
}
