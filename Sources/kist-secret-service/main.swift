#if SecretService
  import KistSecretServiceProgram

  startSecretService()
#endif
