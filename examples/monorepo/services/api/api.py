"""A service that answers one question."""

from http.server import BaseHTTPRequestHandler, HTTPServer


def health():
    return {"status": "well"}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(health()).encode())


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
