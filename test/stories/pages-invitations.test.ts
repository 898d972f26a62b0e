/* cspell:ignore Jemanden einladen lädt sich verbinden */
/** The pages of invitations: creating a link, opening it signed out and signed in, and connecting with two clicks. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readQr } from '../support/read-qr.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

interface World {
  readonly service: TestService
  readonly ada: TestActor
  readonly grace: TestActor
  readonly adas: OwnersBrowser
  readonly graces: OwnersBrowser
}

const german = { 'sec-fetch-site': 'same-origin', 'accept-language': 'de' }
const shareOfProvider = sharedProvider()

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const service = await start({ listen: true, ...options })
    const ada = await service.createActor('ada@example.com')
    const grace = await service.createActor('grace@example.com')
    await ada.request('PUT', '/properties/displayname', '"Ada Lovelace"')
    return {
      service,
      ada,
      grace,
      adas: await OwnersBrowser.open(service, ada),
      graces: await OwnersBrowser.open(service, grace),
    }
  }

  const form = { action: 'create', trust_type: 'friend', nickname: 'Aunt Grace', days: '7' }

  /** Creates an invitation by the form, and returns its link and the page. */
  async function invite(browser: OwnersBrowser): Promise<{ readonly link: string; readonly page: string }> {
    const answer = await browser.send('/trust/invite', form)
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    const link = /<code id="invitation-link">([^<]+)<\/code>/.exec(page)?.[1] ?? assert.fail(page)
    return { link, page }
  }

  const textAt = async (service: TestService, link: string, headers: Record<string, string> = asBrowser) => {
    const answer = await service.request(new URL(link).pathname, { headers })
    return { status: answer.status, text: await answer.text() }
  }

  async function standingOf(owner: TestActor, peer: TestActor): Promise<string> {
    const [trust] = (await (await owner.request('GET', `/trust?peerid=${peer.id}`)).json()) as {
      approved: boolean
      peer_approved: boolean
    }[]
    return trust === undefined ? 'none' : `${trust.approved} ${trust.peer_approved}`
  }

  describe('the page of invitations', () => {
    it('offers the levels for people, and shows the link and its QR code in one response only', async () => {
      const { adas, ada, service } = await open()
      const page = await (await adas.get('/trust/invite')).text()
      const levels = [...page.matchAll(/name="trust_type" value="([^"]+)"/g)].map(([, level]) => level)
      assert.deepEqual(levels, ['associate', 'viewer', 'friend', 'partner'])
      assert.match(page, /They see your name: Ada Lovelace\./)
      const created = await invite(adas)
      assert.match(created.link, new RegExp(`^${service.url}/${ada.id}/invite/[\\w-]{22}$`))
      assert.equal(readQr(created.page), created.link)
      assert.match(created.page, /can connect as <strong>Friend<\/strong>/)
      assert.match(created.page, /<h2 id="open-invitations">1 open invitation<\/h2>/)
      const later = await (await adas.get('/trust/invite')).text()
      assert.ok(!later.includes(created.link))
      assert.match(later, /<strong>Aunt Grace<\/strong> as Friend/)
    })

    it('revokes an invitation, whose link then says that it ended', async () => {
      const { adas, service } = await open()
      const { link, page } = await invite(adas)
      const id = /name="invitation" value="([^"]+)"/.exec(page)?.[1] ?? assert.fail()
      const answer = await adas.send('/trust/invite', { action: 'revoke', invitation: id })
      assert.equal(answer.status, 302)
      assert.match(answer.headers.getSetCookie().join(), /invitationRevoked/)
      const { status, text } = await textAt(service, link)
      assert.equal(status, 404)
      assert.match(text, /This invitation was used or has ended\. Ask for a new one\./)
    })

    it('refuses another level, a long nickname and an unknown time, and keeps what was typed', async () => {
      const { adas, ada } = await open()
      const long = 'n'.repeat(81)
      const refusals: readonly [Record<string, string>, RegExp][] = [
        [{ trust_type: 'admin' }, /Choose one of the access levels below\./],
        [{ trust_type: 'mcp_client' }, /Choose one of the access levels below\./],
        [{ trust_type: '' }, /Choose one of the access levels below\./],
        [{ nickname: long }, new RegExp(`value="${long}"[^]*Use at most 80 characters\\.`)],
        [{ days: '365' }, /That request isn’t valid|days does not exist in the form/],
        [{ action: 'other' }, /the action is unknown/],
      ]
      for (const [fields, shown] of refusals) {
        const answer = await adas.send('/trust/invite', { ...form, ...fields })
        assert.equal(answer.status, 400, JSON.stringify(fields))
        assert.match(await answer.text(), shown)
      }
      assert.deepEqual(await (await ada.request('GET', '/invitations')).json(), [])
    })

    it('is in German too', async () => {
      const { adas, service } = await open()
      const answer = await adas.send('/trust/invite', form, german)
      const page = await answer.text()
      const link = /<code id="invitation-link">([^<]+)<\/code>/.exec(page)?.[1] ?? assert.fail()
      assert.match(page, /<h1>Jemanden einladen<\/h1>/)
      const { text } = await textAt(service, link, { ...asBrowser, ...german })
      assert.match(text, /<h1>Ada Lovelace lädt Sie ein, sich in test zu verbinden<\/h1>/)
    })
  })

  describe('the link of an invitation', () => {
    it('shows a signed-out person who invites, and what the level opens', async () => {
      const { adas, service } = await open({ ...signInAt(await shareOfProvider()) })
      const { link } = await invite(adas)
      const { status, text } = await textAt(service, link)
      assert.equal(status, 200)
      assert.match(text, /<h1>Ada Lovelace invites you to connect on test<\/h1>/)
      assert.match(text, /You get this access as <strong>Friend<\/strong>\. Nothing happens until you confirm\./)
      const path = encodeURIComponent(new URL(link).pathname)
      assert.ok(text.includes(`href="/login?redirect=${path}">Sign in to continue</a>`), text)
    })

    it('leads through the sign-in of a new person to the review, and connects with one more click', async () => {
      const provider = await shareOfProvider()
      const { adas, ada, service } = await open({ ...signInAt(provider) })
      const { link } = await invite(adas)
      const browser = new TestBrowser(service)
      const bob = actorIn(await signIn(browser, provider, 'bob'))
      const invited = await (await browser.get(link)).text()
      assert.match(invited, /You’re signed in as bob@example\.com\./)
      const href = /<a class="button" href="([^"]+)">Review and connect<\/a>/.exec(invited)?.[1] ?? assert.fail(invited)
      const review = await browser.get(href.replaceAll('&amp;', '&'))
      const text = await review.text()
      assert.equal(review.status, 200)
      assert.match(text, /<strong>Ada Lovelace \(127\.0\.0\.1:\d+\)<\/strong> will be able to/)
      const fields = new Map(
        [...text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, k = '', v = '']) => [k, v]),
      )
      assert.deepEqual([fields.get('peer_url'), fields.get('trust_type')], [link, 'friend'])
      const sent = await browser.post(`/${bob}/www/trust/new`, { ...Object.fromEntries(fields), step: 'send' })
      assert.equal(sent.status, 302)
      assert.match(sent.headers.getSetCookie().join(), /=connected;/)
      const list = await (await adas.get('/trust')).text()
      assert.match(list, />Aunt Grace<\/a>[^]*?Connected/)
      assert.equal(await standingOf(ada, { ...ada, id: bob }), 'true true')
    })

    it('says to its creator that it is their own', async () => {
      const { adas, service } = await open()
      const { link } = await invite(adas)
      const { text } = await textAt(service, link, adas.headers)
      assert.match(text, /This is your own invitation\. Send its link to the person/)
      const answer = await adas.get(`/trust/new?invitation=${encodeURIComponent(link)}`)
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /That’s your own account\./)
    })

    it('can be pasted as the address of a person, and decides the level', async () => {
      const { adas, graces, ada, grace } = await open()
      const { link } = await invite(adas)
      const typed = { peer_url: ` ${link} `, trust_type: 'viewer', description: '', step: 'review' }
      const review = await (await graces.send('/trust/new', typed)).text()
      assert.match(review, /name="trust_type" value="friend"/)
      const reviewed = /name="reviewed" value="([^"]+)"/.exec(review)?.[1] ?? assert.fail(review)
      const sent = await graces.send('/trust/new', { peer_url: link, trust_type: 'friend', step: 'send', reviewed })
      assert.equal(sent.status, 302)
      assert.deepEqual([await standingOf(ada, grace), await standingOf(grace, ada)], ['true true', 'true true'])
    })

    it('that was used, or is not valid, is refused on the form, and nothing is requested', async () => {
      const { adas, graces, ada, grace, service } = await open()
      const { link } = await invite(adas)
      const bob = await service.createActor('bob@example.com')
      assert.equal((await bob.request('POST', '/trust', { url: link })).status, 201)
      for (const [url, shown] of [
        [link, /This invitation was used, has ended or can’t be reached\. Ask for a new one\./],
        [`${service.url}/${ada.id}`, /That isn’t an invitation link\./],
      ] as const) {
        const answer = await graces.get(`/trust/new?invitation=${encodeURIComponent(url)}`)
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), shown)
      }
      assert.equal(await standingOf(grace, ada), 'none')
    })

    it('never names a level that this service does not know', async () => {
      const { graces, service } = await open()
      const other = await start({
        listen: true,
        declare: (app) =>
          app.trustType({
            name: 'neighbor',
            display_name: 'Neighbor',
            description: 'Lives next door',
            permissions: {},
          }),
      })
      const host = await other.createActor('host@example.com')
      const { url } = (await (await host.request('POST', '/invitations', { relationship: 'neighbor' })).json()) as {
        url: string
      }
      assert.notEqual(other.url, service.url)
      const answer = await graces.get(`/trust/new?invitation=${encodeURIComponent(url)}`)
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /There’s no access level called “neighbor”\./)
    })

    it('connects people of two services', async () => {
      const { adas, ada } = await open()
      const { link } = await invite(adas)
      const other = await start({ listen: true })
      const host = await other.createActor('host@example.com')
      const browser = await OwnersBrowser.open(other, host)
      const review = await (await browser.get(`/trust/new?invitation=${encodeURIComponent(link)}`)).text()
      const reviewed = /name="reviewed" value="([^"]+)"/.exec(review)?.[1] ?? assert.fail(review)
      await browser.send('/trust/new', { peer_url: link, trust_type: 'friend', step: 'send', reviewed })
      assert.equal(await standingOf(ada, host), 'true true')
    })
  })
})
