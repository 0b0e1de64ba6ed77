"""The two kinds of session of the Secret Service: plain, and encrypted with a Diffie-Hellman key."""

import os

import dbus
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.padding import PKCS7

DIFFIE_HELLMAN = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

# The second Oakley group, RFC 2409 section 6.2.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A0879"
    "8E3404DDEF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B"
    "0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)


class PlainSession:
    answer = dbus.String("", variant_level=1)

    def encode(self, value):
        return b"", value

    def decode(self, parameters, value):
        return value


class EncryptedSession:
    def __init__(self, public_key):
        private_key = int.from_bytes(os.urandom(128), "big") % (PRIME - 2) + 1
        shared = pow(int.from_bytes(public_key, "big"), private_key, PRIME).to_bytes(128, "big")
        self.key = HKDF(algorithm=SHA256(), length=16, salt=None, info=b"").derive(shared)
        ours = pow(2, private_key, PRIME).to_bytes(128, "big")
        self.answer = dbus.ByteArray(ours, variant_level=1)

    def encode(self, value):
        vector = os.urandom(16)
        padder = PKCS7(128).padder()
        padded = padder.update(value) + padder.finalize()
        encryptor = Cipher(algorithms.AES(self.key), modes.CBC(vector)).encryptor()
        return vector, encryptor.update(padded) + encryptor.finalize()

    def decode(self, parameters, value):
        decryptor = Cipher(algorithms.AES(self.key), modes.CBC(parameters)).decryptor()
        unpadder = PKCS7(128).unpadder()
        padded = decryptor.update(value) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()


def negotiate(algorithm, public_key, plain_only):
    if algorithm == "plain":
        return PlainSession()
    if algorithm == DIFFIE_HELLMAN and not plain_only:
        return EncryptedSession(bytes(public_key))
    raise dbus.DBusException(
        "algorithm not supported", name="org.freedesktop.DBus.Error.NotSupported")
