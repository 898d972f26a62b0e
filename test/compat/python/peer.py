"""A service with the reference library: python3 peer.py <port> <public host>. PG_DB_… name its PostgreSQL database, which has no tables.

Routes below /_peer act as the application: they subscribe, change properties and lists, and read the copy of a peer.
"""

import sys

import psycopg
import uvicorn
from actingweb.db.postgresql.connection import get_connection_string
from actingweb.db.postgresql.schema import Base
from actingweb.interface import ActingWebApp, ActorInterface
from actingweb.remote_storage import RemotePeerStore
from fastapi import Body, FastAPI
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

port = int(sys.argv[1])

with psycopg.connect(get_connection_string()) as connection:
    for table in Base.metadata.sorted_tables:
        for statement in (CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: index.name))):
            connection.execute(str(statement.compile(dialect=postgresql.dialect())))

web = FastAPI()
library = (
    ActingWebApp(
        aw_type="urn:actingweb:example.com:python",
        database="postgresql",
        fqdn=sys.argv[2],
        proto="http://",
    )
    .with_web_ui(enable=False)
    .with_unique_creator(enable=False)
    .with_email_as_creator(enable=False)
    .with_peer_profile()
    .with_peer_permissions()
    .with_subscription_processing()
)


def actor(actor_id: str) -> ActorInterface:
    return ActorInterface.get_by_id(actor_id, library.get_config())


# The library waits for its peers in these calls, so they run beside the loop: functions without `async`.
@web.put("/_peer/{actor_id}/properties/{name}")
def set_property(actor_id: str, name: str, value=Body()):
    actor(actor_id).properties[name] = value


@web.post("/_peer/{actor_id}/lists/{name}")
def append(actor_id: str, name: str, value=Body()):
    getattr(actor(actor_id).property_lists, name).append(value)


@web.post("/_peer/{actor_id}/subscribe/{peer_id}")
def subscribe(actor_id: str, peer_id: str):
    return {"url": actor(actor_id).subscriptions.subscribe_to_peer(peer_id, target="properties")}


@web.delete("/_peer/{actor_id}/subscriptions/{peer_id}/{subscription_id}")
def lose(actor_id: str, peer_id: str, subscription_id: str):
    """Deletes the subscription of a peer without a message, as a restored database does."""
    actor(actor_id)._core_actor.delete_subscription(peerid=peer_id, subid=subscription_id, callback=False)


@web.get("/_peer/{actor_id}/copy/{peer_id}")
def copy(actor_id: str, peer_id: str):
    kept = RemotePeerStore(actor(actor_id), peer_id, validate_peer_id=False).get_all_properties()
    # The library wraps lists, scalars, and again the values that are no objects: {"value": …}.
    values = {name: one["value"] for name, one in sorted(kept.items())}
    return {
        name: value["value"] if isinstance(value, dict) and value.keys() == {"value"} else value
        for name, value in values.items()
    }


@web.post("/_peer/backup")
def backup():
    """Copies all tables."""
    with psycopg.connect(get_connection_string()) as connection:
        for table in Base.metadata.sorted_tables:
            connection.execute(f'DROP TABLE IF EXISTS "backup_{table.name}"')
            connection.execute(f'CREATE TABLE "backup_{table.name}" AS SELECT * FROM "{table.name}"')


@web.post("/_peer/restore")
def restore():
    """Brings the tables back to the copy, without a message."""
    with psycopg.connect(get_connection_string()) as connection:
        names = ", ".join(f'"{table.name}"' for table in Base.metadata.sorted_tables)
        connection.execute(f"TRUNCATE {names}")
        for table in Base.metadata.sorted_tables:
            connection.execute(f'INSERT INTO "{table.name}" SELECT * FROM "backup_{table.name}"')


library.integrate_fastapi(web)
uvicorn.run(web, host="127.0.0.1", port=port, log_level="warning")
