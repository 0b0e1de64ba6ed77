print("kistd")
