/** Names with hidden characters, which a peer or a link brings, on the pages of the owner. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizeClient } from '../support/mcp-client.ts'
import { declareAll, furnish, isBelowActor, routes, samplePeer } from '../support/routes.ts'
import { sqliteService } from '../support/service.ts'
import { relateTo } from '../support/recording-peer.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const start = sqliteService()

/** Reverses text, isolates it, looks like nothing, or joins nothing. */
const hiddenCharacters = ['\u202e', '\u2066', '\u200b', '\u200f', '\u3164', '\u2800', '\u00ad', '\u{e0041}']

describe('a name with a hidden character', () => {
  for (const hidden of hiddenCharacters) {
    const code = (hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    it(`is shown with its code on each page of the owner: U+${code} (WEB-23)`, async () => {
      const service = await start({ declare: declareAll, logLevel: 'error' })
      const actor = await service.createActor()
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
      await authorizeClient(service, actor)
      const browser = await OwnersBrowser.open(service, actor)
      const shown = new Set<string>()
      const pages = routes.filter(
        (route) => isBelowActor(route) && route.method === 'GET' && route.path.startsWith('/:actor/www'),
      )
      for (const { path } of pages)
        for (const target of path.includes(':', 2) ? [name, list, 'zed', samplePeer] : ['']) {
          const filled = path.replace(':actor', actor.id).replaceAll(/:\w+|\*\w*/g, encodeURIComponent(target))
          const answer = await service.request(filled, { headers: browser.headers })
          if (answer.headers.get('content-type')?.startsWith('text/html') !== true) continue
          const text = (await answer.text())
            // Form fields, editors and programs to copy keep the name as it is.
            .replaceAll(/ (?:value|name|data-name)="[^"]*"|<(textarea|pre)\b.*?<\/\1>/gs, '')
          const at = text.indexOf(hidden)
          assert.equal(at, -1, `${filled}: ${JSON.stringify(text.slice(Math.max(0, at - 80), at + 20))}`)
          for (const [found] of text.matchAll(/\w+\[U\+[0-9A-F]+\]\w/g)) shown.add(found)
        }
      assert.deepEqual([...shown].toSorted(), [
        `Ze[U+${code}]d`,
        `key[U+${code}]s`,
        `list[U+${code}]s`,
        `note[U+${code}]s`,
      ])
    })
  }
})
