/* cspell:ignore einer Passphrase umziehen Umziehen Umzug Hierher umgezogen einem anderen Dienst Dienstes Adresse läuft abbrechen abgebrochen */
/** The pages of a move to another service, in a real browser. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { faultsInEveryLook, openPage, type WatchedPage } from '../support/browser.ts'
import { relate } from '../support/friends.ts'
import { ServiceNetwork } from '../support/service-network.ts'
import { visitAsOwner } from '../support/owner-page.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { arrivedAt, type MoveView } from '../support/moving.ts'
import { until } from '../support/until.ts'

const start = sqliteService()
let released = Promise.withResolvers<void>()

afterEach(() => released.resolve())

interface World {
  readonly old: TestService
  readonly home: TestService
  readonly alice: TestActor
  readonly bob: TestActor
  readonly network: ServiceNetwork
}

/** Archives arrive when the test allows it. */
async function begin(): Promise<World> {
  released = Promise.withResolvers<void>()
  const network = new ServiceNetwork()
  const common = { listen: true, name: 'Notes', peerClient: network }
  const [old, home] = await Promise.all([start(common), start({ ...common, acceptMoves: true })])
  for (const service of [old, home]) network.add(service)
  network.fate = async ({ method }) => {
    if (method === 'PUT') await released.promise
    return 'arrives' as const
  }
  const alice = await old.createActor('ada@example.com')
  const bob = await old.createActor('bob@example.com')
  await relate(bob, [old, alice])
  return { old, home, alice, bob, network }
}

const words = {
  en: {
    link: 'Move',
    title: 'Move to another service',
    field: 'Address of the other service',
    button: 'Move this account',
    running: 'Your account is moving',
    stop: 'Stop move',
    stopped: 'Move stopped.',
    passphrase: 'Use a passphrase',
  },
  de: {
    link: 'Umziehen',
    title: 'Zu einem anderen Dienst umziehen',
    field: 'Adresse des anderen Dienstes',
    button: 'Umziehen',
    running: 'Der Umzug läuft',
    stop: 'Umzug abbrechen',
    stopped: 'Umzug abgebrochen.',
    passphrase: 'Mit einer Passphrase',
  },
} as const

async function moveTo(page: WatchedPage, locale: 'en' | 'de', url: string): Promise<void> {
  await page.getByLabel(words[locale].field).fill(url)
  await page.getByRole('button', { name: words[locale].button, exact: true }).click()
}

describe('the pages of a move', () => {
  for (const locale of ['en', 'de'] as const)
    for (const javaScriptEnabled of [true, false]) {
      it(`move an account, and hand it over by a link, in ${locale}, with${javaScriptEnabled ? '' : 'out'} JavaScript (R-LOOK-04, R-MOVE-08)`, async () => {
        const { old, home, alice, bob } = await begin()
        const page = await visitAsOwner(old, alice, '/settings', { locale, javaScriptEnabled })
        await page.locator('#move').locator('xpath=..').getByRole('link').click()
        await page.getByRole('heading', { level: 1, name: words[locale].title }).waitFor()
        await moveTo(page, locale, home.url)
        await page.getByRole('heading', { level: 2, name: words[locale].running }).waitFor()
        await page.getByRole('button', { name: words[locale].stop }).click()
        await page.getByText(words[locale].stopped).waitFor()
        await moveTo(page, locale, home.url)
        await page.getByRole('heading', { level: 2, name: words[locale].running }).waitFor()
        const claim = (await page.locator('#claim-url').innerText()).trim()
        assert.ok(claim.startsWith(`${home.url}/moves/${alice.id}/claim?code=`))
        released.resolve()
        await until(async () => (await home.request(`/${alice.id}/meta`)).status === 200)
        await page.goto(claim)
        const boxes = page.getByRole('checkbox')
        assert.equal(await boxes.count(), 2)
        for (const box of await boxes.all()) assert.equal(await box.isChecked(), false)
        await page.getByRole('checkbox', { name: `${old.url}/${bob.id}` }).check()
        await page.getByRole('button', { name: words[locale].passphrase }).click()
        const passphrase = await page.locator('dd code').innerText()
        assert.match(passphrase, /^[0-9a-f]{40}$/)
        const there = await visitAsOwner(home, { ...alice, passphrase }, '/move', { locale, javaScriptEnabled })
        await there.locator('#arrived').waitFor()
        assert.match(await there.locator('main').innerText(), new RegExp(old.url.replaceAll('.', '\\.')))
        const { parts } = await home.app.running()
        assert.deepEqual(
          (await parts.trusts.list(alice.id)).map(({ peerId }) => peerId),
          [bob.id],
        )
        assert.deepEqual([...page.complaints, ...there.complaints], [])
      })
    }

  it('have no accessibility violation in any look, while it moves and after it failed (R-LOOK-01)', async () => {
    const { old, home, alice, network } = await begin()
    const page = await visitAsOwner(old, alice, '/move', { bypassCSP: true })
    await moveTo(page, 'en', 'nothing://there')
    await page.locator('#to[aria-invalid=true]').waitFor()
    assert.match(await page.locator('main').innerText(), /Enter the address of another service/)
    assert.deepEqual(await faultsInEveryLook(page), [])
    await moveTo(page, 'en', 'https://nothing.example.com')
    await page.getByText('The other service can’t be reached.').first().waitFor()
    await moveTo(page, 'en', home.url)
    await page.getByRole('heading', { level: 2, name: words.en.running }).waitFor()
    assert.deepEqual(await faultsInEveryLook(page), [])
    network.serve(home.url, () => new Response('{"message":"The disk is full"}', { status: 413 }))
    released.resolve()
    // The page has the only link to the new service, so it is not refreshed by itself.
    await until(async () => {
      await page.reload()
      return (await page.getByRole('heading', { level: 2, name: 'The last move failed' }).count()) > 0
    })
    assert.match(await page.locator('main').innerText(), /The disk is full/)
    assert.deepEqual(await faultsInEveryLook(page), [])
  })

  it('have no accessibility violation after the move, with a peer that was not reached (R-LOOK-01, R-MOVE-07)', async () => {
    const { old, home, alice, bob, network } = await begin()
    released.resolve()
    const carol = await old.createActor('carol@example.com')
    await relate(carol, [old, alice])
    network.fate = ({ url }) => (url.startsWith(`${old.url}/${bob.id}/meta`) ? 'unreached' : 'arrives')
    const moved = await visitAsOwner(old, alice, '/move', { bypassCSP: true })
    const begun = await alice.request('POST', '/move', { to: home.url })
    assert.equal(begun.status, 202)
    const { leaving } = (await begun.json()) as MoveView
    await until(async () => (await home.request(`/${alice.id}/meta`)).status === 200)
    const claim = await openPage({ bypassCSP: true })
    await claim.goto(leaving?.claim_url ?? '')
    await claim.getByRole('checkbox').first().waitFor()
    assert.deepEqual(await faultsInEveryLook(claim), [])
    await until(async () => (await old.request(`/${alice.id}/meta`)).status === 308)
    await moved.goto(`${old.url}/${alice.id}/www/move`)
    await moved.getByRole('heading', { level: 2, name: 'Your account has moved' }).waitFor()
    assert.deepEqual(await faultsInEveryLook(moved), [])
    await arrivedAt(home, alice)
    const { parts } = await home.app.running()
    await until(async () => (await parts.arrivalClaims.find(alice.id))?.counts.informed === 1)
    const passphrase = parts.actors.passphraseOf(await parts.actors.require(alice.id))
    const page = await visitAsOwner(home, { ...alice, passphrase }, '/move', { bypassCSP: true })
    const rows = await page.locator('#arrived').locator('xpath=..').locator('.rows li').allInnerTexts()
    assert.deepEqual(
      rows.map((row) => row.replace(/\s+/g, ' ').trim()),
      [`${old.url}/${bob.id} Not sent yet Nothing listens there`, `${old.url}/${carol.id} Received`],
    )
    assert.deepEqual(await faultsInEveryLook(page), [])
    // The old address leads the browser to the new one.
    const visitor = await openPage()
    await visitor.goto(`${old.url}/${alice.id}/www/settings`)
    assert.ok(visitor.url().startsWith(home.url))
    // The page for a link that was used, or is wrong.
    const wrong = await openPage({ bypassCSP: true })
    await wrong.goto(`${home.url}/moves/${alice.id}/claim?code=wrong`)
    assert.match(await wrong.locator('main').innerText(), /This link doesn’t work/)
    assert.deepEqual(await faultsInEveryLook(wrong), [])
  })
})
