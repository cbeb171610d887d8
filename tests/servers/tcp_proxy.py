"""A proxy before a server on this machine, which cuts connections, and loses replies, when it is told to."""

import contextlib
import selectors
import socket
import threading
import time


class TcpProxy:
    """Listens on a free port from `start` to `stop`. One thread carries all connections."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._others: dict[socket.socket, socket.socket] = {}
        self._clients: set[socket.socket] = set()
        self._doomed: set[socket.socket] = set()
        self._lose: bytes = b""
        self._lock = threading.RLock()
        self._is_stopped = False
        self._is_cut = False
        self._thread = threading.Thread(target=self._carry, name="proxy", daemon=True)

    def start(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()

    def stop(self) -> None:
        self._is_stopped = True
        self._thread.join()
        self.drop_connections()
        self._listener.close()
        self._selector.close()

    def drop_connections(self) -> None:
        """Cut all there are."""
        with self._lock:
            for sock in tuple(self._clients):
                self._drop(sock)

    def cut(self, *, is_cut: bool = True) -> None:
        """Carry nothing any more, without telling anybody; or again."""
        self._is_cut = is_cut

    def lead_to(self, port: int) -> None:
        """Carry new connections there; those there are stay where they are."""
        self._to_port = port

    def lose_next_reply_to(self, request: bytes) -> None:
        """Hand over the next request that has these bytes, and cut its connection instead of the reply."""
        self._lose = request

    def _carry(self) -> None:
        while not self._is_stopped:
            if self._is_cut:
                time.sleep(0.01)
            for key, _ in self._selector.select(timeout=0.02):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                with self._lock:
                    if sock is self._listener:
                        self._accept()
                    elif sock in self._others and not self._is_cut:
                        self._pass_on(sock)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self._to_port), timeout=5)
        except OSError:
            client.close()
            return
        self._clients.add(client)
        for one, other in ((client, server), (server, client)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(1 << 18)
        except OSError:
            data = b""
        other = self._others[sock]
        if not data or other in self._doomed:
            self._drop(sock)
            return
        if sock in self._clients and self._lose and self._lose in data:
            self._doomed.add(sock)
            self._lose = b""
        try:
            other.sendall(data)
        except OSError:
            self._drop(sock)

    def _drop(self, sock: socket.socket) -> None:
        for one in (sock, self._others.get(sock, sock)):
            self._others.pop(one, None)
            self._clients.discard(one)
            self._doomed.discard(one)
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(one)
            one.close()
