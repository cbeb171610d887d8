"""Which entity a link is for, whether its client may use it, and what is made when it is not there yet.

Hubs and Service Bus entities live in one namespace here, and may have the same name: a client of Event Hubs means hubs, one of
Service Bus never does. Any other client means what is there.
"""

from hive_mind.devbroker.amqp.error import NOT_FOUND, UNAUTHORIZED, AmqpError
from hive_mind.devbroker.amqp.sections import Message
from hive_mind.devbroker.amqp.switchboard import Requests, RoutedLink
from hive_mind.devbroker.entities import Entities
from hive_mind.devbroker.entity import Entity, EntityHost, ManagementReply
from hive_mind.devbroker.requests import CBS, MANAGEMENT, READ, RequestEntity, note_audience
from hive_mind.devbroker.tokens import Keys, audience_path, is_within

_OPERATION, _NAME = "operation", "name"


class Router:
    """Leads links to entities."""

    def __init__(self, host: EntityHost, entities: Entities, keys: Keys, *, needs_token: bool) -> None:
        self._host, self._entities, self._keys, self._needs_token = host, entities, keys, needs_token
        self._cbs = RequestEntity(self._put_token, _token_place)
        self._management = RequestEntity(self._manage, _management_place)

    def route(self, link: RoutedLink) -> Entity | Requests:
        """The entity at the link's address. Raises `AmqpError`."""
        address = link.address.lower()
        if address == CBS:
            link.requests = self._cbs
            return self._cbs
        if address.endswith(MANAGEMENT):
            if path := _managed_path(link):
                self._authorise(link, path)
            link.requests = self._management
            return self._management
        self._authorise(link, address)
        return self._entity(link.address, is_hub=_means_hub(link))

    def _authorise(self, link: RoutedLink, path: str) -> None:
        now, known, asked = self._host.now(), link.peer.authorised, path.lower()
        if self._needs_token and not any(expires > now and is_within(asked, resource) for resource, expires in known.items()):
            raise AmqpError(UNAUTHORIZED, f"there is no valid token for '{path}' on this connection")

    def _entity(self, path: str, *, is_hub: bool | None) -> Entity:
        entity = self._entities.find(path, is_hub=is_hub) or self._entities.make(path, is_hub=is_hub)
        if entity is None:
            kind = "event hub" if is_hub else "messaging entity"
            other = "; what has this name is of the other kind" if self._entities.find(path) else ""
            raise AmqpError(NOT_FOUND, f"the {kind} '{path}' could not be found{other}")
        return entity

    def _put_token(self, link: RoutedLink, request: Message) -> ManagementReply:
        asked = request.application_map
        if asked.get(_OPERATION) != "put-token":
            return ManagementReply(400, "only put-token is supported", None)
        path, expires = self._keys.check(str(request.value()), str(asked.get(_NAME, "")), self._host.now())
        note_audience(link, path, expires)
        self._host.count("tokens")
        return ManagementReply(202, "Accepted", None)

    def _manage(self, link: RoutedLink, request: Message) -> ManagementReply:
        path = _managed_path(link, request)
        self._authorise(link, path.lower())
        self._host.count("management requests")
        # On a connection for such requests alone clients don't say which they are.
        is_about_hub = request.application_map.get(_OPERATION) == READ and "/" not in path
        is_hub = True if is_about_hub else _means_hub(link)
        return self._entity(path, is_hub=is_hub).manage(request)


def _means_hub(link: RoutedLink) -> bool | None:
    """Which kind of entity its client asks for; None where it does not say."""
    agent = link.peer.agent
    return True if "eventhub" in agent else False if "servicebus" in agent else None


def _managed_path(link: RoutedLink, request: Message | None = None) -> str:
    """The entity is in the address; or the address is that of the whole namespace, and the entity in the request."""
    path = link.address[: -len(MANAGEMENT)].rstrip("/")
    return path or str(request.application_map.get(_NAME) or "") if request else path


def _token_place(_link: RoutedLink, request: Message) -> tuple[str, str]:
    return "cbs", audience_path(str(request.application_map.get(_NAME) or ""))


def _management_place(link: RoutedLink, request: Message) -> tuple[str, str]:
    return "mgmt", f"{_managed_path(link, request)}/{MANAGEMENT}"
