/** The handle by which applications use the API keys of an actor. */
import type { KeysHandle } from '../app/keys.ts'
import type { Keys } from '../authorization-server/keys.ts'
import { application } from '../caller.ts'
import type { Self } from '../trust/trust-deps.ts'

export function keysHandle(keys: Keys, actor: Self): KeysHandle {
  return {
    create: (key) => keys.create(actor.id, key, application),
    list: async () =>
      (await keys.list(actor.id)).map(({ id, name, grants, createdAt, lastUsedAt, until }) => ({
        id,
        name,
        grants,
        createdAt: new Date(createdAt),
        lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt),
        until: until === null ? null : new Date(until),
      })),
    rename: (id, name) => keys.change(actor.id, id, { name }),
    moveEnd: (id, until) => keys.change(actor.id, id, { until }),
    revoke: (id) => keys.revoke(actor, id),
  }
}
