/* cspell:ignore machen Rückgängig Verlauf Nichts gemacht geändert */
/** The pages of the history, and Undo after a change. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { everything, TestCallers } from '../support/callers.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'

const cookieIn = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .find((cookie) => cookie.startsWith('troupe-notice=')) ?? ''

forEachService((start) => {
  interface World {
    readonly service: TestService
    readonly actor: TestActor
    readonly browser: OwnersBrowser
    /** Sends a form, and opens the page that follows. */
    readonly change: (path: string, fields: Record<string, string>) => Promise<{ page: string; notice: string }>
    /** Opens a page as the browser that has the notice. */
    readonly open: (path: string, notice?: string, language?: string) => Promise<string>
  }

  async function world(options: StartOptions = {}): Promise<World> {
    const service = await start(options)
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    const open = async (path: string, notice = '', language = 'en'): Promise<string> => {
      const cookie = `oauth_token=${browser.token}${notice === '' ? '' : `; ${notice}`}`
      return (await browser.get(path, { cookie, 'accept-language': language })).text()
    }
    return {
      service,
      actor,
      browser,
      open,
      async change(path, fields) {
        const answer = await browser.send(path, fields)
        assert.equal(answer.status, 302, await answer.text())
        const target = new URL(answer.headers.get('location') ?? '').pathname.replace(`/${actor.id}/www`, '')
        const notice = cookieIn(answer)
        return { page: await open(target, notice), notice }
      },
    }
  }

  const requestIn = (page: string): string => /name="request_id" value="([^"]+)"/.exec(page)?.[1] ?? ''

  async function valueOf(actor: TestActor, name: string): Promise<unknown> {
    const answer = await actor.request('GET', `/properties/${name}`, undefined, { accept: 'application/json' })
    return answer.status === 404 ? undefined : answer.json()
  }

  describe('the notice after a change', () => {
    it('takes back a saved, created and deleted value', async () => {
      const { actor, change } = await world()
      const created = await change('/properties', { property_name: 'color', property_value: 'red', value_type: 'text' })
      assert.match(created.page, /Created\..*<button[^>]*><svg.*?<\/svg> Undo<\/button>/s)
      const saved = await change('/properties/color', { value: 'blue', value_type: 'text' })
      const undone = await change('/history/undo', { request_id: requestIn(saved.page) })
      assert.match(undone.page, /Undone\./)
      assert.equal(await valueOf(actor, 'color'), 'red')
      // The undo can be taken back too.
      await change('/history/undo', { request_id: requestIn(undone.page) })
      assert.equal(await valueOf(actor, 'color'), 'blue')
      const deleted = await change('/properties/color', { _method: 'DELETE' })
      assert.equal(await valueOf(actor, 'color'), undefined)
      await change('/history/undo', { request_id: requestIn(deleted.page) })
      assert.equal(await valueOf(actor, 'color'), 'blue')
    })

    it('takes back changes of items, and the deletion of several properties', async () => {
      const { actor, change } = await world()
      await actor.request('PUT', '/properties', { a: 1, b: 2 })
      await actor.request('POST', '/properties', { todo: { _type: 'list' } })
      const items = { action: 'add_several', items: 'milk\nbread' }
      const added = await change('/properties/todo/items', items)
      assert.deepEqual(await valueOf(actor, 'todo'), ['milk', 'bread'])
      await change('/history/undo', { request_id: requestIn(added.page) })
      assert.deepEqual(await valueOf(actor, 'todo'), [])
      await change('/properties/todo/items', items)
      const selected = { action: 'confirm', 'pick:a': '1', 'pick:b': '1', 'pick:todo': '1' }
      const deleted = await change('/selection', selected)
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'todo')], [undefined, undefined])
      await change('/history/undo', { request_id: requestIn(deleted.page) })
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'todo')], [1, ['milk', 'bread']])
    })

    it('offers nothing without a change, without a history, or to a forged cookie', async () => {
      const { change, actor, open } = await world()
      await actor.request('PUT', '/properties/color', 'red')
      const same = await change('/properties/color', { value: 'red', value_type: 'text' })
      assert.match(same.page, /Saved\./)
      assert.equal(requestIn(same.page), '')
      assert.equal(requestIn(await open('/properties', 'troupe-notice=saved.unknown')), '')
      assert.equal(requestIn(await open('/properties', 'troupe-notice=saved."><script>')), '')
      const off = await world({ historyDays: 0 })
      const created = await off.change('/properties', { property_name: 'a', property_value: '1', value_type: 'number' })
      assert.equal(requestIn(created.page), '')
      assert.match(await off.open('/properties/a'), /This can’t be undone/)
      assert.match(await off.open('/history'), /turned off/)
    })

    it('says before a deletion whether it can be undone', async () => {
      const { actor, open } = await world({ historySize: 2000 })
      await actor.request('PUT', '/properties', { short: 'a', long: 'x'.repeat(600) })
      assert.match(await open('/properties/short'), /You can undo this for 30 days/)
      assert.match(await open('/properties/long'), /This can’t be undone/)
    })

    it('explains an undo that is no longer possible, and changes nothing', async () => {
      const { actor, change, browser } = await world()
      await actor.request('PUT', '/properties/color', 'red')
      const saved = await change('/properties/color', { value: 'blue', value_type: 'text' })
      await actor.request('PUT', '/properties/color', 'green')
      const fields = { request_id: requestIn(saved.page) }
      const refused = await browser.send('/history/undo', fields)
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /it has changed again since/)
      assert.equal(await valueOf(actor, 'color'), 'green')
      const gone = await browser.send('/history/undo', { request_id: 'unknown' })
      assert.equal(gone.status, 409)
      assert.match(await gone.text(), /There is nothing to undo/)
      assert.equal((await browser.send('/history/undo', {})).status, 400)
      assert.equal((await browser.send('/history/undo', { id: 'first' })).status, 400)
      const foreign = await browser.send('/history/undo', fields, { 'sec-fetch-site': 'cross-site' })
      assert.equal(foreign.status, 403)
    })
  })

  describe('the page of the history', () => {
    it('shows who changed what, with the value before, and takes back one change', async () => {
      const { actor, open, change } = await world()
      await actor.request('PUT', '/properties/color', 'red')
      await actor.request('PUT', '/properties/color', 'blue')
      const page = await open('/history')
      assert.match(page, /changed “color”/)
      assert.match(page, /Before: red/)
      const id = /name="id" value="(\d+)"/.exec(page)?.[1] ?? ''
      await change('/history/undo', { id })
      assert.equal(await valueOf(actor, 'color'), 'red')
    })

    it('shows the differences of one property, also across pages', async () => {
      const seen: PageValues<'history'>[] = []
      const { actor, open } = await world({ pages: { history: (values) => (seen.push(values), html`history`) } })
      await actor.request('PUT', '/properties/preferences', { theme: 'dark', size: 1 })
      await actor.request('PUT', '/properties/preferences', { theme: 'light', size: 1, font: 'serif' })
      await actor.request('PUT', '/properties/other', 1)
      await open('/history?name=preferences')
      assert.deepEqual(
        seen[0]?.rows.map(({ differences }) => differences),
        [
          [
            { key: 'theme', before: 'dark', after: 'light' },
            { key: 'font', before: null, after: 'serif' },
          ],
          [{ key: '', before: null, after: '{"theme":"dark","size":1}' }],
        ],
      )
      for (let n = 0; n < 60; n++) await actor.request('PUT', '/properties/count', n)
      await open('/history?name=count')
      const older = new URL(seen[1]?.older_href ?? '', 'http://troupe.test').search
      await open(`/history${older}`)
      assert.deepEqual(seen[2]?.rows[0]?.differences, [{ key: '', before: '8', after: '9' }])
      assert.equal(seen[2]?.rows.length, 10)
    })

    it('takes back everything that an app did since a change, after a preview of the conflicts', async () => {
      const callers = new TestCallers()
      const { actor, service, open, change } = await world(callers.parts)
      await actor.request('PUT', '/properties', { a: 1, b: 1, c: 1 })
      const token = callers.client(actor.id, { grants: everything })
      for (const name of ['a', 'b'])
        await service.request(`/${actor.id}/properties/${name}`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '2',
        })
      await actor.request('PUT', '/properties/b', 3)
      const page = await open('/history')
      const link = /href="[^"]*(\/history\/undo\?[^"]*)"[^>]*>Undo everything by/
        .exec(page)?.[1]
        ?.replaceAll('&amp;', '&')
      assert.ok(link !== undefined, page)
      const since =
        [...page.matchAll(/href="[^"]*(\/history\/undo\?[^"]*)"/g)].at(-1)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const preview = await open(since)
      assert.match(preview, /1 property will be as before/)
      assert.match(preview, /1 property stays as now/)
      assert.match(preview, /Changed again since/)
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'b')], [2, 3])
      const fields = Object.fromEntries(new URLSearchParams(since.split('?')[1]))
      const undone = await change('/history/undo', fields)
      assert.match(undone.page, /Undone, except for what has changed since/)
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'b')], [1, 3])
    })

    it('deletes the history of one property, or all of it', async () => {
      const { actor, browser, open, change } = await world()
      await actor.request('PUT', '/properties', { a: 1, b: 2 })
      assert.match(await open('/history?name=a'), /Deletes what “a” contained before/)
      const deleted = await change('/history', { action: 'delete', name: 'a' })
      assert.match(deleted.page, /History deleted\./)
      assert.ok(!deleted.page.includes('created “a”'))
      assert.match(deleted.page, /created “b”/)
      await change('/history', { action: 'delete' })
      assert.match(await open('/history'), /No changes yet/)
      assert.equal((await browser.send('/history', {})).status, 400)
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'b')], [1, 2])
    })

    it('refuses an invalid cursor and a preview without a choice', async () => {
      const { browser } = await world()
      assert.equal((await browser.get('/history?before=x')).status, 400)
      assert.equal((await browser.get('/history/undo')).status, 400)
      assert.equal((await browser.get('/history/undo?name=none')).status, 404)
    })

    it('is in German too', async () => {
      const { actor, open } = await world()
      await actor.request('PUT', '/properties/color', 'red')
      await actor.request('PUT', '/properties/color', 'blue')
      const page = await open('/history', '', 'de')
      assert.match(page, /<h1>Verlauf<\/h1>/)
      assert.match(page, /“color” geändert|„color“ geändert/)
      assert.match(page, />Rückgängig machen</)
    })
  })
})
