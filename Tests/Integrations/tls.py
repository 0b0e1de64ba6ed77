"""TLS for servers, with certificates for each test."""

import ssl


def certificate(world, name):
    """Creates NAME.crt and NAME.key for this machine, in the home of a world."""
    world.run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-days", "1", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-keyout", f"{name}.key", "-out", f"{name}.crt")
    return world.home / f"{name}.crt", world.home / f"{name}.key"


def over_tls(server, certificate, key, clients=None):
    """Enables TLS in a server; `clients` is the certificate of the clients that it accepts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_OPTIONAL
    # The thread of each connection does the handshake, so that a slow one does not delay others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server
