/** Text with hidden characters, which a peer, a link or an archive brings, on every page. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { declareAll, furnish, isBelowActor, routes, samplePeer } from '../support/routes.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

/** Reverses text, isolates it, looks like nothing, or joins nothing. */
const hiddenCharacters = ['\u202e', '\u2066', '\u200b', '\u200f', '\u3164', '\u2800', '\u00ad', '\u{e0041}']
const hidden = hiddenCharacters.join('')
const codes = '[U+202E][U+2066][U+200B][U+200F][U+3164][U+2800][U+00AD][U+E0041]'

/** Columns whose text comes from others, and which no request of this file fills. */
const planted: readonly (readonly [table: string, column: string])[] = [
  ['trust', 'description'],
  ['trust', 'type'],
  ['token_chain', 'device'],
  ['activity', 'caller_name'],
  ['activity', 'device'],
  ['activity', 'reason'],
  ['history', 'caller'],
  ['invitation', 'nickname'],
  ['permission_override', 'notes'],
  ['publisher_subscription', 'subtarget'],
]

/** The page as a person sees it. Form fields, editors and programs to copy keep the text as it is. */
async function shownOn(service: TestService, path: string, headers: Record<string, string>): Promise<string> {
  const answer = await service.request(path, { headers })
  if (answer.headers.get('content-type')?.startsWith('text/html') !== true) return ''
  return (await answer.text()).replaceAll(/ (?:value|name|data-name)="[^"]*"|<(textarea|pre)\b.*?<\/\1>/gs, '')
}

function requireVisible(path: string, text: string): void {
  const at = text.search(/[\u202e\u2066\u200b\u200f\u3164\u2800\u00ad]|\u{e0041}/u)
  assert.equal(at, -1, `${path}: ${JSON.stringify(text.slice(Math.max(0, at - 80), at + 20))}`)
}

forEachService((start) => {
  describe('a text with hidden characters', () => {
    it('is shown with their codes on each page of the owner and of the service (WEB-23)', async () => {
      const service = await start({ declare: declareAll, activityPerActor: 1000 })
      const actor = await service.createActor(`ow${hidden}ner`)
      await furnish(actor)
      const name = `note${hidden}s`
      const list = `list${hidden}s`
      const asked = await actor.request('PUT', `/properties/${encodeURIComponent(name)}`, { [`key${hidden}s`]: 1 })
      assert.equal(asked.status, 204)
      assert.equal((await actor.request('POST', '/properties', { [list]: { _type: 'list' } })).status, 201)
      const peer = await relateTo(service, actor, {
        baseuri: 'https://peer.example.com/zed',
        peerId: 'zed',
        facts: { peer_identifier: `Ze${hidden}d` },
      })
      await peer.request('GET', `/properties/${encodeURIComponent(name)}`)
      await peer.request('POST', `/methods/${encodeURIComponent(name)}`, {})
      await peer.request('POST', '/subscriptions/zed', { target: 'properties' })
      const made = await actor.request('POST', '/invitations', { relationship: 'friend', nickname: 'In' })
      assert.equal(made.status, 201)
      const rights = await actor.request('PUT', '/trust/friend/zed/permissions', { properties: { patterns: ['x'] } })
      assert.equal(rights.status, 201)
      const client = await authorizeClient(service, actor)
      const browser = await OwnersBrowser.open(service, actor, 'Device')
      const { store } = await service.app.running()
      // The audit log is written behind the requests.
      const entries = 'SELECT 1 FROM activity WHERE actor_id = $1'
      await until(async () => (await store.read((q) => q.all(entries, actor.id))).length > 1)
      const filled = await store.writeActor(actor.id, async (tx) => {
        const rows: Record<string, boolean> = {}
        for (const [table, column] of planted)
          rows[`${table}.${column}`] =
            (await tx.run(
              `UPDATE ${table} SET ${column} = ${column} || $2 WHERE actor_id = $1`,
              actor.id,
              `-${table}.${column}${hidden}s`,
            )) > 0
        return rows
      })
      assert.deepEqual(
        Object.entries(filled).filter(([, isFilled]) => !isFilled),
        [],
      )
      const created = await service.request('/', {
        method: 'POST',
        body: new URLSearchParams({ creator: `ma${hidden}de` }),
      })
      // The page shows a command to copy, in `pre`.
      requireVisible('POST /', (await created.text()).replaceAll(/<pre\b.*?<\/pre>/gs, ''))

      const { url } = (await made.json()) as { url: string }
      const paths = new Set([new URL(url).pathname])
      for (const route of routes.filter(({ id, method }) => method === 'GET' && id !== 'liveChanges')) {
        const hasTarget = isBelowActor(route) && route.path.includes(':', 2)
        for (const target of hasTarget ? [name, list, 'zed', samplePeer, client.peerId] : [''])
          paths.add(route.path.replace(':actor', actor.id).replaceAll(/:\w+|\*\w*/g, encodeURIComponent(target)))
      }
      const texts = new Set<string>()
      for (const path of paths) {
        const text = await shownOn(service, path, browser.headers)
        requireVisible(path, text)
        for (const [, before = ''] of text.replaceAll(codes, '\0').matchAll(/([\w.]+)\0\w/g)) texts.add(before)
      }
      assert.deepEqual([...texts].toSorted(), [
        'Ze',
        'activity.device',
        'activity.reason',
        'invitation.nickname',
        'key',
        'list',
        'note',
        'ow',
        'publisher_subscription.subtarget',
        'token_chain.device',
        'trust.description',
        'trust.type',
      ])
      // The page names the creator to type, so it takes what it shows.
      const deleted = { action: 'delete', confirmation: `ow${codes}ner` }
      assert.equal((await browser.send('/settings', deleted)).status, 302)
    })
  })
})
