/** Mail of the service, sent to a real SMTP server. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { builtInTables } from '../../src/features/features.ts'
import { emailLink } from '../../src/index.ts'
import { unopenedSecrets, unreadableSecrets } from '../../src/secret/key-check.ts'
import { generateKey, parseKeyRing } from '../../src/secret/key-ring.ts'
import { resealAll } from '../../src/secret/reseal.ts'
import { createAuthority } from '../support/certificates.ts'
import { type MailServer, onlyMail, startMailServer } from '../support/mail-server.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { requestCode } from '../support/email-code.ts'
import { actorIn } from '../support/sign-in.ts'
import { faulty } from '../support/stores.ts'

const mailFrom = 'Notes <notes@example.com>'

forEachService((start) => {
  const servers: MailServer[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  async function mailServer(...options: Parameters<typeof startMailServer>): Promise<MailServer> {
    const server = await startMailServer(...options)
    servers.push(server)
    return server
  }

  function startWith(server: MailServer, options: StartOptions = {}): Promise<TestService> {
    return start({ signIn: [emailLink()], smtpUrl: server.url, mailFrom, ...options })
  }

  describe('the mail of a sign-in', () => {
    it('has a link and a code, and signs the person in', async () => {
      const server = await mailServer()
      const service = await startWith(server)
      const { browser, send } = await requestCode(service)
      await service.settled()
      const { from, to, parsed } = onlyMail(server)
      assert.deepEqual([from, to], ['notes@example.com', ['ada@example.com']])
      assert.equal(parsed.from?.text, '"Notes" <notes@example.com>')
      assert.equal(parsed.subject, 'Sign in to test')
      const code = /code ([0-9a-z]{4}-[0-9a-z]{4}) /.exec(parsed.text ?? '')?.[1] ?? assert.fail(parsed.text)
      const link = /http:\/\/troupe\.test\/oauth\/email-link\?\S+/.exec(parsed.text ?? '')?.[0] ?? assert.fail()
      assert.equal((await browser.get(link)).status, 200)
      const entered = await send({ action: 'enter', code })
      assert.equal(entered.status, 302)
      const id = actorIn(await browser.get(entered.headers.get('location') ?? ''))
      assert.equal((await service.app.actors.findByCreator('ada@example.com', { proven: true }))?.id, id)
    })

    it('is in the language of the page', async () => {
      const server = await mailServer()
      const service = await startWith(server)
      await requestCode(service, 'ada@example.com', { 'accept-language': 'de' })
      await service.settled()
      const { parsed } = onlyMail(server)
      assert.equal(parsed.subject, 'Anmelden bei test')
      assert.match(String(parsed.html), /<html lang="de" dir="ltr">/)
    })

    it('loads nothing, and escapes the name of the service (SEC-13)', async () => {
      const server = await mailServer()
      const service = await startWith(server, { name: 'A & <b>B</b>' })
      await requestCode(service)
      await service.settled()
      const { parsed } = onlyMail(server)
      assert.equal(parsed.subject, 'Sign in to A & <b>B</b>')
      const page = String(parsed.html)
      assert.ok(page.includes('<h1 style="font-size: 1.25em">Sign in to A &amp; &lt;b&gt;B&lt;/b&gt;</h1>'))
      assert.equal(/<(?:img|link|script|iframe|object|style)|url\(|src=/i.test(page), false)
      assert.equal(parsed.attachments.length, 0)
    })

    it('is not sent by the service when a handler of sign_in_link_requested does it', async () => {
      const server = await mailServer()
      const handled: string[] = []
      const service = await startWith(server, {
        declare: (app) => void app.on('sign_in_link_requested', ({ email }) => void handled.push(email)),
      })
      await requestCode(service)
      await service.settled()
      assert.deepEqual([handled, server.received.length, server.connections()], [['ada@example.com'], 0, 0])
    })

    it('needs no server when the application has a handler of mail', async () => {
      const sent: { to: string; kind: string; subject: string }[] = []
      const service = await start({
        signIn: [emailLink()],
        baseUrl: 'https://notes.example.com',
        mode: 'production',
        declare: (app) => void app.on('mail', ({ to, kind, subject }) => void sent.push({ to, kind, subject })),
      })
      await requestCode(service)
      await service.settled()
      assert.deepEqual(sent, [{ to: 'ada@example.com', kind: 'sign_in_link', subject: 'Sign in to test' }])
    })
  })

  describe('a message that waits', () => {
    it('is sent later when the server cannot be reached, and the request does not wait for the server', async () => {
      const server = await mailServer()
      await server.close()
      const clock = new ManualClock()
      const service = await startWith(server, { now: clock.now, timers: clock.timers })
      await requestCode(service)
      await service.settled()
      const again = await startAt(server.port)
      await passUntil(clock, [service], () => again.received.length > 0, 1000)
      assert.deepEqual(
        again.received.map(({ to }) => to),
        [['ada@example.com']],
      )
    })

    for (const [what, refusal] of [
      ['the recipient', 'recipient'],
      ['the sender', 'sender'],
      ['the content', 'content'],
    ] as const) {
      it(`is sent again when the server cannot take ${what} now`, async () => {
        const server = await mailServer()
        server.refusals[refusal].push({ code: 451, text: 'Try again later' })
        const clock = new ManualClock()
        const service = await startWith(server, { now: clock.now, timers: clock.timers })
        await requestCode(service)
        await service.settled()
        assert.equal(server.received.length, 0)
        await passUntil(clock, [service], () => server.received.length > 0, 1000)
        assert.equal(server.connections(), 2)
      })

      it(`ends when the server refuses ${what}`, async () => {
        const server = await mailServer()
        server.refusals[refusal].push({ code: 550, text: '5.1.1 <ada@example.com>: unknown' })
        const clock = new ManualClock()
        const service = await startWith(server, { now: clock.now, timers: clock.timers })
        await requestCode(service)
        await service.settled()
        await passFor(clock, service, 600_000)
        assert.deepEqual([server.received.length, server.connections()], [0, 1])
        const ends = service.log.filter((line) => line.includes('"outcome":"refused"'))
        assert.equal(ends.length, 1)
        assert.match(ends[0] ?? '', /"reason":"The server replied 550 5\.1\.1 to (?:RCPT TO|MAIL FROM|DATA)"/)
        assert.equal(service.log.join().includes('ada@example.com'), false)
        const { store } = await service.app.running()
        const [row] = await store.readAllServers<{ reason: string }>('SELECT reason FROM mail')
        assert.match(row?.reason ?? '', /^The server replied 550 5\.1\.1 to /)
      })
    }

    it('ends when it is larger than the server takes', async () => {
      const server = await mailServer({ size: 500 })
      const clock = new ManualClock()
      const service = await startWith(server, { now: clock.now, timers: clock.timers })
      await requestCode(service)
      await service.settled()
      await passFor(clock, service, 600_000)
      assert.deepEqual([server.received.length, server.connections()], [0, 1])
      assert.equal(service.log.filter((line) => line.includes('"outcome":"refused"')).length, 1)
    })

    it('ends when the handler of the application hangs, and others are sent', async () => {
      const calls: string[] = []
      const clock = new ManualClock()
      const service = await start({
        signIn: [emailLink()],
        now: clock.now,
        timers: clock.timers,
        declare: (app) =>
          void app.on('mail', ({ to }) => {
            calls.push(to)
            return to === 'ada@example.com' ? new Promise<never>(() => undefined) : undefined
          }),
      })
      for (let index = 0; index < 5; index += 1) await requestCode(service)
      await passUntil(clock, [], () => calls.length === 5, 10)
      await requestCode(service, 'grace@example.com')
      clock.pass(300_000)
      await passUntil(clock, [service], () => calls.includes('grace@example.com'), 10)
      await passFor(clock, service, 600_000)
      assert.deepEqual(calls, [...Array.from({ length: 5 }, () => 'ada@example.com'), 'grace@example.com'])
      assert.equal(service.log.filter((line) => line.includes('"outcome":"unknown"')).length, 5)
    })

    it('is tried again with longer waits after an unexpected error', async () => {
      const server = await mailServer()
      const clock = new ManualClock()
      const failures: number[] = []
      const service = await startWith(server, {
        now: clock.now,
        timers: clock.timers,
        wrapStore: (store) =>
          faulty(store, {
            matching: /^\/\* mail \*\/ SELECT kind, state/,
            times: 3,
            error: () => {
              failures.push(clock.now())
              return new Error('The disk cannot be read')
            },
          }),
      })
      await requestCode(service)
      await passUntil(clock, [service], () => server.received.length > 0, 1000)
      const [first = 0, second = 0, third = 0] = failures
      assert.ok(second - first >= 2500, `${second - first}`)
      assert.ok(third - second >= 7500, `${third - second}`)
    })

    it('is never sent again when the server hangs up after the content', async () => {
      const server = await mailServer()
      server.refusals.content.push('hang up')
      const clock = new ManualClock()
      const service = await startWith(server, { now: clock.now, timers: clock.timers })
      await requestCode(service)
      await service.settled()
      await passFor(clock, service, 600_000)
      assert.deepEqual([server.received.length, server.connections()], [0, 1])
      assert.equal(service.log.filter((line) => line.includes('"outcome":"unknown"')).length, 1)
    })

    it('is not sent when its link has expired', async () => {
      const server = await mailServer()
      server.refusals.recipient.push(...Array.from({ length: 99 }, () => ({ code: 451, text: 'Later' })))
      const clock = new ManualClock()
      const service = await startWith(server, { now: clock.now, timers: clock.timers })
      await requestCode(service)
      await service.settled()
      await passUntil(clock, [service], () => service.log.some((line) => line.includes('"outcome":"expired"')), 5000)
      assert.equal(server.received.length, 0)
    })

    it('is not delivered twice when the process dies between the content and the answer', async () => {
      const server = await mailServer()
      // The clock of the first process stands still, so that it renews no lease.
      const stopped = new ManualClock()
      const first = await startWith(server, { now: stopped.now, timers: stopped.timers })
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      // The first process never learns that its message was accepted.
      server.onContent = () => {
        arrive()
        return new Promise(() => undefined)
      }
      await requestCode(first)
      await arrived
      const clock = new ManualClock()
      const second = await startWith(server, { database: first.databaseUrl, now: clock.now, timers: clock.timers })
      server.onContent = () => Promise.resolve()
      await passFor(clock, second, 600_000)
      assert.deepEqual([server.received.length, server.connections()], [0, 1])
      assert.equal(second.log.filter((line) => line.includes('"outcome":"unknown"')).length, 1)
      await server.close()
    })

    it('has no readable content in the store, and none at all after it was sent (SEC-13)', async () => {
      const server = await mailServer()
      const service = await startWith(server)
      const { store } = await service.app.running()
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
      server.onContent = () => {
        arrive()
        return mayAnswer
      }
      const contents = (): Promise<{ content: string; state: string }[]> =>
        store.readAllServers('SELECT content, state FROM mail')
      await requestCode(service)
      await arrived
      const [waiting = assert.fail()] = await contents()
      assert.equal(waiting.state, 'waiting')
      assert.equal(/ada|example|Sign in/.test(waiting.content), false)
      answer()
      await service.settled()
      assert.deepEqual(await contents(), [{ content: '', state: 'sent' }])
    })

    it('is erased after it was sent: the keys can be changed, and the check of secrets finds none unreadable', async () => {
      const server = await mailServer()
      const service = await startWith(server)
      const { store, keyRing } = await service.app.running()
      await requestCode(service)
      await service.settled()
      assert.equal(server.received.length, 1)
      const entry = generateKey()
      const { keys, currentId } = parseKeyRing(entry)
      const { resealed } = await resealAll(
        store,
        { keys: new Map([...keyRing.keys, ...keys]), currentId },
        builtInTables,
      )
      assert.ok(resealed > 0)
      for (const ring of [parseKeyRing(entry), keyRing])
        assert.deepEqual(
          (await Array.fromAsync(unopenedSecrets(store, ring, builtInTables))).filter(({ keyId }) => keyId === null),
          [],
        )
      assert.deepEqual(await Array.fromAsync(unreadableSecrets(store, parseKeyRing(entry), builtInTables)), [])
    })
  })

  describe('the connection to the server', () => {
    it('is not used when the server has no encryption, except at a loopback address (SEC-13)', async () => {
      const server = await mailServer({}, { host: '127.0.0.2' })
      const clock = new ManualClock()
      const service = await startWith(server, { now: clock.now, timers: clock.timers })
      await requestCode(service)
      await service.settled()
      assert.deepEqual([server.received.length, server.connections()], [0, 1])
      assert.ok(service.log.some((line) => line.includes('Cannot send a message')))
    })

    it('needs no encryption with tls=off, and then no password', async () => {
      const server = await mailServer({}, { host: '127.0.0.2' })
      const service = await startWith(server, { smtpUrl: `${server.url}?tls=off` })
      await requestCode(service)
      await service.settled()
      assert.equal(onlyMail(server).isSecure, false)
    })

    for (const [scheme, options] of [
      ['smtps', { secure: true }],
      ['smtp', {}],
    ] as const) {
      it(`is encrypted with ${scheme} and a trusted certificate`, async () => {
        const authority = createAuthority()
        const trusted = getCACertificates('default')
        setDefaultCACertificates([...trusted, authority.cert])
        try {
          const server = await mailServer(
            { ...options, disabledCommands: [], ...authority.issue({ names: ['127.0.0.2'] }) },
            { host: '127.0.0.2' },
          )
          const service = await startWith(server, { smtpUrl: `${scheme}://127.0.0.2:${server.port}` })
          await requestCode(service)
          await service.settled()
          assert.equal(onlyMail(server).isSecure, true)
        } finally {
          setDefaultCACertificates(trusted)
        }
      })
    }

    it('is not used when the certificate is not trusted (SEC-13)', async () => {
      const server = await mailServer({ secure: true, ...createAuthority().issue({ names: ['127.0.0.1'] }) })
      const clock = new ManualClock()
      const service = await startWith(server, {
        smtpUrl: `smtps://user:secret@127.0.0.1:${server.port}`,
        now: clock.now,
        timers: clock.timers,
      })
      await requestCode(service)
      await service.settled()
      assert.equal(server.received.length, 0)
      assert.equal(
        service.log.some((line) => line.includes('secret@')),
        false,
      )
      assert.ok(service.log.some((line) => line.includes('Cannot send a message')))
    })

    it('signs in with the user and the password', async () => {
      const logins: (string | null | undefined)[][] = []
      const server = await mailServer({
        authOptional: false,
        onAuth: ({ username, password }, _session, done) => {
          logins.push([username, password])
          done(null, { user: username ?? '' })
        },
        allowInsecureAuth: true,
      })
      const service = await startWith(server, { smtpUrl: `smtp://ada%40example.com:p%40ss@127.0.0.1:${server.port}` })
      await requestCode(service)
      await service.settled()
      assert.equal(onlyMail(server).user, 'ada@example.com')
      assert.deepEqual(logins, [['ada@example.com', 'p@ss']])
    })
  })

  describe('a service without a way to send mail', () => {
    it('does not start in production with sign-in by email', async () => {
      await assert.rejects(
        start({ baseUrl: 'https://notes.example.com', mode: 'production', signIn: [emailLink()] }),
        /Sign-in by email needs a way to send mail: set TROUPE_SMTP_URL/,
      )
    })

    it('does not start with a server and without a sender', async () => {
      await assert.rejects(start({ smtpUrl: 'smtps://mail.example.com' }), /TROUPE_MAIL_FROM is required/)
    })
  })

  async function startAt(port: number): Promise<MailServer> {
    const server = await startMailServer({}, { at: port })
    servers.push(server)
    return server
  }
})

/** Lets a time pass for a service in steps, with its background work. */
async function passFor(clock: ManualClock, service: TestService, ms: number): Promise<void> {
  const end = clock.now() + ms
  await passUntil(clock, [service], () => clock.now() >= end, 10_000)
}
