/** Commands never print a secret of what they read, and never send one before the server is proven. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { checkDeployment } from '../../src/cli/deployment/check-deployment.ts'
import { type Answer, differenceOf } from '../../src/cli/shadow/compare-answers.ts'
import { ShadowReport } from '../../src/cli/shadow/shadow-report.ts'
import { identityProof } from '../../src/secret/identity-proof.ts'
import { parseKeyRing } from '../../src/secret/key-ring.ts'
import { Workplace } from '../support/program.ts'
import { type Random, seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { sqliteService, testKeys, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'

const alphabets = [
  '0123456789abcdef',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
  '0123456789',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
] as const

function secretBy(random: Random): string {
  const alphabet = random.pick(alphabets)
  const length = 20 + random.below(44)
  // Every secret of the project has a digit among its first characters, as random ones of this length have.
  return `${random.below(10)}${random.below(10)}${Array.from({ length }, () => alphabet[random.below(alphabet.length)]).join('')}`
}

/** A JSON value that has the secret in a value, in a name, or deeper. */
function valueWith(random: Random, secret: string, depth = 0): unknown {
  switch (random.below(depth > 3 ? 3 : 6)) {
    case 0:
      return secret
    case 1:
      return { [secret]: random.below(9) }
    case 2:
      return `text around ${secret} of a person`
    case 3:
      return [random.below(9), valueWith(random, secret, depth + 1)]
    case 4:
      return { secret: valueWith(random, secret, depth + 1), more: null }
    default:
      return { a: 1, sessions: { list: [valueWith(random, secret, depth + 1)] } }
  }
}

function answerWith(random: Random, secret: string): Answer {
  const isText = random.below(4) === 0
  return {
    status: random.pick([200, 200, 200, 302]),
    type: random.pick(['application/json', 'text/plain', '']),
    location: random.pick([
      '',
      `https://old.example.com/ada/www?code=${secret}&state=x`,
      `https://old.example.com/invitations/ada/${secret}`,
      `/ada/${secret}#${secret}`,
    ]),
    body: isText ? `text ${secret}` : JSON.stringify(valueWith(random, secret)),
  }
}

describe('the report of troupe shadow', () => {
  it('shows no value, parameter or identifier of two answers or of a path (SEC-11)', () => {
    const random = seeded(34)
    const compared = { origins: ['https://old.example.com', 'http://localhost:3000'], ignored: new Set<string>() }
    let differences = 0
    for (let round = 0; round < 3000; round++) {
      const secrets = [secretBy(random), secretBy(random), secretBy(random)]
      const [one = '', other = '', third = ''] = secrets
      const difference = differenceOf(answerWith(random, one), answerWith(random, other), compared)
      if (difference !== null) differences += 1
      const report = new ShadowReport()
      const path = random.pick([
        `/ada/properties?access_token=${third}`,
        `/ada/invitations/${third}`,
        `/email-link/${third}?state=${one}`,
        `//${third}/${other}`,
        `/ada/www/trust/peer?${third}=1`,
      ])
      report.add('/{actor}', path, difference ?? 'status 200 became 404')
      const shown = JSON.stringify(report.routes)
      for (const secret of secrets) assert.ok(!shown.includes(secret), `${secret} in ${shown}`)
    }
    assert.ok(differences > 2500)
  })

  it('names the place and the kind of a difference, and keeps words (SEC-11)', () => {
    const answer = (body: unknown, location = ''): Answer => ({
      status: 200,
      type: 'application/json',
      location,
      body: JSON.stringify(body),
    })
    const compared = { origins: ['https://old.example.com'], ignored: new Set<string>() }
    const difference = (old: unknown, now: unknown): string | null => differenceOf(answer(old), answer(now), compared)
    assert.equal(
      difference({ name: { first: 'Ada' } }, { name: { first: 'Bob' } }),
      'name.first was a string of 3 characters and is another one',
    )
    assert.equal(difference({ a: [1, { b: true }] }, { a: [1, { b: null }] }), 'a[1].b was true and is null')
    assert.equal(difference({ a: 1 }, { a: '1' }), 'a was a number and is a string of 1 character')
    assert.equal(difference({ a: {} }, { a: [] }), 'a was an object of 0 and is a list of 0')
    assert.equal(
      differenceOf(answer({}, 'https://old.example.com/ada/www?code=1&state=2'), answer({}, '/login'), compared),
      'location {service}/ada/www?code=…&state=… became /login',
    )
  })
})

describe('a command with secrets', () => {
  const start = sqliteService()
  let place: Workplace
  const closing: (() => void)[] = []
  beforeEach(() => {
    place = new Workplace()
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) close()
    await place.remove()
  })

  /** Starts a server, and records the headers of its requests. */
  async function listen(
    answer: RequestListener,
    host = '127.0.0.1',
  ): Promise<{ port: number; heard: IncomingMessage[] }> {
    const heard: IncomingMessage[] = []
    const server = createServer((request, response) => {
      heard.push(request)
      answer(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return { port: (server.address() as AddressInfo).port, heard }
  }

  const sentLogins = (heard: readonly IncomingMessage[]): number =>
    heard.filter(({ headers }) => headers.authorization !== undefined || headers.cookie !== undefined).length

  const check = async (address: string, keys: string | null = testKeys): Promise<void> => {
    const keyRing = keys === null ? null : parseKeyRing(keys)
    await checkDeployment({ address, actorId: 'ada', login: 'ada@example.com:hunter2', keyRing, isJson: true })
  }

  const proofOf = (challenge: string, baseUrl: string): string =>
    JSON.stringify({ status: 'live', proof: identityProof(parseKeyRing(testKeys), { challenge, baseUrl }) })

  for (const [what, address, keys, answer] of [
    ['a foreign server', '127.0.0.1', testKeys, () => '<h1>Welcome</h1>'],
    ['a server that proves nothing', '127.0.0.1', testKeys, () => '{"status":"live"}'],
    ['a service with other keys', '127.0.0.1', testKeys.replace('mJ4b', 'aaaa'), proofOf],
    [
      'a server that passes on the proof of the service',
      '127.0.0.1',
      testKeys,
      (challenge) => proofOf(challenge, 'https://notes.example.com'),
    ],
    ['a proven service, when this command has no keys', '127.0.0.1', null, proofOf],
    ['a server across plain HTTP, whatever it proves', '0.0.0.0', testKeys, proofOf],
  ] as const satisfies readonly (readonly [
    string,
    string,
    string | null,
    (challenge: string, url: string) => string,
  ])[]) {
    it(`does not send the sign-in of an owner to ${what} (SEC-11)`, async () => {
      let url = ''
      const { port, heard } = await listen((request, response) => {
        const challenge = new URL(request.url ?? '', 'http://x').searchParams.get('challenge') ?? ''
        response.end(answer(challenge, url))
      }, '0.0.0.0')
      url = `http://${address}:${port}`
      await check(url, keys)
      assert.ok(heard.length > 20)
      assert.equal(sentLogins(heard), 0)
    })
  }

  it('sends the sign-in of an owner to a service that proves its keys and its address (SEC-11)', async () => {
    let url = ''
    const { port, heard } = await listen((request, response) => {
      const challenge = new URL(request.url ?? '', 'http://x').searchParams.get('challenge') ?? ''
      response.writeHead(request.method === 'POST' ? 400 : 200).end(proofOf(challenge, url))
    })
    url = `http://127.0.0.1:${port}`
    await check(url)
    assert.ok(sentLogins(heard) >= 10)
  })

  it('refuses to repeat requests with credentials across plain HTTP, and to fetch tokens there (SEC-11)', async () => {
    const { port, heard } = await listen((_request, response) => response.end('{}'), '0.0.0.0')
    const far = `http://0.0.0.0:${port}`
    const near = `http://127.0.0.1:${port}`
    const file = place.write('requests.jsonl', '{"path":"/ada","headers":{"authorization":"Bearer x"}}\n')
    for (const args of [
      ['shadow', '--against', far, '--to', near, '--requests', file],
      ['shadow', '--against', near, '--to', far, '--requests', file],
      ['connect', far],
    ]) {
      const { code, stderr } = await place.run(args)
      assert.equal(code, 1)
      assert.match(stderr, /is plain HTTP/)
    }
    assert.equal(heard.length, 0)
  })

  /** A database with every kind of secret. */
  async function secretsOf(service: TestService): Promise<string[]> {
    const actor = await service.createActor('ada@example.com')
    const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
    const session = await signIn(service, actor)
    const made = async (path: string, body: object): Promise<string> => {
      const answer = await actor.request('POST', path, body)
      assert.equal(answer.status, 201, await answer.clone().text())
      return answer.text()
    }
    const hook = JSON.parse(await made('/webhooks', { url: 'https://r.example.com/h', events: ['list_changed'] })) as {
      secret: string
    }
    const key = JSON.parse(
      await made('/keys', { name: 'A key', grants: { properties: { patterns: ['*'], operations: ['read'] } } }),
    ) as { key: string }
    await actor.request('PUT', '/properties/note', 'a value of a person: hunter3')
    return [actor.passphrase, peer.secret, session, hook.secret, key.key, 'hunter3', testKeys.slice(3)]
  }

  it('prints no secret and no value that the database has (SEC-11)', async () => {
    const service = await start()
    const secrets = await secretsOf(service)
    const id =
      (
        await (
          await service.app.running()
        ).store.read((q) => q.get<{ id: string }>("SELECT id FROM actor WHERE creator = 'ada@example.com'"))
      )?.id ?? ''
    await service.close()
    const env = { DATABASE_URL: service.databaseUrl, TROUPE_MODE: 'development', TROUPE_SECRET_KEYS: testKeys }
    for (const args of [
      ['actors', 'ls', '--json'],
      ['actors', 'show', id],
      ['actors', 'show', id, '--json'],
      ['actors', 'export', id, '--output', 'x.jsonl'],
      ['doctor'],
      ['doctor', 'deep'],
      ['redrive'],
    ]) {
      const { stdout, stderr } = await place.run(args, { env })
      for (const secret of secrets) assert.ok(!`${stdout}${stderr}`.includes(secret), `${args.join(' ')}: ${secret}`)
    }
  })

  it('prints no password of a database that it cannot reach (SEC-11)', async () => {
    const url = 'postgres://troupe:hunter2@127.0.0.1:1/notes'
    const env = { DATABASE_URL: url, TROUPE_SECRET_KEYS: testKeys }
    for (const args of [['doctor'], ['actors', 'ls'], ['redrive'], ['import-actingweb', '--database', url]]) {
      const { code, stdout, stderr } = await place.run(args, { env })
      assert.equal(code, 1, args.join(' '))
      assert.ok(!`${stdout}${stderr}`.includes('hunter2'), args.join(' '))
    }
  })
})
