import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { faultsInEveryLook, hasFocus, openPage, type WatchedPage } from '../support/browser.ts'
import { relate } from '../support/friends.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const begin = sqliteService()
let service: TestService

before(async () => {
  service = await begin({
    listen: true,
    name: 'Notes',
    declare: (app) => app.property('fixed', { put: () => null }),
  })
})

function visit(actor: TestActor, path = '', options: BrowserContextOptions = {}): Promise<WatchedPage> {
  return visitAsOwner(service, actor, path, options)
}

async function furnished(): Promise<TestActor> {
  const actor = await service.createActor(`ada${Math.random()}@example.com`)
  await actor.request('POST', '/properties', { age: 36, color: 'blue', notes: { _type: 'list' } })
  for (const item of ['Milk', 'Bread']) await actor.request('POST', '/properties/notes', JSON.stringify(item))
  return actor
}

/** Sends the form and returns the status of the response. */
async function send(page: Page, button: string, form = 'main'): Promise<number> {
  const answer = page.waitForResponse((each) => each.request().method() === 'POST')
  await page.locator(form).getByRole('button', { name: button, exact: true }).click()
  const status = (await answer).status()
  await page.waitForLoadState()
  return status
}

/** Loads the page without its script, whose live updates would disturb the filled form. */
async function freeze(page: Page): Promise<void> {
  await page.route('**/assets/troupe.*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }))
  await page.reload()
}

/** Disables the validation of the browser, so that the service receives the form. */
const unchecked = 'for (const one of document.querySelectorAll("form")) one.noValidate = true'

interface Wrong {
  readonly what: string
  readonly path: string
  readonly fold?: string
  /** Id of the invalid field, its typed value, and the values of other fields. */
  readonly field: string
  readonly typed: string
  readonly also?: Readonly<Record<string, string>>
  readonly json?: boolean
  readonly button: string
  readonly status: number
  readonly message: RegExp
}

const wrongs: readonly Wrong[] = [
  {
    what: 'a new value without a name',
    path: '/properties',
    fold: 'Value',
    field: 'new-name',
    typed: '',
    also: { 'new-value': 'kept' },
    button: 'Create property',
    status: 400,
    message: /Enter a name/,
  },
  {
    what: 'a new value with an invalid name',
    path: '/properties',
    fold: 'Value',
    field: 'new-name',
    typed: 'a/b',
    also: { 'new-value': 'kept' },
    button: 'Create property',
    status: 400,
    message: /it contains a slash/,
  },
  {
    what: 'a new value that is not JSON',
    path: '/properties',
    fold: 'Value',
    field: 'new-value',
    typed: '{x',
    also: { 'new-name': 'kept' },
    json: true,
    button: 'Create property',
    status: 400,
    message: /Invalid JSON at line 1/,
  },
  {
    what: 'a new list whose name is taken',
    path: '/properties',
    fold: 'List',
    field: 'new-list',
    typed: 'notes',
    also: { 'new-description': 'kept' },
    button: 'Create list',
    status: 400,
    message: /The list “notes” already exists/,
  },
  {
    what: 'a value that is not JSON',
    path: '/properties/color',
    fold: 'Edit',
    field: 'value',
    typed: '{x',
    json: true,
    button: 'Save',
    status: 400,
    message: /Invalid JSON at line 1/,
  },
  {
    what: 'a value that is not a number',
    path: '/properties/age',
    fold: 'Edit',
    field: 'value',
    typed: 'seven',
    button: 'Save',
    status: 400,
    message: /“seven” isn’t a number/,
  },
  {
    what: 'a new item without a value',
    path: '/properties/notes',
    fold: 'Add item',
    field: 'new-item',
    typed: '',
    button: 'Add item',
    status: 400,
    message: /Enter a value/,
  },
  {
    what: 'the deletion of the actor without its name',
    path: '/settings',
    fold: 'Delete account…',
    field: 'confirmation',
    typed: 'someone',
    button: 'Delete account permanently',
    status: 400,
    message: /That doesn’t match\. Type /,
  },
  {
    what: 'a request to an invalid address',
    path: '/trust/new',
    field: 'peer_url',
    typed: 'http://',
    also: { description: 'kept' },
    button: 'Review request',
    status: 400,
    message: /Enter an account URL, like/,
  },
]

/** Asserts the markup of an invalid field, with or without scripts. */
async function assertMarked(page: Page, field: string, message: RegExp): Promise<void> {
  const input = page.locator(`#${field}`)
  assert.equal(await input.getAttribute('aria-invalid'), 'true')
  const described = ((await input.getAttribute('aria-describedby')) ?? '').split(' ')
  assert.equal(described.includes(`${field}-error`), true)
  assert.match((await page.locator(`#${field}-error`).textContent()) ?? '', message)
  assert.equal(await page.locator(`#${field}-error`).isVisible(), true)
  assert.equal(await input.getAttribute('autofocus'), '')
  await hasFocus(page, `#${field}`)
  assert.equal(await page.locator('[aria-invalid]').count(), 1)
  assert.equal(await page.locator(`[id="${field}"]`).count(), 1)
}

describe('a form with errors', () => {
  for (const { what, path, fold, field, typed, also = {}, json, button, status, message } of wrongs) {
    it(`marks the field, keeps the typed values and focuses the field for ${what}`, async () => {
      const page = await visit(await furnished(), path, { bypassCSP: true })
      await freeze(page)
      if (fold !== undefined) await page.locator('summary', { hasText: fold }).click()
      await page.evaluate(unchecked)
      await page.locator(`#${field}`).fill(typed)
      for (const [id, text] of Object.entries(also)) await page.locator(`#${id}`).fill(text)
      if (json === true)
        await page
          .locator('form', { has: page.locator(`#${field}`) })
          .getByLabel('JSON')
          .check()
      assert.equal(await send(page, button), status)
      await assertMarked(page, field, message)
      assert.equal(await page.locator(`#${field}`).inputValue(), typed)
      for (const [id, text] of Object.entries(also)) assert.equal(await page.locator(`#${id}`).inputValue(), text)
      assert.equal(await page.getByRole('alert').getByRole('link').getAttribute('href'), `#${field}`)
      assert.deepEqual(await faultsInEveryLook(page), [])
    })
  }

  it('marks the field also without JavaScript', async () => {
    const page = await visit(await furnished(), '/trust/new', { javaScriptEnabled: false })
    await page.locator('#peer_url').fill('http://')
    await page.getByRole('button', { name: 'Review request' }).click()
    await assertMarked(page, 'peer_url', /Enter an account URL, like/)
  })

  it('marks an invalid field of the rights of a peer, and unfolds its section', async () => {
    const actor = await furnished()
    const peer = await service.createActor(`grace${Math.random()}@example.com`)
    await relate(peer, [service, actor])
    const page = await visit(actor, `/trust/${peer.id}`, { bypassCSP: true })
    await page.getByText('Advanced', { exact: true }).click()
    await page.locator('summary', { hasText: 'Methods' }).click()
    await page.locator('#methods-denied').fill('x'.repeat(1025))
    assert.equal(await send(page, 'Preview changes'), 400)
    await assertMarked(page, 'methods-denied', /methods\.denied must be a list of names/)
    assert.deepEqual(await faultsInEveryLook(page), [])
  })

  it('marks an invalid field of the front page', async () => {
    const page = await openPage({ bypassCSP: true })
    await page.goto(`${service.url}/`)
    await page.evaluate(unchecked)
    assert.equal(await send(page, 'Create account'), 400)
    await assertMarked(page, 'creator', /Enter your email address\./)
    assert.deepEqual(await faultsInEveryLook(page), [])
  })
})

describe('a form for an older version', () => {
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'
    it(`shows the stored value beside the typed one, and saves the one that the owner chooses, ${how}`, async () => {
      const actor = await furnished()
      const page = await visit(actor, '/properties/color', { javaScriptEnabled })
      await page.getByText('Edit', { exact: true }).click()
      await page.locator('#value').fill('green')
      await actor.request('PUT', '/properties/color', 'yellow')
      assert.equal(await send(page, 'Save'), 409)
      const conflict = page.locator('#conflict')
      assert.match((await conflict.textContent()) ?? '', /Stored now\s*yellow/)
      assert.equal(await page.locator('#conflict-value').inputValue(), 'green')
      await conflict.getByRole('button', { name: 'Save mine' }).click()
      await page.getByRole('status').waitFor()
      assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'green')
      await page.getByText('Edit', { exact: true }).click()
      await page.locator('#value').fill('brown')
      await actor.request('PUT', '/properties/color', 'red')
      assert.equal(await send(page, 'Save'), 409)
      await conflict.getByRole('link', { name: 'Use the stored version' }).click()
      await page.locator('.value', { hasText: 'red' }).waitFor()
      assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'red')
      assert.equal(await conflict.count(), 0)
    })

    it(`can add the value typed for a deleted item as a new item, ${how}`, async () => {
      const actor = await furnished()
      const page = await visit(actor, '/properties/notes', { javaScriptEnabled })
      await page.getByRole('link', { name: 'Edit item 2' }).click()
      await page.locator('#item-value-1').fill('Rolls')
      await actor.request('DELETE', '/properties/notes?index=1')
      await actor.request('POST', '/properties/notes', JSON.stringify('Salt'))
      assert.equal(await send(page, 'Save', '#item-1'), 409)
      assert.match((await page.locator('#conflict').textContent()) ?? '', /The item was removed\./)
      await page.getByRole('button', { name: 'Add mine as a new item' }).click()
      await page.getByRole('status').waitFor()
      assert.deepEqual(await (await actor.request('GET', '/properties/notes')).json(), ['Milk', 'Salt', 'Rolls'])
    })
  }

  it('has no accessibility violation in any look', async () => {
    const actor = await furnished()
    const options = { bypassCSP: true }
    const page = await visit(actor, '/properties/color', options)
    await freeze(page)
    await page.getByText('Edit', { exact: true }).click()
    await page.locator('#value').fill('green')
    await actor.request('PUT', '/properties/color', 'yellow')
    assert.equal(await send(page, 'Save'), 409)
    await assertSettled(page)
    await page.goto(`${service.url}/${actor.id}/www/properties/color`)
    await page.getByRole('button', { name: 'Delete…' }).click()
    await actor.request('PUT', '/properties/color', 'red')
    assert.equal(await send(page, 'Delete “color”'), 409)
    await assertSettled(page)
    await page.goto(`${service.url}/${actor.id}/www/properties/notes`)
    await page.getByRole('link', { name: 'Edit item 2' }).click()
    await page.locator('#item-value-1').fill('Rolls')
    await actor.request('PUT', '/properties/notes?index=1', JSON.stringify('Baguette'))
    assert.equal(await send(page, 'Save', '#item-1'), 409)
    await assertSettled(page)
    await page.goto(`${service.url}/${actor.id}/www/properties`)
    await page.locator('summary', { hasText: 'Value' }).click()
    await page.locator('#new-name').fill('color')
    await page.locator('#new-value').fill('mine')
    assert.equal(await send(page, 'Create property'), 409)
    await assertSettled(page)
  })
})

async function assertSettled(page: WatchedPage): Promise<void> {
  assert.deepEqual(await faultsInEveryLook(page), [])
}
