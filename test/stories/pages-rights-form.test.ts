/** The form of patterns on the page of a connection: how many names each field matches now. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

forEachService((start) => {
  async function open(): Promise<{ owner: TestActor; peer: TestRelationship; browser: OwnersBrowser; path: string }> {
    const service = await start({ declare: (app) => app.method('get_weather', () => 'sunny') })
    const owner = await service.createActor('ada@example.com')
    await owner.request('POST', '/properties', { color: 'blue', colors: 'many', diary: { today: 'x' }, size: 7 })
    const peer = await relateTo(service, owner, { relationship: 'associate' })
    const path = `/trust/${peer.peerId}`
    return { owner, peer, browser: await OwnersBrowser.open(service, owner), path }
  }

  /** The hint below a field. */
  function hintOf(page: string, id: string): string | undefined {
    return new RegExp(`id="${id}-hint">([^<]*)<`).exec(page)?.[1]
  }

  describe('the form of patterns', () => {
    it('says how many names each field matches, as a whole or in part', async () => {
      const { browser, path } = await open()
      const fields: Readonly<Record<string, [string, string | undefined]>> = {
        color: ['properties-patterns', 'Matches 1 of 4 now.'],
        'color*': ['properties-patterns', 'Matches 2 of 4 now.'],
        'diary/today': ['properties-patterns', 'Matches 1 of 4 now.'],
        '*': ['properties-patterns', 'Matches 4 of 4 now.'],
        'color\n\ncolor\nsize': ['properties-patterns', 'Matches 2 of 4 now.'],
        'not-a-property-at-all': ['properties-patterns', 'Matches 0 of 4 now.'],
        '': ['properties-patterns', undefined],
      }
      for (const [patterns, [id, hint]] of Object.entries(fields)) {
        const answer = await browser.send(`${path}/permissions`, { step: 'preview', 'properties.patterns': patterns })
        assert.equal(answer.status, 200)
        assert.equal(hintOf(await answer.text(), id), hint, JSON.stringify(patterns))
      }
    })

    it('counts the exceptions and the operations too', async () => {
      const { browser, path } = await open()
      const answer = await browser.send(`${path}/permissions`, {
        step: 'preview',
        'properties.excluded_patterns': 'd*',
        'methods.denied': 'get_*',
      })
      const page = await answer.text()
      assert.equal(hintOf(page, 'properties-excluded_patterns'), 'Matches 1 of 4 now.')
      assert.equal(hintOf(page, 'methods-denied'), 'Matches 1 of 1 now.')
    })

    it('counts the stored patterns before the owner types anything', async () => {
      const { owner, peer, browser, path } = await open()
      const rules = { properties: { patterns: ['color', 'size'], operations: ['read'] } }
      assert.equal((await owner.request('PUT', `/trust/associate/${peer.peerId}/permissions`, rules)).ok, true)
      assert.equal(hintOf(await (await browser.get(path)).text(), 'properties-patterns'), 'Matches 2 of 4 now.')
    })

    it('leaves the number out where the comparison would take too long', async () => {
      const { owner, browser, path } = await open()
      const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`p${n}`, n]))
      assert.equal((await owner.request('POST', '/properties', many)).status, 201)
      const patterns = Array.from({ length: 200 }, (_, n) => `p${n}`).join('\n')
      const answer = await browser.send(`${path}/permissions`, { step: 'preview', 'properties.patterns': patterns })
      const page = await answer.text()
      assert.equal(answer.status, 200, page)
      assert.equal(hintOf(page, 'properties-patterns'), undefined)
    })
  })
})
