/* cspell:ignore Größte Gezählt gerade eben Link zur Anmeldung erstellen löschen Geben Sie Bestätigung ein gelöscht Fehlschlagende Aktualisierungen Langsame Dienste Zustand Konten Zustellung Verbundene Suchen Anfang Adresse Person oder eine Kennung Konto öffnen Seiten für den Betrieb Fehlgeschlagenes wiederholen Jetzt */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { desktop, faultsInEveryLook, openPage, phone, type WatchedPage, unfold } from '../support/browser.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const start = sqliteService()
const provider = sharedProvider()
let service: TestService
let token: string
let actor: TestActor

before(async () => {
  service = await start({ listen: true, name: 'Notes', admins: ['ada@example.com'], ...signInAt(await provider()) })
  const browser = new TestBrowser(service)
  await signIn(browser, await provider(), 'ada')
  token = browser.cookies.get('oauth_token') ?? assert.fail()
  for (let n = 0; n < 26; n++) actor = await service.createActor(`person-${n}@example.com`)
  await actor.request('PUT', '/properties/color', 'blue')
  await authorizeClient(service, actor)
})

async function visit(path: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const page = await openPage({ viewport: desktop, ...options })
  await page
    .context()
    .addCookies([{ name: 'oauth_token', value: token, url: service.url, httpOnly: true, sameSite: 'Lax' }])
  await page.goto(`${service.url}${path}`)
  return page
}

describe('the pages of operators, in a real browser', () => {
  for (const javaScriptEnabled of [true, false]) {
    it(`lead from the numbers to an account, and retry what failed, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const page = await visit('/admin', { javaScriptEnabled })
      await page.getByRole('heading', { name: 'Status' }).waitFor()
      await page.getByRole('link', { name: 'Accounts' }).click()
      await page.getByRole('link', { name: 'Older' }).click()
      await page.getByRole('link', { name: 'person-0@example.com' }).waitFor()
      await page.getByLabel('Beginning of the owner’s address, or an ID').fill('person-25')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('link', { name: 'person-25@example.com' }).click()
      await page.getByText('This address was never proved.').waitFor()
      await page.getByRole('button', { name: 'Retry what failed' }).click()
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByRole('status').filter({ hasText: 'Retrying the failed updates.' }).waitFor()
      await page.getByRole('link', { name: 'Deliveries' }).click()
      await page.getByText('Every subscriber gets its updates.').waitFor()
      await page.getByRole('link', { name: 'Connected apps' }).click()
      await page.getByRole('columnheader', { name: 'Connections' }).waitFor()
      assert.deepEqual(page.complaints, [])
    })
  }

  for (const javaScriptEnabled of [true, false])
    it(`list the largest, make a link that signs the owner in, and delete a typed account, on a phone ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const creator = `huge-${javaScriptEnabled}@example.com`
      const largest = await service.createActor(creator)
      await largest.request('PUT', '/properties/text', 'x'.repeat(9000))
      const page = await visit('/admin/actors', { javaScriptEnabled, viewport: phone })
      await page.getByRole('link', { name: 'Largest', exact: true }).click()
      await page.getByText('Counted just now.').waitFor()
      assert.equal(await page.locator('tbody th a').first().textContent(), creator)
      await page.getByRole('link', { name: creator }).click()
      await page.getByRole('button', { name: 'Make a sign-in link' }).first().click()
      await page.getByRole('button', { name: 'Make a sign-in link' }).last().click()
      const link = (await page.locator('#link-text').textContent()) ?? ''
      const owner = await openPage({ javaScriptEnabled, viewport: phone })
      await owner.goto(link)
      await owner.getByRole('button', { name: 'Sign in' }).click()
      await owner.waitForURL(`${service.url}/${largest.id}/www`)
      assert.deepEqual(owner.complaints, [])
      await page.locator('summary', { hasText: 'Delete the account' }).click()
      await page.getByLabel(`Type ${largest.id} to confirm`).fill(creator)
      await page.locator('button.danger', { hasText: 'Delete the account' }).click()
      await page.getByText('That is not the ID of this account.').waitFor()
      await page.getByLabel(`Type ${largest.id} to confirm`).fill(largest.id)
      await page.locator('button.danger', { hasText: 'Delete the account' }).click()
      await page.getByRole('status').filter({ hasText: 'Account deleted.' }).waitFor()
      assert.equal((await service.request(`/${largest.id}/properties`)).status, 404)
    })

  it('list the largest, make a link and delete a typed account, in German', async () => {
    const largest = await service.createActor('huge-de@example.com')
    await largest.request('PUT', '/properties/text', 'x'.repeat(9000))
    const page = await visit('/admin/actors', { locale: 'de-DE' })
    await page.getByRole('link', { name: 'Größte' }).click()
    await page.getByText('Gezählt gerade eben.').waitFor()
    await page.getByRole('link', { name: 'huge-de@example.com' }).click()
    await page.getByRole('button', { name: 'Link zur Anmeldung erstellen' }).first().click()
    await page.getByRole('button', { name: 'Link zur Anmeldung erstellen' }).last().click()
    await page.locator('#link-text').waitFor()
    await page.locator('summary', { hasText: 'Konto löschen' }).click()
    await page.getByLabel(`Geben Sie zur Bestätigung ${largest.id} ein`).fill(largest.id)
    await page.locator('button.danger', { hasText: 'Konto löschen' }).click()
    await page.getByRole('status').filter({ hasText: 'Konto gelöscht.' }).waitFor()
    await page.goto(`${service.url}/admin`)
    await page.getByRole('heading', { name: 'Fehlschlagende Aktualisierungen' }).waitFor()
    await page.getByRole('heading', { name: 'Langsame Dienste' }).waitFor()
    assert.deepEqual(page.complaints, [])
  })

  it('open from the settings of the operator, in German', async () => {
    const page = await visit('/admin', { locale: 'de-DE' })
    await page.getByRole('heading', { name: 'Zustand' }).waitFor()
    await page.getByRole('link', { name: 'Konto öffnen' }).click()
    await page.goto(`${page.url().replace(/\/$/, '')}/settings`)
    await page.getByRole('link', { name: 'Seiten für den Betrieb öffnen' }).click()
    await page.getByRole('link', { name: 'Konten' }).click()
    await page.getByLabel('Anfang der Adresse der Person, oder eine Kennung').fill(actor.id)
    await page.getByRole('button', { name: 'Suchen' }).click()
    await page.getByRole('link', { name: 'person-25@example.com' }).click()
    await page.getByRole('button', { name: 'Fehlgeschlagenes wiederholen' }).click()
    await page.getByRole('button', { name: 'Jetzt wiederholen' }).click()
    await page.getByRole('status').waitFor()
    assert.deepEqual(page.complaints, [])
  })

  it('have no accessibility violation in any look (R-LOOK-01)', async () => {
    await failAndDelay()
    const page = await visit('/admin', { bypassCSP: true })
    await page.getByRole('cell', { name: 'The peer answered 403' }).waitFor()
    await page.getByRole('rowheader', { name: 'slow.test' }).waitFor()
    const ofActor = `/admin/actors/${actor.id}`
    for (const path of [
      '/admin',
      '/admin/actors?sort=size',
      ofActor,
      '/admin/deliveries',
      '/admin/apps',
      '/admin/operators',
    ]) {
      await page.goto(`${service.url}${path}`)
      await page.evaluate(unfold)
      assert.deepEqual(await faultsInEveryLook(page), [], path)
    }
    await page.goto(`${service.url}${ofActor}`)
    await page.locator('summary', { hasText: 'Delete the account' }).click()
    await page.getByLabel(`Type ${actor.id} to confirm`).fill('wrong')
    await page.locator('button.danger', { hasText: 'Delete the account' }).click()
    await page.getByText('That is not the ID of this account.').waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [], 'the refused deletion')
    await page.getByRole('button', { name: 'Make a sign-in link' }).first().click()
    await page.getByRole('button', { name: 'Make a sign-in link' }).last().click()
    await page.locator('#link-text').waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [], 'the made link')
  })
})

/** Stores a subscription whose delivery stopped, and a slow call to a peer. */
async function failAndDelay(): Promise<void> {
  const { store, parts } = await service.app.running()
  const { peerId } = await relateTo(service, actor, { baseuri: 'http://failing.test/them' })
  await store.writeActor(actor.id, async (tx) => {
    await tx.run(
      `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
         sequence, state, failing_since, attempts, created_at)
       VALUES ($1, $2, 's1', 'properties', '', '', 'high', 1, 'stopped', 1, 7, 1)`,
      actor.id,
      peerId,
    )
    await tx.run(
      `INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at, outcome, reason)
       VALUES ($1, $2, 's1', 1, 1, 'failed', 'The peer answered 403')`,
      actor.id,
      peerId,
    )
  })
  parts.metrics.peerCalled({ host: 'slow.test', isProven: true, outcome: '2xx' }, 2.5)
}
