/** The pages in German: the same tasks as in English, and answers to programs that no language changes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { english } from '../../src/pages/languages/english.ts'
import { relateTo } from '../support/recording-peer.ts'
import { sqliteService } from '../support/service.ts'
import { asBrowser, OwnersBrowser } from '../support/sessions.ts'

const start = sqliteService()
const german = { 'sec-fetch-site': 'same-origin', 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' }

describe('the pages in German', () => {
  it('name their language, and what a cache compares', async () => {
    const service = await start({})
    const answer = await service.request('/', { headers: { ...asBrowser, ...german } })
    assert.equal(answer.headers.get('content-language'), 'de')
    assert.match(answer.headers.get('vary') ?? '', /Accept-Language, Cookie/)
    assert.match(await answer.text(), /<html lang="de" dir="ltr">[^]*<h1>Ihr Konto erstellen<\/h1>/)
    const other = await service.request('/', { headers: asBrowser })
    assert.equal(other.headers.get('content-language'), 'en')
  })

  it('explain a refused form, while a program receives the same answer as ever', async () => {
    const service = await start({})
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    const form = { property_value: 'x' }
    const page = await browser.send('/properties', form, german)
    assert.equal(page.status, 400)
    assert.match(await page.text(), /<title>Fehler: Eigenschaften[^]*Geben Sie einen Namen ein\./)
    const program = await browser.send('/properties', form, { ...german, accept: 'application/json' })
    assert.deepEqual(await program.json(), { error: 'bad_request', message: 'Cannot take the form: a name is missing' })
  })

  it('read and show numbers as German writes them, and refuse one that only English writes so (R-PAGE-06)', async () => {
    const service = await start({})
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    const send = (text: string): Promise<Response> => {
      const form = {
        property_name: 'weight',
        property_type: 'simple',
        value_type: 'number',
        property_value_number: text,
      }
      return browser.send('/properties', form, german)
    }
    const stored = async (): Promise<string> => (await actor.request('GET', '/properties/weight')).text()
    for (const [text, json, shown] of [
      ['1,5', '1.5', '1,5'],
      ['1.000', '1000', '1000'],
      ['1.234,50', '1234.50', '1234,50'],
    ] as const) {
      await actor.request('DELETE', '/properties/weight')
      assert.equal((await send(text)).status, 302)
      assert.equal(await stored(), json)
      const page = await (await browser.get('/properties/weight', german)).text()
      assert.match(page, new RegExp(`name="value_number"[^>]* value="${shown}"`))
      // A form without a change keeps the spelling.
      const same = { value: '', value_type: 'number', value_number: shown, redirect_to: '/' }
      assert.equal((await browser.send('/properties/weight', same, german)).status, 302)
      assert.equal(await stored(), json)
    }
    await actor.request('DELETE', '/properties/weight')
    for (const text of ['1.5', '1,000,000', 'viel']) {
      const refused = await send(text)
      assert.equal(refused.status, 400)
      assert.ok((await refused.text()).includes(`„${text}“ ist keine Zahl. Schreiben Sie zum Beispiel 1,5 oder 1.000.`))
      assert.equal((await actor.request('GET', '/properties/weight')).status, 404)
    }
  })

  it('show the general message for an error that no page explains', async () => {
    const service = await start({})
    const answer = await service.request('/nothing/here', { headers: { ...asBrowser, ...german } })
    assert.equal(answer.status, 404)
    assert.match(await answer.text(), /<h1>Nicht gefunden<\/h1>\s*<p class="lead">Diese Seite gibt es nicht\./)
  })

  it('have no English text, besides words that both languages share', async () => {
    const service = await start({ activityPerActor: 100 })
    const actor = await service.createActor()
    const peer = await relateTo(service, actor)
    await actor.request('POST', '/properties', { color: 'blue', notes: { _type: 'list' } })
    const browser = await OwnersBrowser.open(service, actor)
    const inEnglish = Object.values(english.messages(english.noun)).flatMap((messages) =>
      Object.values(messages as Readonly<Record<string, unknown>>).filter(
        (message): message is string => typeof message === 'string' && message.includes(' '),
      ),
    )
    for (const path of [
      '',
      '/init',
      '/properties',
      '/properties/color',
      '/properties/color?viewers=1',
      '/properties/notes',
      '/files',
      '/trust',
      '/trust/new',
      `/trust/${peer.peerId}?ask=properties.read&target=color`,
      `/trust/${peer.peerId}/view`,
      '/subscriptions',
      '/apps',
      '/requests',
      '/password-access',
      '/activity',
      '/settings',
    ]) {
      const answer = await browser.get(path, german)
      const text = await answer.text()
      assert.equal(answer.status, 200, path)
      assert.match(text, /<html lang="de" dir="ltr">/)
      assert.deepEqual(
        inEnglish.filter((message) => text.includes(`>${message}<`)),
        [],
        path,
      )
    }
  })

  it('give the live script its sentences', async () => {
    const service = await start({})
    const actor = await service.createActor()
    const browser = await OwnersBrowser.open(service, actor)
    const text = await (await browser.get('/properties', german)).text()
    assert.match(text, /data-words="[^"]*Verbindungen aktualisiert/)
  })
})
