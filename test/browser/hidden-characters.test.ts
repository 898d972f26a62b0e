/**
 * Strings of other parties on the pages where an owner decides. Hidden characters must be visible, and must not change
 * the direction of text.
 */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { desktop, openPage, type WatchedPage, unfold } from '../support/browser.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { authorizePath, newPkce, registerClient } from '../support/oauth-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'
import { findTrust, updateTrust } from '../../src/trust/trust-store.ts'

const start = sqliteService()
/** Overrides, isolates and marks of direction, and characters without a width. */
const hidden = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u

let service: TestService
let actor: TestActor
let app = ''
let friend = ''
let approvals: readonly string[] = []
let session = ''

before(async () => {
  service = await start({
    listen: true,
    activityPerActor: 1000,
    declare: (declared) => declared.action('pay', { description: 'Pays', confirm: 'owner', mcp: true }, () => 'paid'),
  })
  actor = await service.createActor()
  const { parts, store } = await service.app.running()
  const client = await authorizeClient(service, actor)
  app = client.peerId
  await store.writeActor(actor.id, async (tx) => {
    const trust = await findTrust(tx, actor.id, client.peerId)
    assert.ok(trust)
    await updateTrust(tx, { ...trust, facts: { ...trust.facts, client_name: 'Cla\u202eedu\u200b' } }, store.now())
  })
  friend = (await relateTo(service, actor, { peerId: 'friend', facts: { peer_identifier: 'Gra\u2066ce\u3164' } }))
    .peerId
  await client.modern('tools/call', { name: 'pay', arguments: { to: 'Bob\u202e', 'amount\u200b': ['1\u200f0'] } })
  const asking = {
    baseuri: 'https://peer.example.com/asking',
    id: 'asking',
    desc: 'I am y\u200bour \u202eknab',
    type: 'urn:ba\u2060nk',
  }
  assert.equal(
    (
      await service.request(`/${actor.id}/trust/friend`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...asking, relationship: 'friend' }),
      })
    ).status,
    202,
  )
  await client.legacy('prompts/get', { name: 'no\u202ene' })
  await writtenAuditLog(service)
  approvals = (await parts.approvals.waiting(actor.id)).map(({ approvalId }) => approvalId)
  session = await signIn(service, actor)
})

/** The text of the page as a user reads it. */
async function read(path: string): Promise<string> {
  const page: WatchedPage = await openPage({ viewport: desktop })
  await page.context().addCookies([{ name: 'oauth_token', value: session, url: service.url }])
  await page.goto(`${service.url}${path}`)
  await page.evaluate(unfold)
  const html = await page.content()
  assert.equal(hidden.exec(html)?.[0], undefined, `${path} holds a hidden character`)
  return page.locator('main').innerText()
}

describe('a string of another party', () => {
  const shown: readonly (readonly [what: string, path: () => string, texts: readonly string[]])[] = [
    [
      'the page of an approval',
      () => `/approvals/${approvals[0]}`,
      ['Cla[U+202E]edu[U+200B]', 'Bob[U+202E]', 'amount[U+200B]', '1[U+200F]0'],
    ],
    ['the list of requests', () => '/requests', ['Cla[U+202E]edu[U+200B]']],
    [
      'the page of a request for a relationship',
      () => '/trust/asking',
      ['I am y[U+200B]our [U+202E]knab', 'urn:ba[U+2060]nk'],
    ],
    ['the page of a peer', () => `/trust/${friend}`, ['Gra[U+2066]ce[U+3164]']],
    ['the page of an app', () => `/trust/${encodeURIComponent(app)}`, ['Cla[U+202E]edu[U+200B]']],
    ['the list of relationships', () => '/trust', ['Gra[U+2066]ce[U+3164]', 'Cla[U+202E]edu[U+200B]']],
    ['the connected apps', () => '/apps', ['Cla[U+202E]edu[U+200B]']],
    ['the activity', () => '/activity', ['Cla[U+202E]edu[U+200B]', 'no[U+202E]ne']],
    ['the overview', () => '', ['Cla[U+202E]edu[U+200B]']],
  ]
  for (const [what, path, texts] of shown)
    it(`appears with its hidden characters on ${what}`, async () => {
      const text = await read(`/${actor.id}/www${path()}`)
      for (const expected of texts) assert.ok(text.includes(expected), `${expected} in ${text}`)
    })

  it('appears with its hidden characters as the name of a client on the consent page', async () => {
    const client = await registerClient(service, { client_name: 'Cla\u202eud\ufe0fe\u034f' })
    const text = await read(authorizePath(client, newPkce()))
    assert.match(text, /Cla ud\[U\+FE0F\]e\[U\+034F\]/)
  })
})
