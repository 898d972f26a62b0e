/** The check of the public address by `troupe doctor address`, against real servers on this machine. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { addressProblem, connectionProblem } from '../../src/cli/public-address.ts'
import { generateKey, parseKeyRing } from '../../src/secret/key-ring.ts'
import { App } from '../../src/troupe.ts'
import { createAuthority, selfSigned } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { createTestDatabase, type TestDatabase } from '../support/stores.ts'

const [current, former, other] = [generateKey(), generateKey(), generateKey()]
const ring = parseKeyRing(`${current},${former}`)
const open: { close(): unknown }[] = []
let database: TestDatabase

before(async () => {
  database = await createTestDatabase('sqlite')
})
after(async () => {
  await Promise.all(open.map((one) => one.close()))
  await database.remove()
})

/** Starts a server on this machine, and returns its port. */
async function listening(server: Pick<Server, 'listen' | 'address' | 'close'>): Promise<number> {
  open.push(server)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return address.port
}

async function serving(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(createServer(answer))}`
}

function troupeWith(secretKeys: string, options: { readonly port?: number; readonly baseUrl?: string } = {}): App {
  const app = new App({
    type: 'urn:actingweb:example.com:test',
    mode: 'development',
    database: database.url,
    secretKeys,
    host: '127.0.0.1',
    port: 0,
    env: {},
    logLevel: 'silent',
    ...options,
  })
  open.push({ close: () => app.close() })
  return app
}

const problem = (url: string, keyRing = ring, timeoutMs = 10_000): Promise<string | null> =>
  addressProblem(url, { keyRing, timeoutMs })

describe('the public address of the service', () => {
  it('leads to the service, behind a proxy too, and while its processes change to another key', async () => {
    const { url } = await troupeWith(`${current},${former}`).listen()
    assert.equal(await problem(url), null)
    assert.equal(await problem(url, parseKeyRing(`${former},${current}`)), null)
    const port = await freePort()
    const proxy = await serving((request, response) => {
      void fetch(`http://127.0.0.1:${port}${request.url ?? ''}`).then(async (answer) =>
        response.writeHead(answer.status).end(await answer.text()),
      )
    })
    await troupeWith(`${current},${former}`, { port, baseUrl: proxy }).listen()
    assert.equal(await problem(proxy), null)
    assert.notEqual(await problem(url.replace('127.0.0.1', 'localhost')), null)
  })

  it('leads to another service with other keys', async () => {
    const { url } = await troupeWith(`${current},${former}`).listen()
    assert.equal(
      await problem(url, parseKeyRing(other)),
      `Another Troupe service answers at ${url}: it has other keys, or another BASE_URL. Correct BASE_URL, or run this command with its TROUPE_SECRET_KEYS.`,
    )
  })

  const foreign: [what: string, answer: RequestListener, status: number][] = [
    ['a web server without the path', (_request, response) => response.writeHead(404).end('<h1>Not found</h1>'), 404],
    ['a page for every path', (_request, response) => response.writeHead(200).end('<h1>Welcome</h1>'), 200],
    ['JSON of another service', (_request, response) => response.writeHead(200).end('{"status":"ok"}'), 200],
    ['JSON without an object', (_request, response) => response.writeHead(200).end('null'), 200],
    ['an earlier version', (_request, response) => response.writeHead(200).end('{"status":"live"}'), 200],
    ['an endless page', (_request, response) => response.writeHead(200).end('x'.repeat(1_000_000)), 200],
  ]
  for (const [what, answer, status] of foreign)
    it(`leads to another service: ${what}`, async () => {
      const url = await serving(answer)
      assert.equal(
        await problem(url),
        `Another service answers at ${url}: /health/live returned ${status} instead of the state of this service. Correct BASE_URL, or the path that the proxy passes on.`,
      )
    })

  it('redirects, which peers do not follow', async () => {
    const url = await serving((_request, response) =>
      response.writeHead(308, { location: 'https://www.example.com/health/live' }).end(),
    )
    assert.equal(
      await problem(url),
      `${url}/health/live redirects to https://www.example.com/health/live: set BASE_URL to the final address, or remove the redirect. Peers do not follow it.`,
    )
  })

  for (const status of [502, 503, 504])
    it(`leads to a proxy without the service behind it: ${status}`, async () => {
      const url = await serving((_request, response) => response.writeHead(status).end('Bad gateway'))
      assert.equal(
        await problem(url),
        `A proxy answers at ${url} with ${status}, but does not reach the service: start the service, or correct the proxy.`,
      )
    })

  it('refuses connections', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    assert.equal(
      await problem(url),
      `Cannot reach ${url}: nothing accepts connections at ${new URL(url).host}. Start the service and its proxy, or correct BASE_URL.`,
    )
  })

  it('accepts connections without an answer', async () => {
    // A socket that is never read would stay open after its peer has closed it.
    const server = createTcpServer((socket) => void socket.resume()) as unknown as Server
    const url = `http://127.0.0.1:${await listening(server)}`
    // Real time: the limit of the check passes.
    assert.equal(
      await problem(url, ring, 200),
      `Cannot reach ${url}: no answer came within 0.2 seconds. Allow connections to ${new URL(url).host} in the firewall, or correct BASE_URL.`,
    )
  })

  it('begins an answer that does not end', async () => {
    const url = await serving((_request, response) => void response.writeHead(200).write('{'))
    // Real time: the limit of the check passes.
    assert.equal(
      await problem(url, ring, 200),
      `Cannot reach ${url}: no answer came within 0.2 seconds. Allow connections to ${new URL(url).host} in the firewall, or correct BASE_URL.`,
    )
  })

  it('closes connections without an answer', async () => {
    const server = createTcpServer((socket) => void socket.resume().end()) as unknown as Server
    const url = `http://127.0.0.1:${await listening(server)}`
    assert.equal(
      await problem(url),
      `Cannot reach ${url}: the connection failed (UND_ERR_SOCKET). Check the proxy before the service, or correct BASE_URL.`,
    )
  })

  for (const [what, certificate, code] of [
    ['self-signed', selfSigned({ names: ['127.0.0.1'] }), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['of an unknown authority', createAuthority().issue({ names: ['127.0.0.1'] }), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const)
    it(`has a certificate that browsers refuse: ${what}`, async () => {
      const url = `https://127.0.0.1:${await listening(createTlsServer(certificate))}`
      assert.equal(
        await problem(url),
        `Cannot reach ${url}: this machine does not trust the authority of its TLS certificate (${code}). Install a certificate that browsers accept, or name the file of your authority in NODE_EXTRA_CA_CERTS.`,
      )
    })

  it('speaks no TLS', async () => {
    const url = (await serving((_request, response) => response.end())).replace('http:', 'https:')
    assert.match(
      (await problem(url)) ?? '',
      /^Cannot reach https:\/\/127\.0\.0\.1:\d+: no TLS connection is possible at 127\.0\.0\.1:\d+ \((?:EPROTO|ERR_SSL_\w+)\)\. Let the proxy terminate TLS there, or correct BASE_URL\.$/,
    )
  })

  for (const [code, sentence] of [
    ['ENOTFOUND', 'the name notes.example.com does not exist in DNS. Create its record, or correct BASE_URL.'],
    [
      'EAI_AGAIN',
      'the DNS server of this machine did not answer for notes.example.com. Check the network of this machine.',
    ],
    ['ENETUNREACH', 'this machine has no route to notes.example.com. Check its network, or the DNS record.'],
    [
      'CERT_HAS_EXPIRED',
      'its TLS certificate is not valid for notes.example.com (CERT_HAS_EXPIRED). Install a certificate that browsers accept.',
    ],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'its TLS certificate is not valid for notes.example.com (ERR_TLS_CERT_ALTNAME_INVALID). Install a certificate that browsers accept.',
    ],
  ] as const)
    it(`is described for ${code}`, () => {
      const error = new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
      assert.equal(connectionProblem(error, new URL('https://notes.example.com'), 10_000), sentence)
    })
})

describe('the proof of identity', () => {
  it('needs a challenge of 16 to 128 characters, and is absent without one', async () => {
    const { url } = await troupeWith(`${current},${former}`).listen()
    const live = async (query: string): Promise<unknown[]> => {
      const answer = await fetch(`${url}/health/live${query}`)
      return [answer.status, Object.keys((await answer.json()) as object)]
    }
    assert.deepEqual(await live(''), [200, ['status', 'version', 'commit']])
    assert.deepEqual(await live('?probe=1'), [200, ['status', 'version', 'commit']])
    assert.deepEqual(await live(`?challenge=${'x'.repeat(16)}`), [200, ['status', 'version', 'commit', 'proof']])
    assert.deepEqual(await live(`?challenge=${'x'.repeat(15)}`), [400, ['error', 'message']])
    assert.deepEqual(await live(`?challenge=${'x'.repeat(129)}`), [400, ['error', 'message']])
  })
})
