// An app that talks to kistd writes one import, and has the vocabulary with it.
@_exported public import KistCore
