"""Servers on 127.0.0.1 that run during a test."""

import base64
import hashlib
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """A server that answers authorized requests with `answer(handler, body)`, and counts the others."""

    daemon_threads = True

    def __init__(self, answer, allowed, challenge):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.allowed, self.challenge = answer, set(allowed), challenge
        self.refused = 0
        self.seen = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A client that tries TLS first must see that this is HTTP, and continue without TLS.
    default_request_version = "HTTP/1.1"

    def handle_any(self):
        body = self.read_body()
        authorization = self.headers.get("Authorization")
        if authorization not in self.server.allowed:
            self.server.refused += authorization is not None
            return self.reply(401, b"{}", {"WWW-Authenticate": self.server.challenge})
        self.server.seen.append((self.command, self.path, authorization))
        self.server.answer(self, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def reply(self, status, body=b"", headers={}):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def git_server(root, allowed):
    """Serves the repositories in a folder with git's http-backend."""

    def answer(handler, body):
        path, _, query = handler.path.partition("?")
        end = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True, check=True,
            env={
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": handler.command, "PATH_INFO": path, "QUERY_STRING": query,
                "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "REMOTE_USER": "someone",
                "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
                "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": handler.headers.get("Git-Protocol", "")})
        head, _, content = end.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        handler.reply(int(headers.pop("Status", "200").split()[0]), content, headers)

    return Server(answer, allowed, 'Basic realm="git"')


def registry(allowed):
    """A registry with one empty image, `box:1`."""
    config = b"{}"
    digest = "sha256:" + hashlib.sha256(config).hexdigest()
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": kind, "layers": [],
        "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "size": 2, "digest": digest},
    }).encode()
    pages = {
        "/v2/": (b"{}", "application/json"),
        "/v2/box/tags/list": (b'{"name":"box","tags":["1"]}', "application/json"),
        "/v2/box/manifests/1": (manifest, kind),
        f"/v2/box/blobs/{digest}": (config, "application/octet-stream"),
    }

    def answer(handler, _):
        body, content_type = pages.get(handler.path, (None, None))
        if body is None:
            return handler.reply(404)
        handler.reply(200, body, {
            "Content-Type": content_type, "Docker-Distribution-Api-Version": "registry/2.0",
            "Docker-Content-Digest": "sha256:" + hashlib.sha256(body).hexdigest()})

    return Server(answer, allowed, 'Basic realm="registry"')


def crates(allowed):
    """A sparse index with one crate, `thing`, and its API. Both require a token."""

    def answer(handler, _):
        here = f"http://127.0.0.1:{handler.server.port}"
        pages = {
            "/index/config.json": {"dl": here + "/dl", "api": here, "auth-required": True},
            "/index/th/in/thing": {
                "name": "thing", "vers": "1.0.0", "deps": [], "cksum": "0" * 64, "features": {}, "yanked": False},
            "/api/v1/crates/thing/1.0.0/yank": {"ok": True},
        }
        page = pages.get(handler.path)
        handler.reply(404) if page is None else handler.reply(200, json.dumps(page).encode())

    return Server(answer, allowed, 'Cargo login_url="http://127.0.0.1/me"')
