/* cspell:ignore Wert Speichern Rückgängig machen gemacht Verlauf Bearbeiten Gespeichert */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { faultsInEveryLook } from '../support/browser.ts'
import { everything, TestCallers } from '../support/callers.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
const callers = new TestCallers()
let service: TestService

before(async () => {
  service = await start({ listen: true, ...callers.parts })
})

/** An owner whose app has changed two properties, one of which the owner changed again. */
async function afterAnApp(): Promise<TestActor> {
  const actor = await service.createActor()
  await actor.request('PUT', '/properties', { color: 'red', preferences: { theme: 'dark', size: 1 } })
  const token = callers.client(actor.id, { grants: everything })
  const changes = { color: 'blue', preferences: { theme: 'light', size: 1, font: 'serif' } }
  for (const [name, value] of Object.entries(changes)) {
    const answer = await fetch(`${service.url}/${actor.id}/properties/${name}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(value),
    })
    assert.equal(answer.status, 204)
  }
  await actor.request('PUT', '/properties/color', 'green')
  return actor
}

async function colorOf(actor: TestActor): Promise<string> {
  return (await actor.request('GET', '/properties/color')).text()
}

describe('the history, in a real browser', () => {
  const ways = [
    {
      how: 'with JavaScript',
      options: {},
      words: { edit: 'Edit', value: 'Value', save: 'Save', saved: 'Saved.', undo: 'Undo', undone: 'Undone.' },
    },
    {
      how: 'without JavaScript, in German',
      options: { javaScriptEnabled: false, locale: 'de-DE' },
      words: {
        edit: 'Bearbeiten',
        value: 'Wert',
        save: 'Speichern',
        saved: 'Gespeichert.',
        undo: 'Rückgängig machen',
        undone: 'Rückgängig gemacht.',
      },
    },
  ]
  for (const { how, options, words } of ways)
    it(`takes back a change with one click ${how}`, async () => {
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      const page = await visitAsOwner(service, actor, '/properties/color', options)
      await page.getByText(words.edit, { exact: true }).click()
      await page.getByRole('textbox', { name: words.value, exact: true }).fill('blue')
      await page.getByRole('button', { name: words.save }).click()
      assert.equal(await page.getByRole('status').textContent(), words.saved)
      assert.equal(await colorOf(actor), 'blue')
      await page.getByRole('button', { name: words.undo, exact: true }).click()
      assert.equal(await page.getByRole('status').textContent(), words.undone)
      assert.equal(await colorOf(actor), 'red')
      assert.deepEqual(page.complaints, [])
    })

  for (const javaScriptEnabled of [true, false])
    it(`takes back everything that an app did, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const actor = await afterAnApp()
      const page = await visitAsOwner(service, actor, '/properties', { javaScriptEnabled })
      await page.getByRole('link', { name: 'History' }).click()
      await page
        .getByRole('link', { name: /Undo everything by/ })
        .last()
        .click()
      await page.getByRole('heading', { name: '1 property will be as before' }).waitFor()
      await page.getByRole('heading', { name: '1 property stays as now' }).waitFor()
      await page.getByRole('button', { name: 'Undo 1 property' }).click()
      assert.equal(await page.getByRole('status').textContent(), 'Undone, except for what has changed since.')
      assert.equal(await colorOf(actor), 'green')
      const preferences = await (await actor.request('GET', '/properties/preferences')).json()
      assert.deepEqual(preferences, { theme: 'dark', size: 1 })
      assert.deepEqual(page.complaints, [])
    })

  it('has no faults on a phone and a desktop, in light and dark', async () => {
    const actor = await afterAnApp()
    for (const path of ['/history', '/history?name=preferences', '/history/undo?name=preferences']) {
      const page = await visitAsOwner(service, actor, path, { bypassCSP: true })
      assert.deepEqual(await faultsInEveryLook(page), [], path)
    }
  })
})
