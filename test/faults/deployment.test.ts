/** `troupe doctor https://…` against real services behind proxies: a sound deployment, and each mistake on its own. */
import assert from 'node:assert/strict'
import { createServer as createTlsServer } from 'node:https'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { after, afterEach, before, describe, it } from 'node:test'
import { checkDeployment, deploymentFindings } from '../../src/cli/deployment/check-deployment.ts'
import type { Finding } from '../../src/cli/deployment/finding.ts'
import { Probe } from '../../src/cli/deployment/probe.ts'
import { openid } from '../../src/index.ts'
import { createAuthority, selfSigned } from '../support/certificates.ts'
import { Workplace } from '../support/program.ts'
import { type StartOptions, sqliteService, type TestService } from '../support/service.ts'

const dayMs = 86_400_000

interface Deployment {
  readonly options?: StartOptions
  /** Default: the address of the proxy. */
  readonly baseUrl?: string
  /** Changes the request before the service gets it. The default overwrites the address of the sender. */
  readonly request?: (headers: Headers, from: IncomingMessage) => void
  /** Answers in place of the service. */
  readonly answer?: (path: string, from: IncomingMessage) => Response | null
  /** Changes the answer of the service. */
  readonly response?: (headers: Headers) => void
  readonly body?: (text: string, from: IncomingMessage) => string
  readonly notAfter?: number
}

describe('a deployment, seen from outside', () => {
  const authority = createAuthority()
  const before_ = getCACertificates('default')
  const start = sqliteService()
  const servers: Server[] = []

  before(() => setDefaultCACertificates([...before_, authority.cert]))
  after(() => setDefaultCACertificates(before_))
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  async function listen(server: Server): Promise<number> {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }

  /** Starts a service in production behind a proxy with TLS. */
  async function deploy(given: Deployment = {}): Promise<{ readonly url: string; readonly service: TestService }> {
    let service: TestService | null = null
    const { notAfter = Date.now() + 90 * dayMs } = given
    const certificate = authority.issue({ names: ['localhost'], notAfter })
    const port = await listen(createTlsServer(certificate, (from, to) => void pass(from, to)))
    const url = `https://localhost:${port}`
    const pass = async (from: IncomingMessage, to: Parameters<RequestListener>[1]): Promise<void> => {
      const path = from.url ?? '/'
      const own = given.answer?.(path, from) ?? (path === '/metrics' ? new Response('', { status: 403 }) : null)
      const answer = own ?? (await onward(from, path))
      const headers = new Headers(answer.headers)
      headers.delete('content-length')
      given.response?.(headers)
      const cookies = headers.getSetCookie()
      const lines = [...headers].filter(([name]) => name !== 'set-cookie')
      to.writeHead(answer.status, [...lines, ...cookies.map((line) => ['set-cookie', line] as const)].flat())
      const text = await answer.text()
      to.end(given.body?.(text, from) ?? text)
    }
    const onward = async (from: IncomingMessage, path: string): Promise<Response> => {
      const headers = new Headers(
        Object.entries(from.headers).map(([name, value]): [string, string] => [name, String(value)]),
      )
      headers.set('accept-encoding', 'identity')
      if (given.request === undefined) headers.set('x-forwarded-for', from.socket.remoteAddress ?? '')
      else given.request(headers, from)
      const chunks: Buffer[] = []
      for await (const chunk of from) chunks.push(chunk as Buffer)
      const { method = 'GET' } = from
      const body = chunks.length === 0 ? {} : { body: new Uint8Array(Buffer.concat(chunks)) }
      const request = new Request(`${url}${path}`, { method, headers, ...body, redirect: 'manual' })
      return service?.app.fetch(request, { remoteAddress: '127.0.0.1' }) ?? new Response('', { status: 502 })
    }
    service = await start({
      mode: 'production',
      signIn: [openid({ name: 'acme', issuer: 'https://id.example.com', clientId: 'notes', clientSecret: 'secret' })],
      baseUrl: given.baseUrl ?? url,
      trustedProxies: 1,
      rateLimits: {},
      allowPrivatePeers: false,
      ...given.options,
    })
    return { url, service }
  }

  const findings = (url: string): Promise<Finding[]> => deploymentFindings(new Probe(url), null)
  const wrong = (found: readonly Finding[]): string[] =>
    found.filter(({ level }) => level !== 'ok').map(({ check, level }) => `${level} ${check}`)

  it('has no problem when it is sound (R-DOC-01)', async () => {
    const { url } = await deploy()
    const found = await findings(url)
    assert.deepEqual(
      found.filter(({ level }) => level !== 'ok'),
      [],
    )
    assert.deepEqual(
      found.map(({ check }) => check),
      [
        'tls',
        'certificate',
        'hsts',
        'clock',
        'release',
        'metrics',
        'mode',
        'creation',
        'headers',
        'cors',
        'redirects',
        'network',
        'address',
        'forwarded',
        'limits',
      ],
    )
  })

  it('has no problem when its proxy answers 502 now and then, as while a process restarts', async () => {
    let sent = 0
    const { url } = await deploy({ answer: () => (++sent % 25 === 0 ? new Response('', { status: 502 }) : null) })
    assert.deepEqual(wrong(await findings(url)), [])
    assert.ok(sent > 50)
  })

  const mistakes: readonly [what: string, deployment: Deployment, expected: readonly string[]][] = [
    ['a certificate that ends soon', { notAfter: Date.now() + 3 * dayMs }, ['warning certificate']],
    [
      'a proxy without Strict-Transport-Security',
      { response: (h) => h.delete('strict-transport-security') },
      ['problem hsts'],
    ],
    [
      'a short Strict-Transport-Security',
      { response: (h) => h.set('strict-transport-security', 'max-age=60') },
      ['problem hsts'],
    ],
    [
      'a clock that is two minutes late',
      { response: (h) => h.set('date', new Date(Date.now() - 120_000).toUTCString()) },
      ['warning clock'],
    ],
    [
      'open metrics',
      { answer: (path) => (path === '/metrics' ? new Response('# TYPE up gauge\nup 1\n') : null) },
      ['problem metrics'],
    ],
    ['open creation', { options: { openCreation: true } }, ['warning creation']],
    [
      'a proxy that removes the policy of pages',
      { response: (h) => h.delete('content-security-policy') },
      ['problem headers'],
    ],
    [
      'a proxy that weakens the policy of pages',
      { response: (h) => h.set('content-security-policy', "script-src 'unsafe-inline'; frame-ancestors 'none'") },
      ['problem headers'],
    ],
    ['a proxy that caches pages', { response: (h) => h.set('cache-control', 'public, max-age=60') }, ['problem cache']],
    ['a cookie of the proxy', { response: (h) => h.append('set-cookie', 'lb=1; Path=/') }, ['problem cookies']],
    [
      'a proxy that trusts every site',
      {
        response: (h) => {
          h.set('access-control-allow-origin', 'https://stranger.example')
          h.set('access-control-allow-credentials', 'true')
        },
      },
      ['problem cors'],
    ],
    [
      'a redirect with a parameter',
      {
        answer: (path) => {
          const target = /^\/\?next=(.+)$/.exec(path)?.[1]
          return target === undefined
            ? null
            : new Response(null, { status: 302, headers: { location: decodeURIComponent(target) } })
        },
      },
      ['problem redirects'],
    ],
    ['another BASE_URL', { baseUrl: 'https://notes.example.com' }, ['problem address']],
    [
      'a proxy that rewrites links by a header',
      {
        body: (text, { headers }) =>
          headers['x-forwarded-host'] === undefined
            ? text
            : text.replaceAll(/https:\/\/localhost:\d+/g, `https://${String(headers['x-forwarded-host'])}`),
      },
      ['problem forwarded'],
    ],
    [
      'a proxy that keeps the address that the sender claims',
      { request: (h) => void (h.has('x-forwarded-for') || h.set('x-forwarded-for', '127.0.0.1')) },
      ['problem limits'],
    ],
    ['no rate limits', { options: { rateLimits: { '*': null } } }, ['warning limits']],
    ['private peers', { options: { allowPrivatePeers: true } }, ['problem network']],
    [
      'the mode of development, where people sign in without a password',
      {
        options: {
          mode: 'development',
          localSignIn: true,
          signIn: [],
          openCreation: false,
          rateLimits: { 'authorize/source': { count: 30, seconds: 60 } },
        },
      },
      ['problem mode'],
    ],
  ]
  for (const [what, deployment, expected] of mistakes) {
    it(`shows ${what}, with a reason and a remedy (R-DOC-01)`, async () => {
      const { url } = await deploy(deployment)
      const found = await findings(url)
      assert.deepEqual(wrong(found), expected)
      for (const { level, reason, fix } of found) {
        assert.match(reason, /\.$/)
        assert.equal(fix !== undefined, level !== 'ok')
      }
    })
  }

  it('tries webhooks and relationships for an owner', async () => {
    for (const [allowPrivatePeers, expected] of [
      [false, []],
      [true, ['problem network', 'problem webhooks', 'problem trust']],
    ] as const) {
      const { url, service } = await deploy({ options: { allowPrivatePeers } })
      const { parts } = await service.app.running()
      const { actor, passphrase } = await parts.actors.create({ creator: 'ada@example.com' })
      const authorization = `Basic ${Buffer.from(`ada@example.com:${passphrase}`).toString('base64')}`
      const found = await deploymentFindings(new Probe(url), { actorId: actor.id, authorization })
      assert.deepEqual(wrong(found), expected)
      const hooks = await service.request(`/${actor.id}/webhooks`, { headers: { authorization } })
      assert.deepEqual(((await hooks.json()) as { webhooks: unknown[] }).webhooks, [])
      const trusts = await service.request(`/${actor.id}/trust`, { headers: { authorization } })
      assert.deepEqual(trusts.status === 404 ? [] : await trusts.json(), [])
      const denied = await deploymentFindings(new Probe(url), { actorId: actor.id, authorization: 'Basic eDp5' })
      assert.ok(wrong(denied).includes('problem webhooks'))
    }
  })

  it('with plain HTTP is a problem', async () => {
    const service = await start({ listen: true })
    const found = await findings(service.url)
    assert.equal(found[0]?.check, 'tls')
    assert.equal(found[0]?.level, 'problem')
  })

  it('that is another service is a problem, and one that does not answer has no findings', async () => {
    const port = await listen(createServer((_request, response) => response.end('<h1>Welcome</h1>')))
    assert.ok(wrong(await findings(`http://127.0.0.1:${port}`)).includes('problem address'))
    await assert.rejects(findings('http://127.0.0.1:1'), { name: 'ConfigError', message: /^Cannot reach http:/ })
    const secure = await listen(createTlsServer(selfSigned({ names: ['localhost'] }), (_request, to) => to.end()))
    await assert.rejects(findings(`https://localhost:${secure}`), {
      name: 'ConfigError',
      message:
        /does not trust the authority of its TLS certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. .*NODE_EXTRA_CA_CERTS\.$/,
    })
  })

  for (const [check, message] of [
    [{ address: 'https://ada:x@notes.example.com' }, /expected the URL of a service/],
    [{ address: 'https://notes.example.com?x=1' }, /expected the URL of a service/],
    [{ address: 'https://notes.example.com', actorId: 'ada' }, /DOCTOR_LOGIN/],
    [{ address: 'https://notes.example.com', actorId: 'a/b', login: 'ada:x' }, /--actor needs the id/],
  ] as const) {
    it(`refuses ${JSON.stringify(check)}`, async () => {
      const given = { actorId: undefined, login: undefined, keyRing: null, isJson: false, ...check }
      await assert.rejects(checkDeployment(given), { name: 'UsageError', message })
    })
  }
})

describe('troupe doctor', () => {
  it('with a URL prints a line for each finding, and ends with 1 when there is a problem (R-DOC-02)', async () => {
    const place = new Workplace()
    const server = createServer((_request, response) => response.end('<h1>Welcome</h1>'))
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { code, stdout, stderr } = await place.run(['doctor', url])
      assert.deepEqual([code, stderr], [1, ''])
      assert.match(stdout, /^problem {2}tls {10}The address is plain HTTP: .* Let a proxy terminate TLS, /)
      assert.match(stdout, /\n\d problems and \d warnings in \d+ checks\.\n$/)
      const json = await place.run(['doctor', url, '--json'])
      const { problems, findings } = JSON.parse(json.stdout) as { problems: number; findings: Finding[] }
      assert.equal(problems, findings.filter(({ level }) => level === 'problem').length)
    } finally {
      server.close()
      await place.remove()
    }
  })
})
