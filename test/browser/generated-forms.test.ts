/** Generated forms for declared data in a browser: accessibility, constraints, the keyboard, and pages without JavaScript. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { z } from 'zod'
import { faultsInEveryLook, hasFocus, phone, type WatchedPage, unfold } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let service: TestService

before(async () => {
  service = await start({
    listen: true,
    name: 'Notes',
    declare: (app) => {
      app.property('event', {
        schema: z.object({
          title: z.string().min(1).max(40).describe('Shown to your guests'),
          code: z.string().regex(/^[A-Z]{2}$/),
          guests: z.int().min(1).max(20),
          price: z.number().nullable(),
          open: z.boolean(),
          kind: z.enum(['party', 'dinner']),
          day: z.iso.date(),
          at: z.iso.datetime({ offset: true }).optional(),
          notes: z.string().max(2000).optional(),
          place: z.object({ street: z.string().min(3), city: z.string().optional() }).optional(),
          tags: z.array(z.string()),
        }),
        default: {
          title: 'Supper',
          code: 'AB',
          guests: 4,
          price: null,
          open: false,
          kind: 'dinner',
          day: '2030-01-02',
          tags: [],
        },
      })
      app.property('motto', { schema: z.string().min(2), description: 'What you live by' })
      app.list('tasks', { item: z.object({ text: z.string().min(2), done: z.boolean().default(false) }) })
    },
  })
})

async function visit(
  path: string,
  options: BrowserContextOptions = {},
): Promise<{ page: WatchedPage; actor: TestActor }> {
  const actor = await service.createActor(`ada${Math.random()}@example.com`)
  for (const text of ['Milk', 'Bread']) await actor.request('POST', '/properties/tasks', { text })
  return { page: await visitAsOwner(service, actor, path, options), actor }
}

async function stored(actor: TestActor, name: string): Promise<unknown> {
  return (await actor.request('GET', `/properties/${name}`, undefined, { accept: 'application/json' })).json()
}

describe('the form of a declared value that is not set', () => {
  it('is reached from the properties by the keyboard, checks its field, and sets the value', async () => {
    const { page, actor } = await visit('/properties', { viewport: phone })
    await page.getByRole('heading', { name: 'Not set yet' }).waitFor()
    await page.getByRole('link', { name: 'motto' }).focus()
    await page.keyboard.press('Enter')
    const field = page.getByRole('textbox', { name: 'Value (required)' })
    await field.waitFor()
    await field.fill('x')
    await page.keyboard.press('Enter')
    assert.equal(
      await field.evaluate((input: { readonly validity?: { readonly tooShort: boolean } }) => input.validity?.tooShort),
      true,
    )
    await field.fill('Onwards')
    await page.keyboard.press('Enter')
    await page.getByText('Saved').waitFor()
    assert.equal(await stored(actor, 'motto'), 'Onwards')
  })
})

describe('a generated form', () => {
  it('has no accessibility violation in any look, also with a refused field', async () => {
    const { page, actor } = await visit('/properties/event', { bypassCSP: true })
    for (const path of ['/properties/event', '/properties/tasks', '/properties/motto', '/properties']) {
      await page.goto(`${service.url}/${actor.id}/www${path}`)
      await page.evaluate(unfold)
      assert.deepEqual(await faultsInEveryLook(page), [], path)
    }
    await page.goto(`${service.url}/${actor.id}/www/properties/event`)
    await page.getByText('Edit', { exact: true }).click()
    await page.getByLabel('city').fill('Rome')
    await page.evaluate('for (const one of document.querySelectorAll("form")) one.noValidate = true')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByRole('alert').waitFor()
    await hasFocus(page, '[id="value-fields/place/street"]')
    assert.deepEqual(await faultsInEveryLook(page), [])
  })

  for (const javaScriptEnabled of [true, false]) {
    it(`saves what is typed with the keyboard, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const { page, actor } = await visit('/properties/event', { javaScriptEnabled })
      await page.getByText('Edit', { exact: true }).press('Enter')
      await page.getByLabel('title').fill('Garden party')
      await page.keyboard.press('Tab')
      await page.keyboard.type('XY')
      await page.keyboard.press('Tab')
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type('7')
      await page.getByLabel('price').fill('12.5')
      await page.getByRole('checkbox', { name: 'open' }).press('Space')
      await page.getByLabel('kind').selectOption('party')
      await page.getByLabel('day').fill('2030-06-01')
      await page.getByLabel('at (optional)').fill('2030-06-01T18:30')
      await page.getByLabel('street').fill('Main Street')
      await page.getByLabel('tags').fill('green\nlate')
      await page.getByLabel('title').press('Enter')
      await page.getByRole('status').waitFor()
      assert.deepEqual(await stored(actor, 'event'), {
        title: 'Garden party',
        code: 'XY',
        guests: 7,
        price: 12.5,
        open: true,
        kind: 'party',
        day: '2030-06-01',
        at: '2030-06-01T18:30:00Z',
        place: { street: 'Main Street' },
        tags: ['green', 'late'],
      })
    })
  }

  // A field of the browser would read 1.000 by the language of the browser, and not by that of the page.
  it('has its numbers checked by the service, and keeps what was typed', async () => {
    const { page, actor } = await visit('/properties/event')
    await page.getByText('Edit', { exact: true }).click()
    for (const wrong of ['21', '0', '2.5', '1,5', 'many']) {
      await page.locator('[id="value-fields/guests"]').fill(wrong)
      await page.getByRole('button', { name: 'Save' }).first().click()
      const refused = page.locator(`[id="value-fields/guests"][aria-invalid="true"][value="${wrong}"]`)
      await refused.waitFor()
      assert.equal(((await stored(actor, 'event')) as { guests: number }).guests, 4)
    }
    await page.locator('[id="value-fields/guests"]').fill('20')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByRole('status').waitFor()
    assert.equal(((await stored(actor, 'event')) as { guests: number }).guests, 20)
  })

  it('is checked by the browser before it is sent', async () => {
    const { page, actor } = await visit('/properties/event')
    await page.getByText('Edit', { exact: true }).click()
    const wrongs = [
      ['title', '', 'valueMissing'],
      ['code', 'abc', 'patternMismatch'],
      ['guests', '', 'valueMissing'],
      ['day', '', 'valueMissing'],
    ] as const
    for (const [name, wrong, problem] of wrongs) {
      const field = page.locator(`[id="value-fields/${name}"]`)
      const before = await field.inputValue()
      await field.fill(wrong)
      const problems = await page.evaluate(
        `{ const { validity } = document.getElementById('value-fields/${name}')
          ;['valueMissing', 'patternMismatch'].filter((one) => validity[one]) }`,
      )
      assert.deepEqual(problems, [problem], `${name} ${wrong}`)
      await field.fill(before)
    }
    await page.locator('[id="value-fields/title"]').fill('')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await hasFocus(page, '[id="value-fields/title"]')
    assert.equal(((await stored(actor, 'event')) as { title: string }).title, 'Supper')
    await page.keyboard.type('Lunch')
    await page.keyboard.press('Enter')
    await page.getByRole('status').waitFor()
    const { title, place } = (await stored(actor, 'event')) as { title: string; place?: object }
    assert.deepEqual([title, place], ['Lunch', undefined])
  })

  it('adds and changes items of a list', async () => {
    const { page, actor } = await visit('/properties/tasks')
    await page.locator('summary', { hasText: 'Add item' }).click()
    const addition = page.locator('#add')
    await addition.getByLabel('text').first().fill('Oats')
    await addition.getByRole('checkbox', { name: 'done' }).check()
    await addition.getByRole('button', { name: 'Add item' }).first().click()
    await page.getByRole('status').waitFor()
    const first = page.locator('#item-0')
    await first.getByText('Edit').first().click()
    await first.getByLabel('text').first().fill('Soy milk')
    await first.getByRole('button', { name: 'Save' }).first().click()
    await page.getByText('Soy milk').first().waitFor()
    assert.deepEqual(await stored(actor, 'tasks'), [
      { text: 'Soy milk', done: false },
      { text: 'Bread', done: false },
      { text: 'Oats', done: true },
    ])
  })
})
