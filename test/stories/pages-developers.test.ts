/** The panel of a property's page with programs for developers. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { App } from '../../src/index.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

interface World {
  readonly service: TestService
  readonly ada: TestActor
  readonly browser: OwnersBrowser
}

const client = new URL('../../src/client.ts', import.meta.url).href

/** The text of an element without elements. */
function plain(html: string): string {
  return html
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

forEachService((start) => {
  const declare = (app: App): App => app.property('fixed', { put: () => null })

  async function open(): Promise<World> {
    const service = await start({ listen: true, host: 'localhost', declare })
    const ada = await service.createActor('ada@example.com')
    return { service, ada, browser: await OwnersBrowser.open(service, ada) }
  }

  async function programs({ browser }: World, name: string): Promise<Record<string, string>> {
    const page = await (await browser.get(`/properties/${encodeURIComponent(name)}`)).text()
    const found = [...page.matchAll(/<code id="program-(\w+)">([^<]*)<\/code>/g)]
    return Object.fromEntries(found.map(([, language = '', program = '']) => [language, plain(program)]))
  }

  async function keyFor({ service, ada }: World, name: string): Promise<string> {
    const handle = (await service.app.actors.get(ada.id)) ?? assert.fail()
    const grants = { properties: { patterns: [name], operations: ['read', 'write'] } } as const
    return (await handle.keys.create({ name: 'Program', grants })).key
  }

  /** Runs the JavaScript program as a module, with an API key for the property. */
  async function run(world: World, name: string, program: string): Promise<void> {
    const key = await keyFor(world, name)
    const folder = mkdtempSync(join(tmpdir(), 'program-'))
    const before = process.env['TROUPE_KEY']
    try {
      const file = join(folder, 'program.mjs')
      writeFileSync(file, program.replace("'troupe/client'", `'${client}'`))
      process.env['TROUPE_KEY'] = key
      await import(pathToFileURL(file).href)
    } finally {
      if (before === undefined) delete process.env['TROUPE_KEY']
      else process.env['TROUPE_KEY'] = before
      rmSync(folder, { recursive: true })
    }
  }

  describe('the programs for developers', () => {
    it('read and change a value', async () => {
      const world = await open()
      const { service, ada } = world
      await ada.request('PUT', '/properties/color', 'blue')
      const address = `${service.url}/${ada.id}/properties/color`
      assert.deepEqual(await programs(world, 'color'), {
        curl: `curl -H "Authorization: Bearer $TROUPE_KEY" '${address}' -H 'Accept: application/json' -o value.json
curl -H "Authorization: Bearer $TROUPE_KEY" '${address}' -X PUT --json @value.json`,
        javascript: `import { createClient } from 'troupe/client'

const client = createClient({
  url: "${service.url}",
  credential: { actorId: "${ada.id}", token: process.env.TROUPE_KEY },
})
const value = await client.property("color").get()
await client.property("color").set(value)`,
        python: `import os
import requests

url = "${address}"
headers = {"Accept": "application/json", "Authorization": f"Bearer {os.environ['TROUPE_KEY']}"}
answer = requests.get(url, headers=headers)
answer.raise_for_status()
value = answer.json()
requests.put(url, headers=headers, json=value).raise_for_status()`,
      })
    })

    it('write a value when the program in JavaScript runs', async () => {
      const world = await open()
      await world.ada.request('PUT', '/properties/color', 'blue')
      const { javascript = '' } = await programs(world, 'color')
      await run(world, 'color', javascript.replace('.set(value)', '.set(`${value}-green`)'))
      assert.equal(await (await world.ada.request('GET', '/properties/color')).text(), 'blue-green')
    })

    it('read and write a text as JSON', async () => {
      const world = await open()
      const { service, ada } = world
      await ada.request('PUT', '/properties/color', 'blue')
      const { curl = '' } = await programs(world, 'color')
      const [, address = '', , accept = ''] = curl.split("'")
      const headers = { authorization: `Bearer ${await keyFor(world, 'color')}`, accept: accept.split(': ')[1] ?? '' }
      const read = await fetch(address, { headers })
      assert.equal(await read.text(), '"blue"')
      // `curl --json` sends these two headers.
      const sent = { ...headers, 'content-type': 'application/json', accept: 'application/json' }
      const written = await fetch(address, { method: 'PUT', headers: sent, body: '"green"' })
      assert.equal(written.status, 204)
      assert.equal(await (await ada.request('GET', '/properties/color')).text(), 'green')
      assert.equal(service.url, new URL(address).origin)
    })

    it('read a list and append an item', async () => {
      const world = await open()
      const { ada } = world
      await ada.request('POST', '/properties', { notes: { _type: 'list' } })
      await ada.request('POST', '/properties/notes', '"first"')
      const found = await programs(world, 'notes')
      assert.match(found['curl'] ?? '', /notes' --json '"new item"'$/)
      assert.match(
        found['python'] ?? '',
        /\nrequests\.post\(url, headers=headers, json="new item"\)\.raise_for_status\(\)$/,
      )
      await run(world, 'notes', found['javascript'] ?? '')
      assert.deepEqual(await (await ada.request('GET', '/properties/notes')).json(), ['first', 'new item'])
    })

    it('contain no change of a value that is read-only', async () => {
      const world = await open()
      const { service, ada } = world
      await ada.request('POST', '/properties', { fixed: 1 })
      const { curl, javascript = '', python = '' } = await programs(world, 'fixed')
      assert.equal(
        curl,
        `curl -H "Authorization: Bearer $TROUPE_KEY" '${service.url}/${ada.id}/properties/fixed' -H 'Accept: application/json'`,
      )
      assert.match(javascript, /\.get\(\)$/)
      assert.match(python, /answer\.json\(\)$/)
    })

    for (const name of [`a'; rm -rf ~; '`, 'say "hi"', 'a`b`$(c)', 'naïve \\ <b>&amp;']) {
      it(`keep the name ${JSON.stringify(name)} a name`, async () => {
        const world = await open()
        const { service, ada } = world
        await ada.request('PUT', `/properties/${encodeURIComponent(name)}`, 'kept')
        const { curl = '', javascript = '', python = '' } = await programs(world, name)
        // Between the apostrophes of the shell and the quotes of Python is only the URL.
        const [, address = '', ...more] = curl.split('\n')[0]?.split("'") ?? []
        assert.deepEqual(more, [' -H ', 'Accept: application/json', ' -o value.json'])
        assert.equal(
          new URL(address).href,
          `${service.url}/${ada.id}/properties/${encodeURIComponent(name).replaceAll("'", '%27')}`,
        )
        assert.match(python, /^url = "[^"\\]*"$/m)
        await run(world, name, javascript.replace('.set(value)', '.set(`${value} here`)'))
        assert.equal(await (await ada.request('GET', `/properties/${encodeURIComponent(name)}`)).text(), 'kept here')
      })
    }

    it('are absent where no property is', async () => {
      const world = await open()
      assert.deepEqual(await programs(world, 'absent'), {})
    })
  })
})
