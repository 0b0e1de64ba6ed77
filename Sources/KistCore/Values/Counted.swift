/// Returns a number of credentials as text.
package func counted(_ credentials: Int) -> String {
  "\(credentials) credential\(credentials == 1 ? "" : "s")"
}
