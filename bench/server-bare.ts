/**
 * The bound: a bare node:http server that does by hand what one request needs and nothing else: read the actor, check
 * Basic, make the same store call, answer.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { findActor } from '../src/actor/actor-store.ts'
import { known } from '../src/json/json.ts'
import { findProperties, findProperty, putValue } from '../src/property/property-store.ts'
import { sameSecret } from '../src/secret/hash.ts'
import { parseKeyRing } from '../src/secret/key-ring.ts'
import { actorPassphrase, bindingOf } from '../src/secret/sealed-columns.ts'
import { open } from '../src/secret/sealed.ts'
import { openStore } from '../src/store/open.ts'
import { serveMeasurements, type Subject } from './subject.ts'

const subject = JSON.parse(process.argv[2] ?? '{}') as Subject
const ring = parseKeyRing(subject.keys)
const store = await openStore({ url: subject.database })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => void answer(Buffer.concat(chunks).toString()))

  async function answer(body: string): Promise<void> {
    const [, id = '', , name] = (request.url ?? '').split('/')
    const actor = await store.read((q) => findActor(q, id))
    const [user = '', password = ''] = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64')
      .toString()
      .split(':')
    const allowed =
      actor !== null &&
      sameSecret(user, actor.creator) &&
      sameSecret(password, open(ring, actor.passphrase, bindingOf(actorPassphrase, id)))
    if (!allowed) return void response.writeHead(403).end()
    if (request.method === 'PUT') {
      const value = known(JSON.stringify(JSON.parse(body)))
      await store.writeActor(id, async (tx) => putValue(tx, id, name ?? '', value))
      response.writeHead(204).end()
      return
    }
    const text =
      name === undefined
        ? JSON.stringify(
            Object.fromEntries(
              (await store.read((q) => findProperties(q, id))).flatMap((row) =>
                row.kind === 'value' ? [[row.name, JSON.parse(row.value)]] : [],
              ),
            ),
          )
        : propertyText(await store.read((q) => findProperty(q, id, name)))
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text)
  }
})

function propertyText(property: Awaited<ReturnType<typeof findProperty>>): string {
  return property?.kind === 'value' ? property.value : 'null'
}

server.listen(0, '127.0.0.1', () => {
  serveMeasurements((server.address() as AddressInfo).port, async () => {
    server.close()
    server.closeAllConnections()
    await store.close()
  })
})
