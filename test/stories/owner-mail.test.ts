/** Messages of an application to the owner of an actor, and the kinds that the owner turns off. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { emailLink } from '../../src/index.ts'
import { archiveOf, restore } from '../support/archives.ts'
import { unsubscribeUrl } from '../../src/features/mail/unsubscribe.ts'
import { requestCode } from '../support/email-code.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { type MailServer, type ReceivedMail, startMailServer } from '../support/mail-server.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, type TestBrowser } from '../support/sign-in.ts'

const message = { subject: 'Your loan ends', text: 'Please bring the drill back.' }
const oneClick = { 'List-Unsubscribe': 'One-Click' }

forEachService((start) => {
  let server: MailServer
  before(async () => {
    server = await startMailServer()
  })
  after(() => server.close())

  function startWith(options: StartOptions = {}): Promise<TestService> {
    server.received.length = 0
    return start({ signIn: [emailLink()], smtpUrl: server.url, mailFrom: 'notes@example.com', ...options })
  }

  /** The actor of a verified address. */
  async function owned(service: TestService, creator = 'ada@example.com') {
    return (await service.app.actors.create({ creator, verified: true })).actor
  }

  async function received(service: TestService): Promise<readonly ReceivedMail[]> {
    await service.settled()
    return server.received
  }

  /** The address of the header `List-Unsubscribe`. */
  function unsubscribeIn(mail: ReceivedMail | undefined): string {
    const [, url = ''] = /^List-Unsubscribe:\s*<([^>]+)>/m.exec(mail?.raw ?? '') ?? []
    return url.replace('http://troupe.test', '')
  }

  const post = (service: TestService, path: string, form: Record<string, string> = oneClick): Promise<Response> =>
    service.request(path, { method: 'POST', body: new URLSearchParams(form) })

  describe('actor.mail', () => {
    it('reaches the verified address of the owner, with a link that stops it', async () => {
      const service = await startWith()
      const actor = await owned(service)
      assert.equal(await actor.mail({ ...message, html: '<p>Please bring the <b>drill</b> back.</p>' }), 'queued')
      const [mail = assert.fail(), ...more] = await received(service)
      assert.deepEqual([mail.to, more.length], [['ada@example.com'], 0])
      const { subject, text = '', html } = mail.parsed
      assert.equal(subject, 'Your loan ends')
      assert.ok(text.startsWith('Please bring the drill back.\n\n-- \ntest sent this message automatically.\n'))
      assert.ok(String(html).startsWith('<p>Please bring the <b>drill</b> back.</p>'))
      assert.match(mail.raw, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m)
      assert.ok(text.includes(unsubscribeIn(mail)))
    })

    it('sends a message with a key once, also after it was sent and from several calls', async () => {
      const service = await startWith()
      const [ada, grace] = [await owned(service), await owned(service, 'grace@example.com')]
      const results = await Promise.all(Array.from({ length: 4 }, () => ada.mail(message, { key: 'loan 1' })))
      assert.deepEqual(results.toSorted(), ['queued', 'repeated', 'repeated', 'repeated'])
      await service.settled()
      assert.equal(await ada.mail(message, { key: 'loan 1' }), 'repeated')
      assert.equal(await ada.mail(message, { key: 'loan 2' }), 'queued')
      assert.equal(await grace.mail(message, { key: 'loan 1' }), 'queued')
      const mails = await received(service)
      assert.deepEqual(mails.map(({ to }) => to.join()).toSorted(), [
        'ada@example.com',
        'ada@example.com',
        'grace@example.com',
      ])
      assert.equal(new Set(mails.map(({ parsed }) => parsed.messageId)).size, 3)
    })

    it('charges a repeated message against no limit', async () => {
      const service = await startWith({ rateLimits: {}, mode: 'production', baseUrl: 'https://troupe.test' })
      const actor = await owned(service)
      for (let index = 0; index < 12; index += 1)
        assert.equal(await actor.mail(message, { key: 'loan 1' }), index === 0 ? 'queued' : 'repeated')
      for (let index = 2; index <= 10; index += 1)
        assert.equal(await actor.mail(message, { key: `loan ${index}` }), 'queued')
      await assert.rejects(actor.mail(message, { key: 'loan 11' }), { code: 'too_many_requests' })
      assert.equal(await actor.mail(message, { key: 'loan 1' }), 'repeated')
      assert.equal((await received(service)).length, 10)
    })

    it('is not sent when the owner turns it off while it waits', async () => {
      server.refusals.recipient.push({ code: 451, text: 'Later' })
      const clock = new ManualClock()
      const service = await startWith({ now: clock.now, timers: clock.timers })
      const actor = await owned(service)
      const { keyRing } = await service.app.running()
      assert.equal(await actor.mail(message), 'queued')
      await service.settled()
      const link = unsubscribeUrl({ keyRing, baseUrl: '' }, actor.id, 'application')
      assert.equal((await post(service, link)).status, 200)
      await passUntil(clock, [service], () => service.log.some((line) => line.includes('"outcome":"refused"')), 1000)
      assert.equal((await received(service)).length, 0)
    })

    it('has an age in the metrics while it waits', async () => {
      server.refusals.recipient.push({ code: 451, text: 'Later' })
      const clock = new ManualClock()
      const service = await startWith({ now: clock.now, timers: clock.timers })
      const actor = await owned(service)
      const age = async (): Promise<string | undefined> => {
        const metrics = await (await service.request('/metrics')).text()
        return /^troupe_mail_oldest_seconds (\S+)$/m.exec(metrics)?.[1]
      }
      assert.equal(await age(), '0')
      await actor.mail(message)
      await service.settled()
      clock.pass(1000)
      await actor.mail(message)
      clock.pass(1000)
      assert.equal(await age(), '2')
      await passUntil(clock, [service], () => server.received.length === 2, 1000)
      await service.settled()
      assert.equal(await age(), '0')
    })

    it('needs an address that is verified', async () => {
      const service = await startWith()
      const { id } = await service.createActor('eve@example.com')
      const actor = (await service.app.actors.get(id)) ?? assert.fail()
      await assert.rejects(actor.mail(message), {
        code: 'no_address',
        message: 'Cannot send the message: the owner has no verified email address',
      })
      const named = (await service.app.actors.create({ creator: 'ada', verified: true })).actor
      await assert.rejects(named.mail(message), { code: 'no_address' })
      assert.equal((await received(service)).length, 0)
    })

    it('needs a mail server', async () => {
      const service = await start()
      await assert.rejects((await owned(service)).mail(message), {
        code: 'mail_unavailable',
        message: 'Cannot send the message: TROUPE_SMTP_URL is not set',
      })
    })

    it('refuses messages that would be another message (SEC-13)', async () => {
      const service = await startWith()
      const actor = await owned(service)
      for (const [wrong, key] of [
        [{ ...message, subject: 'Hello\r\nBcc: eve@example.com' }],
        [{ ...message, subject: 'Hello\nthere' }],
        [{ ...message, subject: 'Hello\0' }],
        [{ ...message, subject: 'Hello\u2028there' }],
        [{ ...message, subject: 'a\u202eb' }],
        [{ ...message, subject: ' ' }],
        [{ ...message, subject: 'x'.repeat(201) }],
        [{ ...message, text: '' }],
        [{ ...message, text: 'x'.repeat(100_001) }],
        [{ ...message, text: '\ud800' }],
        [{ ...message, html: '' }],
        [{ ...message, to: 'eve@example.com' }],
        [{ subject: 'Hello' }],
        [null],
        ['Hello'],
        [message, ''],
        [message, 'x'.repeat(256)],
      ] as const) {
        const options = key === undefined ? {} : { key }
        await assert.rejects(actor.mail(wrong as typeof message, options), { code: 'invalid_value' })
      }
      assert.equal((await received(service)).length, 0)
    })

    it('has limits that one cause cannot use up for others (RATE-09)', async () => {
      const service = await startWith({ rateLimits: {}, mode: 'production', baseUrl: 'https://troupe.test' })
      const actor = await owned(service)
      for (let index = 0; index < 10; index += 1) assert.equal(await actor.mail(message), 'queued')
      await assert.rejects(actor.mail(message), { code: 'too_many_requests' })
      const other = await owned(service, 'grace@example.com')
      assert.equal(await other.mail(message), 'queued')
      assert.equal((await received(service)).length, 11)
    })
  })

  describe('the link that stops messages', () => {
    it('needs no sign-in, and acts on POST alone (SEC-13)', async () => {
      const service = await startWith()
      const actor = await owned(service)
      await actor.mail(message)
      const link = unsubscribeIn((await received(service))[0])
      const page = await service.request(link)
      assert.equal(page.status, 200)
      assert.match(await page.text(), /Stop receiving these messages: <strong>Messages of this application<\/strong>\?/)
      assert.equal(await actor.mail(message), 'queued')
      assert.equal((await post(service, link)).status, 200)
      assert.equal((await post(service, link, {})).status, 200)
      assert.equal(await actor.mail(message), 'declined')
    })

    it('takes both encodings of a form and no body, up to the limit of bodies', async () => {
      const service = await startWith({ maxBodyBytes: 2000 })
      const form = new FormData()
      form.append('List-Unsubscribe', 'One-Click')
      for (const [index, body] of [form, new URLSearchParams(oneClick), undefined].entries()) {
        const actor = await owned(service, `ada${index}@example.com`)
        const { keyRing } = await service.app.running()
        const link = unsubscribeUrl({ keyRing, baseUrl: '' }, actor.id, 'application')
        const large = new URLSearchParams({ 'List-Unsubscribe': 'x'.repeat(3000) })
        assert.equal((await service.request(link, { method: 'POST', body: large })).status, 413)
        assert.equal(await actor.mail(message), 'queued')
        const sent = { method: 'POST', ...(body === undefined ? {} : { body }) }
        assert.equal((await service.request(link, sent)).status, 200)
        assert.equal(await actor.mail(message), 'declined')
      }
    })

    it('is valid for its actor and its kind alone (SEC-13)', async () => {
      const service = await startWith()
      const [ada, grace] = [await owned(service), await owned(service, 'grace@example.com')]
      await ada.mail(message)
      const link = unsubscribeIn((await received(service))[0])
      for (const [wrong, status] of [
        [link.replace(ada.id, grace.id), 403],
        [link.replace('kind=application', 'kind=sign_in_link'), 403],
        [link.replace('kind=application', 'kind=new_device'), 403],
        [link.replace('kind=application&', ''), 403],
        [link.replace(/proof=.*/, 'proof='), 403],
        [link.replace(/proof=.*/, ''), 403],
        [link.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), 403],
        [link.replace(ada.id, '0'.repeat(32)), 404],
      ] as const) {
        assert.equal((await post(service, wrong)).status, status, wrong)
        assert.equal((await service.request(wrong)).status, status, wrong)
      }
      assert.deepEqual([await ada.mail(message), await grace.mail(message)], ['queued', 'queued'])
    })
  })

  describe('the page for messages by email', () => {
    /** Signs in by the code of a message. */
    async function signedIn(service: TestService): Promise<{ readonly browser: TestBrowser; readonly id: string }> {
      const { browser, send } = await requestCode(service)
      const code = /code ([0-9a-z-]{9}) /.exec((await received(service)).at(-1)?.parsed.text ?? '')?.[1] ?? ''
      const entered = await send({ action: 'enter', code })
      const id = actorIn(await browser.get(entered.headers.get('location') ?? ''))
      return { browser, id }
    }

    it('turns a kind off and on again, and says that security messages stay (SEC-13)', async () => {
      const service = await startWith()
      const { browser, id } = await signedIn(service)
      const actor = (await service.app.actors.get(id)) ?? assert.fail()
      const settings = await (await browser.get(`/${id}/www/settings`)).text()
      assert.match(settings, new RegExp(`href="/${id}/www/mail">Messages by email</a>`))
      const open = async (): Promise<string> => (await browser.get(`/${id}/www/mail`)).text()
      const shown = await open()
      assert.match(shown, /<input type="checkbox" id="application" name="application" value="1" checked>/)
      assert.match(shown, /Messages about sign-ins and the security of your account are always sent\./)
      const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(shown)?.[1] ?? ''
      assert.equal((await browser.post(`/${id}/www/mail`, { csrf_token })).status, 302)
      assert.equal(await actor.mail(message), 'declined')
      assert.match(await open(), /<input type="checkbox" id="application" name="application" value="1">/)
      assert.equal((await browser.post(`/${id}/www/mail`, { csrf_token, application: '1' })).status, 302)
      assert.equal(await actor.mail(message), 'queued')
      const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      assert.equal((await browser.post(`/${id}/www/mail`, {}, foreign)).status, 403)
      assert.equal(await actor.mail(message), 'queued')
      assert.equal((await service.request(`/${id}/www/mail`)).status, 401)
    })

    it('is on no page of a service that sends no mail', async () => {
      const service = await start({ devtest: true })
      const { id, authorization } = await service.createActor()
      const settings = await service.request(`/${id}/www/settings`, { headers: { authorization, accept: 'text/html' } })
      assert.equal((await settings.text()).includes('/www/mail'), false)
    })
  })

  it('an archive has the kinds that the owner turned off', async () => {
    const service = await startWith()
    const actor = await owned(service)
    await actor.mail(message)
    await post(service, unsubscribeIn((await received(service))[0]))
    const archive = await archiveOf(service, actor.id)
    await service.app.actors.delete(actor.id)
    const { actorId } = await restore(service, archive)
    assert.equal(await ((await service.app.actors.get(actorId)) ?? assert.fail()).mail(message), 'declined')
  })
})
