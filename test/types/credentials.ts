/* oxlint-disable no-unused-expressions -- the mistakes that must not compile */
/**
 * The types of API keys, clients, webhooks and files. `npm run check` compiles this file. Each `@ts-expect-error` is a mistake
 * that must not compile.
 */
import { type ActorHandle, type Json, troupe } from '../../src/index.ts'
import type { ActorKey, FileInfo, NewKey, OpenFile } from '../../src/handles.ts'

/** Compiles only when the type of the promise is `Wanted`. */
function resolvesTo<Wanted>() {
  return <Actual>(
    _value: Promise<Actual>,
    _same: (<T>() => T extends Actual ? 1 : 2) extends <T>() => T extends Wanted ? 1 : 2 ? true : false,
  ): void => {}
}

const app = troupe({ type: 'urn:actingweb:example.com:types' })
const sensor: NewKey = {
  name: 'Sensor',
  grants: {
    actions: { patterns: ['push'], operations: ['execute'] },
    files: { patterns: ['photos/*'], operations: ['read', 'write', 'delete'] },
    properties: { patterns: ['readings'], operations: ['read', 'append', 'write', 'delete', 'subscribe'] },
  },
  until: new Date('2031-01-01'),
}

export async function keys(actor: ActorHandle): Promise<void> {
  resolvesTo<{ readonly id: string; readonly key: string }>()(actor.keys.create(sensor), true)
  resolvesTo<ActorKey[]>()(actor.keys.list(), true)
  resolvesTo<boolean>()(actor.keys.rename('id', 'Kitchen'), true)
  resolvesTo<boolean>()(actor.keys.moveEnd('id', null), true)
  resolvesTo<boolean>()(actor.keys.revoke('id'), true)
  for (const { id, lastUsedAt, until, grants } of await actor.keys.list()) {
    if (lastUsedAt !== null && until !== null) lastUsedAt.getTime()
    for (const { category, pattern, operations } of grants) void [id, category, pattern.trim(), operations.join()]
    // @ts-expect-error a key that was never used has no last use
    lastUsedAt.getTime()
  }
  // @ts-expect-error a key has grants
  void actor.keys.create({ name: 'Sensor' })
  // @ts-expect-error a key has a name
  void actor.keys.create({ grants: sensor.grants })
  // @ts-expect-error an action is executed, not read
  void actor.keys.create({ name: 'a', grants: { actions: { patterns: ['push'], operations: ['read'] } } })
  // @ts-expect-error files have no operation append
  void actor.keys.create({ name: 'a', grants: { files: { patterns: ['*'], operations: ['append'] } } })
  // @ts-expect-error webhooks are not a category
  void actor.keys.create({ name: 'a', grants: { webhooks: { patterns: ['*'], operations: ['read'] } } })
  // @ts-expect-error a grant has patterns
  void actor.keys.create({ name: 'a', grants: { tools: { operations: ['use'] } } })
  // @ts-expect-error the end belongs to the key, not to its grants
  void actor.keys.create({ name: 'a', grants: { ...sensor.grants, until: new Date() } })
  // @ts-expect-error the end is a Date
  void actor.keys.create({ ...sensor, until: '2031-01-01' })
  // @ts-expect-error the key is shown only once
  ;(await actor.keys.list())[0]?.key
  // @ts-expect-error no end is null
  void actor.keys.moveEnd('id')
}

export async function clients(actor: ActorHandle): Promise<void> {
  const { client, secret } = await actor.clients.create({ name: 'Report', trustType: 'reader' })
  void [client.clientId.trim(), secret.trim()]
  // @ts-expect-error a client has a name
  void actor.clients.create({ trustType: 'reader' })
  // @ts-expect-error the secret is shown only once
  void client.secret
}

export async function webhooks(actor: ActorHandle): Promise<void> {
  const { id, secret } = await actor.webhooks.add('https://example.com/hook', { events: ['property_changed'] })
  void [id.trim(), secret.trim()]
  // @ts-expect-error a webhook names its events
  void actor.webhooks.add('https://example.com/hook')
  // @ts-expect-error files cause no messages
  void actor.webhooks.add('https://example.com/hook', { events: ['file_changed'] })
}

export async function files(actor: ActorHandle): Promise<void> {
  resolvesTo<FileInfo>()(actor.files.put('a', 'text', { type: 'text/plain', ifMatch: null }), true)
  resolvesTo<FileInfo>()(actor.files.put('a', new Blob(['bytes'])), true)
  resolvesTo<OpenFile | undefined>()(actor.files.get('a', { start: 1, end: 5 }), true)
  resolvesTo<FileInfo | undefined>()(actor.files.stat('a'), true)
  const page = await actor.files.list({ prefix: 'photos/', limit: 5 })
  for (const { name, size, type, sha256 } of page.files) void [name.trim(), size * 2, type.trim(), sha256.trim()]
  // @ts-expect-error the content is bytes or a string
  void actor.files.put('a', { any: 'object' })
  // @ts-expect-error the file may not exist
  ;(await actor.files.get('a')).stream
  const json: Json = { ok: true }
  // @ts-expect-error JSON is not the content of a file
  void actor.files.put('a', json)
}

app.action('connect', ({ actor }) => actor.keys.create(sensor))
