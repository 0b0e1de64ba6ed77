/// So many credentials, in words.
package func counted(_ credentials: Int) -> String {
  "\(credentials) credential\(credentials == 1 ? "" : "s")"
}
