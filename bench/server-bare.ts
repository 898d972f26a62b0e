/**
 * The bound of the measurements: a bare node:http server that does only the necessary work of a request. It reads the actor,
 * checks the credential with one look-up, makes the same store call and responds.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Actor } from '../src/actor/actor.ts'
import { findActor, insertActor } from '../src/actor/actor-store.ts'
import { known } from '../src/json/json.ts'
import { append, readItems } from '../src/list/list.ts'
import { findProperties, findProperty, putValue } from '../src/property/property-store.ts'
import { hashSecret, sameSecret } from '../src/secret/hash.ts'
import { parseKeyRing } from '../src/secret/key-ring.ts'
import { randomId, randomPassphrase } from '../src/secret/random.ts'
import { actorPassphrase, bindingOf } from '../src/secret/sealed-columns.ts'
import { open, seal } from '../src/secret/sealed.ts'
import { openStore } from '../src/open-store.ts'
import { tokenLifetimes } from '../src/token/chain.ts'
import { makeToken } from '../src/token/token-text.ts'
import {
  countGraceAnswer,
  findAccessToken,
  insertTokens,
  lockRefreshToken,
  markUsed,
} from '../src/token/token-store.ts'
import { findOverride } from '../src/trust/override-store.ts'
import { findTrust, findTrustBySecret } from '../src/trust/trust-store.ts'
import { serveMeasurements, type Subject } from './subject.ts'

interface Call {
  readonly id: number
  readonly method: string
  readonly params: { readonly name?: string; readonly arguments?: object }
}

const subject = JSON.parse(process.argv[2] ?? '{}') as Subject
const tools = Array.from({ length: subject.tools ?? 50 }, (_, index) => ({
  name: `get_${index}`,
  description: `The tool number ${index}`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}))
const ring = parseKeyRing(subject.keys)
const store = await openStore({ url: subject.database })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => void answer(Buffer.concat(chunks).toString()))

  async function answer(body: string): Promise<void> {
    if (request.url === '/mcp') return call(JSON.parse(body) as Call)
    if (request.url === '/oauth/spa/token') return rotate(JSON.parse(body) as { refresh_token: string })
    if (request.url === '/') return create(JSON.parse(body) as { creator: string })
    const [, id = '', , name] = (request.url ?? '').split('/')
    const actor = await store.read((q) => findActor(q, id))
    if (actor === null || !(await isAllowed(actor))) return void response.writeHead(403).end()
    if (request.method === 'PUT') {
      const value = known(JSON.stringify(JSON.parse(body)))
      await store.writeActor(id, async (tx) => putValue(tx, id, { name: name ?? '', value, version: 1 }))
      response.writeHead(204).end()
      return
    }
    if (request.method === 'POST') {
      const item = known(JSON.stringify(JSON.parse(body)))
      await store.writeActor(id, async (tx) =>
        append(tx, { actorId: id, list: name ?? '', format: null }, item, store.now()),
      )
      response.writeHead(201, { 'Content-Length': 0 }).end()
      return
    }
    const text =
      name === undefined
        ? JSON.stringify(
            Object.fromEntries(
              (await store.read((q) => findProperties(q, id))).flatMap((row) =>
                row.kind === 'value' ? [[row.name, JSON.parse(row.content)]] : [],
              ),
            ),
          )
        : await propertyText(id, name)
    answered(text)
  }

  async function isAllowed(actor: Actor): Promise<boolean> {
    const [scheme = '', value = ''] = (request.headers.authorization ?? '').split(' ')
    if (scheme === 'Basic') {
      const [user = '', password = ''] = Buffer.from(value, 'base64').toString().split(':')
      const passphrase = open(ring, actor.passphrase, bindingOf(actorPassphrase, actor.id))
      return sameSecret(user, actor.creator) && sameSecret(password, passphrase)
    }
    // In these measurements the length distinguishes a session token from a peer's secret.
    if (value.length === 40) {
      const token = await store.read((q) => findAccessToken(q, hashSecret(value)))
      return token !== null && token.chain.actorId === actor.id && Date.now() <= token.expiresAt
    }
    return (await store.read((q) => findTrustBySecret(q, actor.id, hashSecret(value))))?.approved === true
  }

  async function create({ creator }: { creator: string }): Promise<void> {
    const id = randomId()
    const passphrase = randomPassphrase()
    const sealed = seal(ring, passphrase, bindingOf(actorPassphrase, id))
    const actor = {
      id,
      creator,
      passphrase: sealed,
      trusteeRoot: null,
      createdAt: store.now(),
      guardedUntil: 0,
      kind: 'person',
    }
    await store.write(async (tx) => insertActor(tx, actor))
    answered(JSON.stringify({ id, creator, passphrase }), 201)
  }

  /** Handles an MCP call: reads the token, the actor, the relationship and the override, and responds. */
  async function call({ id, method, params }: Call): Promise<void> {
    const [, token = ''] = (request.headers.authorization ?? '').split(' ')
    const found = await store.read((q) => findAccessToken(q, hashSecret(token)))
    const grant = found?.chain.client
    if (found === null || grant === null || grant === undefined || Date.now() > found.expiresAt) {
      return void response.writeHead(401).end()
    }
    const { actorId } = found.chain
    const [actor, trust] = await store.read(async (q) => [
      await findActor(q, actorId),
      await findTrust(q, actorId, grant.peerId),
    ])
    const override = await store.read((q) => findOverride(q, actorId, grant.peerId))
    const isDenied = override?.rules.tools?.denied?.some((name) => name === params.name) === true
    if (actor === null || trust === null || isDenied) return void response.writeHead(403).end()
    const result =
      method === 'tools/list'
        ? { resultType: 'complete', tools, ttlMs: 5000, cacheScope: 'private' }
        : {
            resultType: 'complete',
            content: [{ type: 'text', text: JSON.stringify({ echo: params.arguments }) }],
            structuredContent: { echo: params.arguments },
            isError: false,
          }
    answered(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }

  async function rotate({ refresh_token: presented }: { refresh_token: string }): Promise<void> {
    const hash = hashSecret(presented)
    const access = makeToken('session', 'access')
    const refresh = makeToken('session', 'refresh')
    const done = await store.write(async (tx) => {
      const found = await lockRefreshToken(tx, hash)
      if (found === null) return null
      const now = Date.now()
      const { usedAt, graceAnswers } = found.state
      if (usedAt === null) await markUsed(tx, hash, now, now + 172_800_000)
      else await countGraceAnswer(tx, hash, graceAnswers)
      const lifetimes = tokenLifetimes.session
      await insertTokens(
        tx,
        found.chain,
        { hash: hashSecret(access), kind: 'access', expiresAt: now + lifetimes.access },
        { hash: hashSecret(refresh), kind: 'refresh', expiresAt: now + lifetimes.refresh },
      )
      return found.chain.actorId
    })
    if (done === null) return void response.writeHead(401).end()
    answered(JSON.stringify({ success: true, actor_id: done, access_token: access, refresh_token: refresh }))
  }

  function answered(text: string, status = 200): void {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    response.writeHead(status, headers).end(text)
  }
})

async function propertyText(actorId: string, name: string): Promise<string> {
  const property = await store.read((q) => findProperty(q, actorId, name))
  if (property?.kind !== 'list') return property?.content ?? 'null'
  const page = await store.snapshot((q) => readItems(q, { actorId, list: name, format: null }))
  return `[${page?.items.map(({ item }) => item).join(',')}]`
}

server.listen(0, '127.0.0.1', () => {
  serveMeasurements((server.address() as AddressInfo).port, async () => {
    server.close()
    server.closeAllConnections()
    await store.close()
  })
})
