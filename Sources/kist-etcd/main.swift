#if Etcd
  import KistEtcd

  startEtcdAdapter()
#endif
