"""Qdrant's real engine behind those methods of its client that this package uses."""

from itertools import count
from types import SimpleNamespace

import qdrant_edge as edge
from qdrant_edge import UpdateOperation as Update


def edge_client(folder):
    shards, numbers = {}, count()

    def create(name, vectors_config):
        path = folder / str(next(numbers))
        path.mkdir(parents=True)
        vectors = {key: edge.EdgeVectorParams(one.size, edge.Distance.Dot) for key, one in vectors_config.items()}
        shards[name] = edge.EdgeShard.create(str(path), edge.EdgeConfig(vectors=vectors))

    def records(found):  # a server sends a UUID as a text
        ids = (one.id if isinstance(one.id, int) else str(one.id) for one in found)
        return [
            SimpleNamespace(id=i, payload=one.payload, vector=one.vector) for i, one in zip(ids, found, strict=True)
        ]

    def scroll(name, limit, offset=None, with_payload=True, with_vectors=False):
        request = edge.ScrollRequest(offset, limit, with_payload=with_payload, with_vector=with_vectors)
        found, following = shards[name].scroll(request)
        return records(found), following

    def filtered(given):
        return given and edge.Filter(must=[nested(one) if hasattr(one, "nested") else field(one) for one in given.must])

    def nested(condition):
        return edge.NestedCondition(condition.nested.key, filtered(condition.nested.filter))

    def field(condition):
        return edge.FieldCondition(condition.key, match=edge.MatchAny(condition.match.any))

    def query(name, given):
        nearest, more = edge.Query.Nearest(given.query, using=given.using), {"with_payload": given.with_payload}
        request = edge.QueryRequest(given.limit, query=nearest, filter=filtered(given.filter), **more)
        return SimpleNamespace(points=shards[name].query(request))

    def upsert(name, points):
        shards[name].update(Update.upsert_points([edge.Point(one.id, one.vector, one.payload) for one in points]))

    return SimpleNamespace(
        collection_exists=shards.__contains__,
        create_collection=create,
        delete_collection=lambda name: shards.pop(name).close(),
        create_payload_index=lambda name, field, _: shards[name].update(
            Update.create_field_index(field, edge.PayloadSchemaType.Keyword)
        ),
        upsert=upsert,
        delete=lambda name, ids: shards[name].update(Update.delete_points(ids)),
        retrieve=lambda name, ids, with_payload=True, with_vectors=False: records(
            shards[name].retrieve(ids, with_payload, with_vectors)
        ),
        scroll=scroll,
        count=lambda name, exact: SimpleNamespace(count=shards[name].count(edge.CountRequest(exact))),
        query_batch_points=lambda name, requests: [query(name, one) for one in requests],
    )
