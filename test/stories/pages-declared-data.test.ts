/** Generated forms for declared data on the pages of the owner. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import type { App } from '../../src/troupe.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

function declare(app: App): void {
  app.property('budget', {
    schema: z.object({
      limit: z.number().min(0).max(1000).describe('In euros'),
      currency: z.enum(['EUR', 'USD']).default('EUR'),
      owner: z.object({ name: z.string().min(1), note: z.string().optional() }).optional(),
    }),
    default: { limit: 500 },
  })
  app.property('even', { schema: z.object({ a: z.int() }).refine(({ a }) => a % 2 === 0, 'It is odd') })
  app.property('free', { schema: z.object({ any: z.any() }) })
  app.property('motto', { schema: z.string(), description: 'What you live by' })
  app.property('secret', { schema: z.string() })
  app.property('secret', { get: () => null })
  app.property('fixed', { schema: z.string(), default: 'x' })
  app.property('fixed', { put: () => null })
  app.list('tasks', {
    item: z.object({
      text: z.string().min(2).meta({ title: 'Task' }),
      done: z.boolean().default(false),
      due: z.iso.date().optional(),
    }),
  })
}

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
}

forEachService((start) => {
  async function open(): Promise<World> {
    const service = await start({ declare })
    const actor = await service.createActor()
    return { service, actor, browser: await OwnersBrowser.open(service, actor) }
  }

  async function shown({ browser }: World, name: string): Promise<string> {
    const answer = await browser.get(`/properties/${name}`)
    assert.equal(answer.status, 200)
    return answer.text()
  }

  async function stored({ actor }: World, name: string): Promise<unknown> {
    return (await actor.request('GET', `/properties/${name}`, undefined, { accept: 'application/json' })).json()
  }

  /** The element with the id, up to the end of its tag. */
  function tag(page: string, id: string): string {
    const [found] = new RegExp(`<[a-z]+[^<>]* id="${id}"[^<>]*>|<[a-z]+ id="${id}"[^<>]*>`).exec(page) ?? []
    assert.ok(found !== undefined, `no element ${id} in ${page}`)
    return found
  }

  /** The hidden field of the first form. */
  function hidden(page: string, name: string): string {
    return new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''
  }

  describe('the page of a declared value', () => {
    it('has a labelled field for each member, and the editor of its JSON', async () => {
      const page = await shown(await open(), 'budget')
      assert.equal(
        tag(page, 'value-fields/limit'),
        '<input id="value-fields/limit" name="fields/limit" value="500" autocomplete="off" type="text" inputmode="decimal" required aria-describedby="value-fields/limit-hint">',
      )
      assert.match(page, /<label for="value-fields\/limit">limit <span class="kind">\(required\)<\/span><\/label>/)
      assert.match(page, /<p class="hint" id="value-fields\/limit-hint">In euros<\/p>/)
      assert.match(page, /<option value="&quot;EUR&quot;" selected>EUR<\/option><option value="&quot;USD&quot;">USD</)
      assert.match(
        page,
        /<fieldset class="group" id="value-fields\/owner"><legend>owner <span class="kind">\(optional\)<\/span><\/legend>/,
      )
      assert.match(tag(page, 'value-fields/owner/name'), / minlength="1" type="text">$/)
      assert.match(page, /<summary>Edit as JSON<\/summary>/)
      assert.match(tag(page, 'value'), /<textarea id="value" name="value"/)
      assert.equal(page.includes('<script>'), false)
      assert.equal(page.includes(' style='), false)
    })

    it('saves the fields as one value', async () => {
      const world = await open()
      const version = hidden(await shown(world, 'budget'), 'version')
      const fields = {
        value_type: 'fields',
        version,
        'fields/limit': '7.5',
        'fields/currency': '"USD"',
        'fields/owner/name': 'Ada',
        'fields/owner/note': '',
      }
      assert.equal((await world.browser.send('/properties/budget', fields)).status, 302)
      const saved = { limit: 7.5, currency: 'USD', owner: { name: 'Ada' } }
      assert.deepEqual(await stored(world, 'budget'), saved)
      const emptied = { ...fields, version: hidden(await shown(world, 'budget'), 'version'), 'fields/owner/name': '' }
      assert.equal((await world.browser.send('/properties/budget', emptied)).status, 302)
      assert.deepEqual(await stored(world, 'budget'), { limit: 7.5, currency: 'USD' })
    })

    const refusals = [
      ['what the schema refuses', { 'fields/limit': '5000' }, 'value-fields/limit', /limit.*&lt;=1000/],
      ['a field that is not a number', { 'fields/limit': 'much' }, 'value-fields/limit', /“much” isn’t a number/],
      ['a missing field', { 'fields/limit': '' }, 'value-fields/limit', /Enter a value/],
      ['another choice', { 'fields/currency': '"GBP"' }, 'value-fields/currency', /isn’t one of the choices/],
      ['a member of a group', { 'fields/owner/note': 'x' }, 'value-fields/owner/name', /owner\.name/],
    ] as const
    for (const [what, wrong, id, message] of refusals) {
      it(`refuses ${what} at its field, and keeps the input`, async () => {
        const world = await open()
        const before = await stored(world, 'budget')
        const sent = {
          value_type: 'fields',
          version: hidden(await shown(world, 'budget'), 'version'),
          'fields/limit': '12',
          'fields/currency': '"USD"',
          'fields/owner/name': '',
          'fields/owner/note': '',
          ...wrong,
        }
        const answer = await world.browser.send('/properties/budget', sent)
        const page = await answer.text()
        assert.equal(answer.status, 400)
        assert.match(tag(page, id), /aria-describedby="[^"]*-error"/)
        assert.match(tag(page, id), /aria-invalid="true" autofocus/)
        assert.match(page, new RegExp(`<p class="field-error" id="${id}-error">[^<]*${message.source}`))
        assert.match(page, new RegExp(`<p class="error" role="alert" id="error"><a href="#${id}">`))
        assert.match(page, /<details class="card" open><summary><svg.*?<\/svg> Edit/)
        assert.equal(page.includes('<details class="fold other" open>'), false)
        if (sent['fields/limit'] === '12') assert.match(tag(page, 'value-fields/limit'), / value="12"/)
        if (sent['fields/currency'] === '"USD"') assert.match(page, /<option value="&quot;USD&quot;" selected>/)
        assert.deepEqual(await stored(world, 'budget'), before)
      })
    }

    it('shows a refusal that concerns the entire value above the form', async () => {
      const world = await open()
      await world.actor.request('PUT', '/properties/even', { a: 2 })
      const answer = await world.browser.send('/properties/even', { value_type: 'fields', 'fields/a': '3' })
      const page = await answer.text()
      assert.equal(answer.status, 400)
      assert.match(page, /<p class="error" role="alert" id="error" tabindex="-1" autofocus>[^<]*It is odd</)
      assert.match(tag(page, 'value-fields/a'), / value="3"/)
    })

    it('does not overwrite a value that changed meanwhile, and shows the input beside it', async () => {
      const world = await open()
      const version = hidden(await shown(world, 'budget'), 'version')
      await world.actor.request('PUT', '/properties/budget', { limit: 1 })
      const sent = { value_type: 'fields', version, 'fields/limit': '12', 'fields/currency': '"USD"' }
      const answer = await world.browser.send('/properties/budget', sent)
      const page = await answer.text()
      assert.equal(answer.status, 409)
      assert.match(page, /“budget” changed while you were editing\. Nothing was saved\./)
      assert.match(
        page,
        /<textarea id="conflict-value"[^>]*>\n\{\n {2}&quot;limit&quot;: 12,\n {2}&quot;currency&quot;: &quot;USD&quot;\n\}</,
      )
      assert.deepEqual(await stored(world, 'budget'), { limit: 1, currency: 'EUR' })
      const mine = { value_type: 'json', version: hidden(page, 'version'), value: '{"limit":12,"currency":"USD"}' }
      assert.equal((await world.browser.send('/properties/budget', mine)).status, 302)
      assert.deepEqual(await stored(world, 'budget'), { limit: 12, currency: 'USD' })
    })

    it('still takes JSON, and opens its editor for a refusal', async () => {
      const world = await open()
      const sent = { value_type: 'json', value: '{"limit":2}' }
      assert.equal((await world.browser.send('/properties/budget', sent)).status, 302)
      assert.deepEqual(await stored(world, 'budget'), { limit: 2, currency: 'EUR' })
      const answer = await world.browser.send('/properties/budget', { value_type: 'json', value: '{"limit":-2}' })
      const page = await answer.text()
      assert.equal(answer.status, 400)
      assert.match(page, /<details class="fold other" open><summary>Edit as JSON/)
      assert.match(tag(page, 'value'), /aria-invalid="true"/)
      assert.match(tag(page, 'value-fields/limit'), / value="2"/)
    })

    it('without a form has the editor of its JSON alone', async () => {
      const world = await open()
      await world.actor.request('PUT', '/properties/free', { any: [1] })
      await world.actor.request('PUT', '/properties/other', { any: 1 })
      for (const name of ['free', 'other']) {
        const page = await shown(world, name)
        assert.equal(page.includes('value="fields"'), false)
        assert.match(tag(page, 'value'), /<textarea/)
        const answer = await world.browser.send(`/properties/${name}`, { value_type: 'fields', 'fields/any': '1' })
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), /the data is not declared, or its schema has no form/)
      }
      assert.deepEqual([await stored(world, 'free'), await stored(world, 'other')], [{ any: [1] }, { any: 1 }])
    })

    it('has no form when the application does not let it be changed', async () => {
      const page = await shown(await open(), 'fixed')
      assert.equal(page.includes('value="fields"'), false)
      assert.match(page, /you can’t edit it/)
    })
  })

  describe('the page of a declared list', () => {
    it('adds an item by a form that shows the defaults', async () => {
      const world = await open()
      const page = await shown(world, 'tasks')
      assert.match(page, /<label for="new-item-fields\/text">Task <span class="kind">\(required\)<\/span><\/label>/)
      assert.equal(
        tag(page, 'new-item-fields/done'),
        '<input type="checkbox" id="new-item-fields/done" name="fields/done" value="true" autocomplete="off">',
      )
      assert.match(tag(page, 'new-item-fields/due'), /type="date"/)
      const sent = {
        action: 'add',
        value_type: 'fields',
        'fields/text': 'Milk',
        'fields/done': 'true',
        'fields/due': '',
      }
      assert.equal((await world.browser.send('/properties/tasks/items', sent)).status, 302)
      assert.deepEqual(await stored(world, 'tasks'), [{ text: 'Milk', done: true }])
      const answer = await world.browser.send('/properties/tasks/items', { ...sent, 'fields/text': 'M' })
      const refused = await answer.text()
      assert.equal(answer.status, 400)
      assert.match(tag(refused, 'new-item-fields/text'), / value="M".*aria-invalid="true" autofocus/)
      assert.match(tag(refused, 'new-item-fields/done'), / checked/)
      assert.match(refused, /<details class="card" id="add" open>/)
      assert.deepEqual(await stored(world, 'tasks'), [{ text: 'Milk', done: true }])
    })

    it('changes an item, and keeps the input of a refused form at its item', async () => {
      const world = await open()
      for (const text of ['Milk', 'Bread']) await world.actor.request('POST', '/properties/tasks', { text })
      const page = await shown(world, 'tasks')
      const [, handle = ''] = [...page.matchAll(/&edit=([0-9a-f.]+)"/g)].map(([, found]) => found)
      const opened = await shown(world, `tasks?edit=${handle}`)
      assert.match(tag(opened, 'item-value-1-fields/text'), / value="Bread".* autofocus>$/)
      assert.equal(opened.includes('item-value-0-fields'), false)
      const sent = { action: 'update', value_type: 'fields', item_index: '1', item_handle: handle }
      const answer = await world.browser.send('/properties/tasks/items', {
        ...sent,
        'fields/text': 'B',
        'fields/due': '2026-01-02',
      })
      const refused = await answer.text()
      assert.equal(answer.status, 400)
      assert.match(tag(refused, 'item-value-1-fields/text'), / value="B".*aria-invalid="true"/)
      assert.match(tag(refused, 'item-value-1-fields/due'), / value="2026-01-02"/)
      assert.equal(refused.includes('item-value-0-fields'), false)
      const good = { ...sent, 'fields/text': 'Butter', 'fields/due': '2026-01-02' }
      assert.equal((await world.browser.send('/properties/tasks/items', good)).status, 302)
      const tasks = [
        { text: 'Milk', done: false },
        { text: 'Butter', done: false, due: '2026-01-02' },
      ]
      assert.deepEqual(await stored(world, 'tasks'), tasks)
      const late = await world.browser.send('/properties/tasks/items', { ...good, 'fields/text': 'Late' })
      assert.equal(late.status, 409)
      assert.match(await late.text(), /&quot;text&quot;: &quot;Late&quot;/)
      assert.deepEqual(await stored(world, 'tasks'), tasks)
      const byIndex = { action: 'update', value_type: 'fields', item_index: '0', 'fields/text': 'Oats' }
      assert.equal((await world.browser.send('/properties/tasks/items', byIndex)).status, 302)
      assert.deepEqual(((await stored(world, 'tasks')) as object[])[0], { text: 'Oats', done: false })
    })
  })

  describe('a declared value that is not set', () => {
    it('is listed with its description, and has a page with an empty form', async () => {
      const world = await open()
      const listing = await (await world.browser.get('/properties')).text()
      const [, unset = ''] = /<h2 id="unset">Not set yet<\/h2>(.*?)<\/section>/s.exec(listing) ?? []
      const names = [...unset.matchAll(/<a href="[^"]*\/properties\/([a-z]+)">/g)].map(([, name]) => name)
      assert.deepEqual(names, ['even', 'free', 'motto', 'secret'])
      assert.match(unset, /motto<\/a><\/div><p class="preview">What you live by<\/p>/)
      const page = await shown(world, 'even')
      assert.match(page, /<p class="lead"[^>]*>Not set yet<\/p>/)
      assert.match(tag(page, 'value-fields/a'), /name="fields\/a" value="" .* required>$/)
      assert.equal(hidden(page, 'version'), 'none')
      assert.equal(page.includes('Delete…'), false)
      const motto = await shown(world, 'motto')
      assert.match(motto, /<p>What you live by<\/p>/)
      assert.match(motto, /value="text" checked/)
      const free = await shown(world, 'free')
      assert.equal(free.includes('id="value-fields'), false)
      assert.match(free, /value="json" checked/)
    })

    it('is set by its form, and is listed as other values then', async () => {
      const world = await open()
      const sent = { value_type: 'fields', version: hidden(await shown(world, 'even'), 'version'), 'fields/a': '4' }
      assert.equal((await world.browser.send('/properties/even', sent)).status, 302)
      assert.deepEqual(await stored(world, 'even'), { a: 4 })
      const text = { value_type: 'text', version: 'none', value: 'Onwards' }
      assert.equal((await world.browser.send('/properties/motto', text)).status, 302)
      const page = await shown(world, 'motto')
      assert.match(page, /<p>What you live by<\/p>/)
      assert.match(page, /Onwards/)
      const listing = await (await world.browser.get('/properties')).text()
      assert.equal(/<h2 id="unset">.*properties\/even/s.test(listing), false)
      assert.equal((await world.actor.request('DELETE', '/properties/even')).status, 204)
      assert.match(await shown(world, 'even'), /Not set yet/)
    })

    it('keeps the refused input, with the reason at the field', async () => {
      const world = await open()
      const sent = { value_type: 'fields', version: 'none', 'fields/a': 'four' }
      const answer = await world.browser.send('/properties/even', sent)
      const page = await answer.text()
      assert.equal(answer.status, 400)
      assert.match(tag(page, 'value-fields/a'), / value="four".*aria-invalid="true" autofocus/)
      const json = { value_type: 'json', version: 'none', value: '{' }
      const other = await world.browser.send('/properties/free', json)
      assert.equal(other.status, 400)
      assert.match(tag(await other.text(), 'value'), /aria-invalid="true"/)
      assert.equal((await world.actor.request('GET', '/properties/even')).status, 404)
    })

    it('is not overwritten when another client set it meanwhile', async () => {
      const world = await open()
      const version = hidden(await shown(world, 'even'), 'version')
      await world.actor.request('PUT', '/properties/even', { a: 2 })
      const answer = await world.browser.send('/properties/even', { value_type: 'fields', version, 'fields/a': '4' })
      assert.equal(answer.status, 409)
      assert.match(await answer.text(), /<textarea id="conflict-value"[^>]*>\n\{\n {2}&quot;a&quot;: 4\n\}/)
      assert.deepEqual(await stored(world, 'even'), { a: 2 })
    })

    it('has no such page when it is hidden, and other names have none', async () => {
      const world = await open()
      await world.actor.request('PUT', '/properties/secret', 'hidden by a hook')
      for (const name of ['secret', 'nothing']) {
        const answer = await world.browser.get(`/properties/${name}`)
        assert.equal(answer.status, 404, name)
      }
      const listing = await (await world.browser.get('/properties')).text()
      assert.equal(listing.includes('/properties/secret"'), false)
    })
  })

  it('gives the fields to pages of the application', async () => {
    const properties: PageValues<'property'>[] = []
    const service = await start({ declare, pages: { property: (values) => (properties.unshift(values), html`own`) } })
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    await actor.request('POST', '/properties/tasks', { text: 'Milk' })
    await browser.get('/properties/tasks')
    assert.equal(properties[0]?.items[0]?.fields, null)
    await browser.get(`/properties/tasks?edit=${properties[0]?.items[0]?.handle}`)
    const [values] = properties
    const valuesOf = (fields: PageValues<'property'>['fields']): unknown =>
      fields?.members.map(({ name, value }) => [name, value])
    assert.deepEqual(valuesOf(values?.items[0]?.fields ?? null), [
      ['fields/text', 'Milk'],
      ['fields/done', 'false'],
      ['fields/due', ''],
    ])
    assert.deepEqual(valuesOf(values?.new_fields ?? null), [
      ['fields/text', ''],
      ['fields/done', 'false'],
      ['fields/due', ''],
    ])
    assert.equal(values?.fields, null)
    await browser.get('/properties/budget')
    assert.equal(properties[0]?.fields?.members[0]?.value, '500')
    assert.equal(properties[0]?.new_fields, null)
  })
})
