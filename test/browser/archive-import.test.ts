/* cspell:ignore Archiv importieren Importieren Beendet Letzter */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { faultsInEveryLook, type WatchedPage } from '../support/browser.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const start = sqliteService()
let released = Promise.withResolvers<void>()

afterEach(() => released.resolve())

/** A service whose property `slow` is stored when the test allows it. */
async function begin(): Promise<{ service: TestService; actor: TestActor; archive: string }> {
  released = Promise.withResolvers<void>()
  const service = await start({
    listen: true,
    name: 'Notes',
    declare: (app) => {
      app.property('slow', {
        put: async ({ value }) => {
          await released.promise
          return value
        },
      })
      app.property('locked', { put: () => null })
    },
  })
  const from = await service.createActor('old@example.com')
  await from.request('POST', '/properties', { color: 'blue', shape: 'round', slow: 1, notes: { _type: 'list' } })
  for (const note of ['milk', 'bread']) await from.request('POST', '/properties/notes', JSON.stringify(note))
  await from.request('PUT', '/files/a.txt', 'hello')
  return { service, actor: await service.createActor('ada@example.com'), archive: await archiveOf(from) }
}

const archiveOf = async (actor: TestActor): Promise<string> => (await actor.request('GET', '/export')).text()

async function choose(page: WatchedPage, archive: string): Promise<void> {
  const file = { name: 'ada.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from(archive) }
  await page.locator('#file').setInputFiles(file)
}

const words = {
  en: { title: 'Import an archive', button: 'Import', done: /^Finished/, last: 'Last import' },
  de: { title: 'Archiv importieren', button: 'Importieren', done: /^Beendet/, last: 'Letzter Import' },
} as const

/** Waits for a text: live with scripts, otherwise by loading the page again. */
async function sees(page: WatchedPage, text: RegExp, live: boolean): Promise<void> {
  const seen = page.getByText(text).first()
  if (live) return seen.waitFor()
  while (!(await seen.isVisible())) await page.reload()
}

const tableOf = async (page: WatchedPage): Promise<string[]> =>
  (await page.locator('#last').locator('xpath=..').locator('tbody tr').allInnerTexts()).map((row) =>
    row.replace(/\s+/g, ' ').trim(),
  )

describe('the page that imports an archive', () => {
  for (const locale of ['en', 'de'] as const)
    for (const javaScriptEnabled of [true, false]) {
      it(`shows the import until its end, in ${locale}, with${javaScriptEnabled ? '' : 'out'} JavaScript (R-LOOK-04, R-PAGE-28)`, async () => {
        const { service, actor, archive } = await begin()
        const page = await visitAsOwner(service, actor, '/settings', { locale, javaScriptEnabled })
        await page.locator('#import').locator('xpath=..').getByRole('link').click()
        await page.getByRole('heading', { level: 1, name: words[locale].title }).waitFor()
        await choose(page, archive)
        await page.getByRole('button', { name: words[locale].button, exact: true }).click()
        await page.getByRole('progressbar').waitFor()
        await page.getByRole('heading', { level: 2, name: words[locale].last }).waitFor()
        released.resolve()
        await sees(page, words[locale].done, javaScriptEnabled)
        assert.deepEqual(
          (await tableOf(page)).map((row) => row.replace(/^\D+/, '')),
          ['3 0', '1 0', '2 0', '1 0'],
        )
        assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'blue')
        assert.deepEqual(page.complaints, [])
      })
    }

  it('has no accessibility violation in any look, with names that are in use and refused (R-LOOK-01)', async () => {
    const { service, actor } = await begin()
    released.resolve()
    await actor.request('PUT', '/properties', { color: 'red', ['x'.repeat(300)]: 1 })
    const from = await service.createActor('new@example.com')
    await from.request('PUT', '/properties', { color: 'blue', shape: 'round', ['x'.repeat(300)]: 2 })
    const text = await archiveOf(from)
    const withLocked = text
      .replace('{"kind":"property","name":"shape"', '{"kind":"property","name":"locked","value":1}\n$&')
      .replace(/"records":(\d+)/, (_all, records: string) => `"records":${Number(records) + 1}`)
    const page = await visitAsOwner(service, actor, '/import', { bypassCSP: true })
    await choose(page, withLocked)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText(/^Finished/).waitFor()
    const main = await page.locator('main').innerText()
    assert.match(main, /Not imported: 2 names in use/)
    assert.match(main, /Not accepted: 1 record/)
    assert.deepEqual(await faultsInEveryLook(page), [])
    // The second time, the archive replaces what is there.
    await page.getByRole('radio', { name: 'Replace it with the archive' }).check()
    await choose(page, withLocked)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Import started.').waitFor()
    await page.getByText(/Not imported/).waitFor({ state: 'detached' })
    await service.settled()
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'blue')
  })

  it('says at the field why a file cannot be imported, and changes nothing (R-PAGE-02)', async () => {
    const { service, actor } = await begin()
    const page = await visitAsOwner(service, actor, '/import', { bypassCSP: true })
    await choose(page, '{"kind":"archive"}\n')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    const field = page.locator('#file[aria-invalid=true]')
    await field.waitFor()
    assert.match(await page.locator('main').innerText(), /version/)
    assert.deepEqual(await faultsInEveryLook(page), [])
    assert.equal((await actor.request('GET', '/import')).status, 404)
  })

  it('stops an import (R-PAGE-28)', async () => {
    const { service, actor, archive } = await begin()
    const page = await visitAsOwner(service, actor, '/import', { javaScriptEnabled: false })
    await choose(page, archive)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('button', { name: 'Stop import' }).waitFor()
    assert.equal(await page.locator('#file').count(), 0, 'no form while an import runs')
    await page.getByRole('button', { name: 'Stop import' }).click()
    await page.getByText('Import stopped.').waitFor()
    assert.equal(await page.locator('#file').count(), 1)
    assert.match(await page.locator('main').innerText(), /Stopped .*What came in stays/)
    released.resolve()
  })
})
