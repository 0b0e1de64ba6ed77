"""Servers that speak TLS, with certificates of a test's own."""

import ssl


def certificate(world, name):
    """Makes NAME.crt and NAME.key in the home of a world, for this machine."""
    world.run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-days", "1", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-keyout", f"{name}.key", "-out", f"{name}.crt")
    return world.home / f"{name}.crt", world.home / f"{name}.key"


def over_tls(server, certificate, key, clients=None):
    """Lets a server speak TLS from now on; `clients` is the certificate of those it knows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_OPTIONAL
    # The handshake is for the thread of a connection, lest a slow one keeps others waiting.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server
