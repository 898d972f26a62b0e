// cspell:ignore Ihrer Daten fertig Diese Nachrichten abbestellen
/** Messages to owners about events of their actors: what each says, who receives it, and that others cannot flood an owner. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { emailLink } from '../../src/index.ts'
import type { PeerClient } from '../../src/peer/peer-client.ts'
import type { App } from '../../src/troupe.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { type MailServer, type ReceivedMail, startMailServer } from '../support/mail-server.ts'
import { movingWorld } from '../support/moving.ts'
import { seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import {
  basic,
  forEachService,
  sqliteService,
  type StartOptions,
  type TestActor,
  type TestService,
} from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0'
const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const hour = 3_600_000
const day = 24 * hour
const answered = { kind: 'answered', status: 204, headers: {}, body: '' } as const

forEachService((start) => {
  let server: MailServer
  before(async () => {
    server = await startMailServer()
  })
  after(() => server.close())

  const settings = (): StartOptions => ({
    signIn: [emailLink()],
    smtpUrl: server.url,
    mailFrom: 'notes@example.com',
  })

  function startWith(options: StartOptions = {}): Promise<TestService> {
    server.received.length = 0
    return start({ ...settings(), devtest: true, ...options })
  }

  async function received(...services: readonly TestService[]): Promise<readonly ReceivedMail[]> {
    for (const service of services) await service.settled()
    return server.received
  }

  const textOf = (mail: ReceivedMail | undefined): string => mail?.parsed.text?.replaceAll('\u00a0', ' ') ?? ''

  /** Stores the callers of an action that waits for the owner. */
  const asking = (app: App): void => {
    app.action('clear', { description: 'Removes every note', confirm: 'owner' }, () => ({}))
    app.action('clear all', { description: 'Removes every note', confirm: 'owner' }, () => ({}))
  }

  describe('the owner of a verified address', () => {
    it('receives that a call waits, with the link to it, once for each caller', async () => {
      const service = await startWith({ declare: asking })
      const actor = await ownedBy(service)
      const friend = await relateTo(service, actor, { baseuri: 'https://bob.example.com/them' })
      const asked = await friend.request('POST', '/actions/clear', { a: 1 })
      const { approval_url: url } = (await asked.json()) as { approval_url: string }
      await friend.request('POST', '/actions/clear', { a: 2 })
      await friend.request('POST', '/actions/clear%20all', {})
      const [mail, ...more] = await received(service)
      assert.deepEqual([mail?.to, more.length], [['ada@example.com'], 0])
      assert.equal(mail?.parsed.subject, 'test: a call waits for your approval')
      const text = textOf(mail)
      assert.match(text, /^Account \w{6} \(bob\.example\.com\) wants to run “clear” and needs your approval\./)
      assert.ok(text.includes(`\n\n${url}\n\n`))
      assert.ok(String(mail?.parsed.html).includes(`<a href="${url}">Review the call</a>`))
      assert.match(mail?.raw ?? '', /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m)
      assert.match(text, /Stop these messages: http:\/\/troupe\.test\/\w+\/mail\/unsubscribe\?kind=approval&proof=/)
    })

    it('receives that an invitation was accepted', async () => {
      const service = await startWith({ listen: true })
      const [ada, grace] = [await ownedBy(service), await ownedBy(service, 'grace@example.com')]
      const { url } = await created(
        await ada.request('POST', '/invitations', { relationship: 'friend', nickname: 'Gr' }),
      )
      assert.equal((await grace.request('POST', '/trust', { url })).status, 201)
      const [mail, ...more] = await received(service)
      assert.deepEqual([mail?.to, more.length], [['ada@example.com'], 0])
      assert.match(textOf(mail), /^Gr \(127\.0\.0\.1:\d+\) accepted your invitation and is now connected\./)
      assert.ok(textOf(mail).includes(`${service.url}/${ada.id}/www/trust/${grace.id}`))
    })

    it('receives each sign-in on a device that was not used before, which cannot be turned off', async () => {
      const service = await startWith()
      const actor = await ownedBy(service)
      await signIn(service, actor, firefox)
      assert.equal((await received(service)).length, 0)
      await signIn(service, actor, chrome)
      await signIn(service, actor, chrome)
      await signIn(service, actor, firefox)
      const [mail, ...more] = await received(service)
      assert.deepEqual([mail?.parsed.subject, more.length], ['New sign-in to test', 0])
      assert.match(textOf(mail), /^Someone signed in on a device that was not used before: Chrome on Windows\./)
      assert.ok(textOf(mail).includes(`http://troupe.test/${actor.id}/www/apps#sessions`))
      assert.doesNotMatch(mail?.raw ?? '', /unsubscribe/i)
    })

    it('receives once that a peer fails for a day, and again when it fails later for another day', async () => {
      const clock = new ManualClock()
      let isThere = false
      const peerClient: PeerClient = {
        call: () =>
          Promise.resolve(isThere ? answered : ({ kind: 'unreached', reason: 'Connection refused' } as const)),
        close: () => Promise.resolve(),
      }
      const service = await startWith({ now: clock.now, timers: clock.timers, random: () => 0.5, peerClient })
      const actor = await ownedBy(service)
      const peer = await relateTo(service, actor, { baseuri: 'https://bob.example.com/them' })
      await peer.subscribe({ granularity: 'high' })
      await peer.subscribe({ granularity: 'high', subtarget: 'mood' })
      const count = async (): Promise<number> => (await received(service)).length
      const pass = async (ms: number): Promise<void> => {
        const until = clock.now() + ms
        await passUntil(clock, [service], () => clock.now() >= until, hour)
      }
      await actor.request('PUT', '/properties/mood', '"one"')
      await pass(23 * hour)
      assert.equal(await count(), 0)
      await pass(3 * day)
      assert.equal(await count(), 1)
      assert.match(
        textOf(server.received[0]),
        /^Updates to Account \w{6} \(bob\.example\.com\) have failed for a day\./,
      )
      isThere = true
      await pass(2 * day)
      isThere = false
      await actor.request('PUT', '/properties/mood', '"two"')
      await pass(2 * day)
      assert.equal(await count(), 2)
    })

    it('receives the start and the end of a move, from the service that the actor leaves', async () => {
      server.received.length = 0
      const world = await movingWorld(start, { old: settings() })
      const ada = await ownedBy(world.old)
      await world.move(ada)
      await world.landed(ada)
      const [begun, ended, ...more] = await received(world.old)
      assert.deepEqual([begun?.to, ended?.to, more.length], [['ada@example.com'], ['ada@example.com'], 0])
      assert.match(textOf(begun), /^Everything moves to new\.example\.com\./)
      assert.match(textOf(ended), /^Everything is at new\.example\.com now\./)
      for (const mail of [begun, ended]) {
        assert.ok(textOf(mail).includes(`https://old.example.com/${ada.id}/www/move`))
        assert.doesNotMatch(mail?.raw ?? '', /unsubscribe|claim/i)
      }
    })

    it('receives that an export is ready, when it is complete', async () => {
      const service = await startWith()
      const actor = await ownedBy(service)
      await (await actor.request('GET', '/export')).text()
      const [mail, ...more] = await received(service)
      assert.deepEqual([mail?.parsed.subject, more.length], ['test: the export of your data is ready', 0])
      assert.ok(textOf(mail).includes(`http://troupe.test/${actor.id}/www/activity`))
    })

    it('receives once that storage is almost full, and again after it was below 80 %', async () => {
      const clock = new ManualClock()
      const service = await startWith({ now: clock.now, timers: clock.timers, maxActorBytes: 10_000 })
      const actor = await ownedBy(service)
      const put = async (length: number): Promise<void> => {
        assert.equal((await actor.request('PUT', '/properties/note', JSON.stringify('x'.repeat(length)))).status, 204)
        clock.pass(70_000)
      }
      const count = async (): Promise<number> => (await received(service)).length
      await put(8000)
      assert.equal(await count(), 0)
      await put(9300)
      assert.equal(await count(), 1)
      assert.match(textOf(server.received[0]), /\n\nData: 9\.1 kB of 9\.8 kB\n\n/)
      await put(8500)
      clock.pass(hour)
      await service.settled()
      await put(9300)
      assert.equal(await count(), 1)
      await put(1000)
      clock.pass(hour)
      await service.settled()
      await put(9300)
      assert.equal(await count(), 2)
    })

    it('receives no kind that the owner turned off, on the page or by the link of a message', async () => {
      const service = await startWith({ declare: asking })
      const actor = await ownedBy(service)
      const browser = await OwnersBrowser.open(service, actor)
      const page = await (await browser.get('/mail')).text()
      const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
      assert.equal((await browser.send('/mail', { csrf_token, approval: '1' })).status, 302)
      await (await actor.request('GET', '/export')).text()
      const friend = await relateTo(service, actor)
      await friend.request('POST', '/actions/clear', {})
      const [mail, ...more] = await received(service)
      assert.equal(more.length, 0)
      const [, stop = ''] = /^List-Unsubscribe:\s*<http:\/\/troupe\.test([^>]+)>/m.exec(mail?.raw ?? '') ?? []
      assert.equal((await service.request(stop, { method: 'POST' })).status, 200)
      const other = await relateTo(service, actor)
      await other.request('POST', '/actions/clear', {})
      assert.equal((await received(service)).length, 1)
    })

    it('receives messages in the language of the last sign-in, or of the settings', async () => {
      const service = await startWith()
      const actor = await ownedBy(service)
      const asGerman = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' }
      const token = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...asGerman },
        body: JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }),
      })
      assert.equal(token.status, 200)
      await (await actor.request('GET', '/export')).text()
      const [german] = await received(service)
      assert.equal(german?.parsed.subject, 'test: Der Export Ihrer Daten ist fertig')
      assert.match(german?.raw ?? '', /<html lang=3D"de" dir=3D"ltr">/)
      const handle = (await service.app.actors.get(actor.id)) ?? assert.fail()
      await handle.mail({ subject: 'Hello', text: 'Hello' })
      assert.match(textOf((await received(service))[1]), /Diese Nachrichten abbestellen: /)
      const browser = await OwnersBrowser.open(service, actor)
      const page = await (await browser.get('/settings')).text()
      const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page)?.[1] ?? ''
      const form = { csrf_token, action: 'appearance', language: 'de', theme: '', time_zone: 'UTC' }
      assert.equal((await browser.send('/settings', form)).status, 302)
      await (await actor.request('GET', '/export')).text()
      assert.equal((await received(service)).at(-1)?.parsed.subject, 'test: Der Export Ihrer Daten ist fertig')
    })
  })

  it('messages about security arrive when others have used up what the service sends (RATE-09)', async () => {
    const service = await startWith({ rateLimits: { '*': null, 'mail/total': { count: 1, seconds: 3600 } } })
    const other = (await service.app.actors.create({ creator: 'eve@example.com', verified: true })).actor
    assert.equal(await other.mail({ subject: 'Hello', text: 'Hello' }), 'queued')
    await assert.rejects(other.mail({ subject: 'Hello', text: 'Hello' }), { code: 'too_many_requests' })
    const actor = await ownedBy(service)
    for (const agent of [firefox, chrome, 'something']) await signIn(service, actor, agent)
    assert.deepEqual(
      (await received(service)).map(({ to, parsed }) => [to.join(), parsed.subject]),
      [
        ['eve@example.com', 'Hello'],
        ['ada@example.com', 'New sign-in to test'],
        ['ada@example.com', 'New sign-in to test'],
      ],
    )
  })

  it('an owner without a verified address receives none of them', async () => {
    const service = await startWith({ declare: asking })
    const actor = await service.createActor('ada@example.com')
    const friend = await relateTo(service, actor)
    await friend.request('POST', '/actions/clear', {})
    await (await actor.request('GET', '/export')).text()
    await signIn(service, actor, firefox)
    await signIn(service, actor, chrome)
    assert.equal((await received(service)).length, 0)
  })

  it('links have the path prefix of the service', async () => {
    const service = await startWith({ baseUrl: 'http://troupe.test/notes' })
    const actor = await ownedBy(service)
    const { id } = actor
    await (await actor.request('GET', '/export')).text()
    const [mail] = await received(service)
    assert.ok(textOf(mail).includes(`http://troupe.test/notes/${id}/www/activity`))
    assert.ok(textOf(mail).includes(`http://troupe.test/notes/${id}/mail/unsubscribe?kind=export`))
  })
})

describe('a peer or app', () => {
  let server: MailServer
  before(async () => {
    server = await startMailServer()
  })
  after(() => server.close())
  const start = sqliteService()

  it('cannot flood an owner with messages, whatever it does (RATE-09)', async () => {
    const clock = new ManualClock()
    const service = await start({
      signIn: [emailLink()],
      smtpUrl: server.url,
      mailFrom: 'notes@example.com',
      mode: 'production',
      baseUrl: 'https://troupe.test',
      rateLimits: {},
      now: clock.now,
      timers: clock.timers,
      declare: (app) => {
        for (const name of ['a', 'b', 'c']) app.action(name, { confirm: 'owner' }, () => ({}))
      },
    })
    const actor = await ownedBy(service)
    const random = seeded(7)
    const peers = await Promise.all(Array.from({ length: 20 }, () => relateTo(service, actor)))
    for (let step = 0; step < 300; step += 1) {
      const peer = peers[random.below(peers.length)]
      await peer?.request('POST', `/actions/${random.pick(['a', 'b', 'c'])}`, { n: random.below(1000) })
      if (step % 50 === 49) clock.pass(10 * 60_000)
    }
    await service.settled()
    assert.ok(server.received.length >= 5 && server.received.length <= 20, `${server.received.length} in an hour`)
    // Other messages still arrive.
    for (const agent of [firefox, chrome]) {
      const request = new Request('https://troupe.test/', { headers: { 'user-agent': agent } })
      await service.app.sessions.begin(actor, { request })
    }
    await service.settled()
    assert.equal(server.received.at(-1)?.parsed.subject, 'New sign-in to test')
  })
})

async function created(answer: Response): Promise<{ readonly url: string }> {
  assert.equal(answer.status, 201, await answer.clone().text())
  return (await answer.json()) as { url: string }
}

/** An actor whose owner has a verified address. */
async function ownedBy(service: TestService, creator = 'ada@example.com'): Promise<TestActor> {
  const { actor, passphrase } = await service.app.actors.create({ creator, verified: true })
  const authorization = basic(creator, passphrase)
  return {
    id: actor.id,
    creator,
    passphrase,
    authorization,
    request: (method, path, body, headers = {}) =>
      service.request(`/${actor.id}${path}`, {
        method,
        headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
  }
}
