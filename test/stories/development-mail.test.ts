/** The messages that a service in development shows and prints. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emailLink } from '../../src/index.ts'
import { requestCode } from '../support/email-code.ts'
import { sqliteService } from '../support/service.ts'

const start = sqliteService()
const asPage = { headers: { accept: 'text/html' } }

describe('/dev/mail', () => {
  it('shows each message with its headers, its text and its HTML in a frame, and prints it', async () => {
    const service = await start({ signIn: [emailLink()], devMail: true })
    const empty = await service.request('/dev/mail', asPage)
    assert.deepEqual([empty.status, (await empty.text()).includes('No message was made yet.')], [200, true])
    await requestCode(service)
    await service.settled()
    const list = await (await service.request('/dev/mail', asPage)).text()
    const [, path = ''] = /<a href="(\/dev\/mail\/[0-9a-f]{32})">Sign in to test<\/a>/.exec(list) ?? []
    const answer = await service.request(path, asPage)
    assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'; /)
    const page = await answer.text()
    assert.match(page, /<dt>To<\/dt><dd>ada@example\.com<\/dd>/)
    assert.match(page, /<dt>Message-ID<\/dt><dd>&lt;[0-9a-f]{32}@troupe\.test&gt;<\/dd>/)
    assert.match(page, /<iframe [^>]*sandbox="allow-popups allow-popups-to-escape-sandbox"[^>]* srcdoc="&lt;base/)
    const [, link = ''] = /<pre tabindex="0">[^<]*<a href="([^"]+)">/.exec(page) ?? []
    assert.match(link, /^http:\/\/troupe\.test\/oauth\//)
    const printed = service.log.find((line) => line.includes('also at http://troupe.test/dev/mail')) ?? ''
    assert.ok(
      printed.includes('ada@example.com') &&
        printed.includes('Sign in to test') &&
        printed.includes('http://troupe.test/oauth/'),
    )
  })

  it('shows what others chose as text, and runs nothing of it (SEC-13)', async () => {
    const service = await start({ devMail: true })
    const { actor } = await service.app.actors.create({ creator: 'ada@example.com', verified: true })
    const attack = '"><script>alert(1)</script>'
    await actor.mail({ subject: attack, text: attack, html: attack })
    await service.settled()
    const list = await (await service.request('/dev/mail', asPage)).text()
    const [, path = ''] = /href="(\/dev\/mail\/\w+)"/.exec(list) ?? []
    for (const page of [list, await (await service.request(path, asPage)).text()])
      assert.equal(page.includes('<script>alert'), false)
  })

  it('keeps the last 100 messages, and does not know others', async () => {
    const service = await start({ devMail: true })
    const { actor } = await service.app.actors.create({ creator: 'ada@example.com', verified: true })
    for (let number = 1; number <= 101; number += 1) await actor.mail({ subject: `Number ${number}`, text: 'Hello' })
    await service.settled()
    const list = await (await service.request('/dev/mail', asPage)).text()
    assert.equal([...list.matchAll(/href="\/dev\/mail\/\w+"/g)].length, 100)
    assert.equal((await service.request(`/dev/mail/${'0'.repeat(32)}`, asPage)).status, 404)
  })

  it('does not exist in production, with a mail server, or with a handler of the application (SEC-13)', async () => {
    const services = [
      await start({ devMail: true, mode: 'production', baseUrl: 'https://troupe.test', trustedProxies: 0 }),
      await start({ devMail: true, smtpUrl: 'smtp://127.0.0.1:1', mailFrom: 'notes@example.com' }),
      await start({ devMail: true, declare: (app) => app.on('mail', () => undefined) }),
      await start({ devMail: false }),
    ]
    for (const service of services)
      for (const path of ['/dev/mail', `/dev/mail/${'0'.repeat(32)}`])
        assert.equal((await service.request(path, asPage)).status, 404)
  })
})
