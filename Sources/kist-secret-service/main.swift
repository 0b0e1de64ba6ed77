#if SecretService
  // Links the realloc(3) that overwrites memory.
  import CWiping
  import KistSecretServiceProgram

  startSecretService()
#endif
