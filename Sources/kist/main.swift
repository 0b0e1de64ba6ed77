print("kist")
