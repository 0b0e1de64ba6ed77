// An app that uses kistd needs only one import.
@_exported public import KistCore
