import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { onNewDevices } from '../../src/pages/apps/new-devices.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0'
const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const minute = 60_000
const day = 86_400_000

/** The text of each notice of the overview. */
async function noticesOf(browser: OwnersBrowser): Promise<string[]> {
  const answer = await browser.get('')
  assert.equal(answer.status, 200)
  const notices = [...(await answer.text()).matchAll(/<p class="warning">(.*?)<\/p>/gs)]
  return notices.map(([, notice = '']) => notice.replaceAll(/<[^>]*>/g, ''))
}

/** The devices of the list, with its marks. */
async function devicesOf(browser: OwnersBrowser): Promise<string[]> {
  const answer = await browser.get('/apps')
  assert.equal(answer.status, 200)
  const rows = [...(await answer.text()).matchAll(/<li><div class="row-head"><strong>(.*?)<\/strong>/gs)]
  return rows.map(([, row = '']) => row.replaceAll(/<[^>]*>/g, ''))
}

forEachService((start) => {
  async function open(): Promise<{ pass: (ms: number) => void; service: TestService; actor: TestActor }> {
    let time = Date.UTC(2030, 0, 21, 12)
    const service = await start({ now: () => time })
    return { pass: (ms) => void (time += ms), service, actor: await service.createActor('ada@example.com') }
  }

  describe('a sign-in on a device without an older session', () => {
    it('is on the overview and in the list of the devices that were there before, until it ends (R-PAGE-20)', async () => {
      const { pass, service, actor } = await open()
      const known = await OwnersBrowser.open(service, actor, firefox)
      assert.deepEqual(await noticesOf(known), [])
      pass(minute)
      const unknown = await OwnersBrowser.open(service, actor, chrome)
      pass(2 * minute)
      assert.deepEqual(await noticesOf(known), [
        'New sign-in: Chrome on Windows, 2 minutes ago. If it wasn’t you, sign that device out. View your devices',
      ])
      assert.deepEqual((await devicesOf(known)).toSorted(), ['Chrome on Windows New', 'Firefox on Linux'])
      assert.deepEqual(await noticesOf(unknown), [])
      assert.deepEqual((await devicesOf(unknown)).toSorted(), ['Chrome on Windows', 'Firefox on Linux'])
      const page = await (await known.get('/apps')).text()
      const [, session = ''] = /name="session" value="([^"]+)"/.exec(page) ?? []
      assert.equal((await known.send('/apps', { action: 'end_session', session })).status, 302)
      assert.deepEqual(await noticesOf(known), [])
      assert.deepEqual(await devicesOf(known), ['Firefox on Linux'])
    })

    it('is new each time when the device is unknown (R-PAGE-20)', async () => {
      const { pass, service, actor } = await open()
      const known = await OwnersBrowser.open(service, actor, firefox)
      for (const _ of [1, 2]) {
        pass(minute)
        await OwnersBrowser.open(service, actor, 'something')
      }
      assert.deepEqual(
        (await noticesOf(known)).map((notice) => notice.slice(0, 31)),
        ['New sign-in: An unknown device,', 'New sign-in: An unknown device,'],
      )
    })
  })

  describe('a sign-in on a device with an older session', () => {
    it('is not named (R-PAGE-20)', async () => {
      const { pass, service, actor } = await open()
      const known = await OwnersBrowser.open(service, actor, firefox)
      pass(minute)
      await OwnersBrowser.open(service, actor, firefox)
      assert.deepEqual(await noticesOf(known), [])
      assert.deepEqual(await devicesOf(known), ['Firefox on Linux', 'Firefox on Linux'])
    })
  })

  describe('the passphrase', () => {
    it('shows no new device, because it has no session (R-PAGE-20)', async () => {
      const { service, actor } = await open()
      await OwnersBrowser.open(service, actor, chrome)
      const answer = await actor.request('GET', '/www')
      assert.equal(answer.status, 200)
      assert.doesNotMatch(await answer.text(), /New sign-in/)
    })
  })
})

describe('a sign-in on a new device', () => {
  const open = { chainId: 'open', device: 'Firefox on Linux', createdAt: 0 }
  const since = (createdAt: number) => ({ chainId: 'new', device: 'Chrome on Windows', createdAt })

  it('is new for seven days', () => {
    const session = since(day)
    assert.deepEqual(onNewDevices([session, open], 'open', 8 * day - 1), [session])
    assert.deepEqual(onNewDevices([session, open], 'open', 8 * day), [])
  })

  it('is new only to sessions that are older', () => {
    assert.deepEqual(onNewDevices([since(0), open], 'open', day), [])
    assert.deepEqual(onNewDevices([since(1), open], 'new', day), [])
    assert.deepEqual(onNewDevices([since(1), open], 'gone', day), [])
    assert.deepEqual(onNewDevices([since(1), open], undefined, day), [])
  })

  it('is new once for two sessions on it', () => {
    const [first, second] = [since(1), { ...since(2), chainId: 'again' }]
    assert.deepEqual(onNewDevices([second, first, open], 'open', day), [first])
  })
})
