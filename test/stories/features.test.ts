/** Services with other features than those of the list. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Registry } from '../../src/app/registry.ts'
import { resolveConfig } from '../../src/features/config.ts'
import type { Feature } from '../../src/features/feature.ts'
import { builtInFeatures } from '../../src/features/list.ts'
import { archiveOf, linesOf, restore } from '../support/archives.ts'
import { relate } from '../support/friends.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const start = sqliteService()

/** The features besides `left`, and without those that need it. */
function without(left: Feature): readonly Feature[] {
  const isLeft = (name: string): boolean =>
    name === left.name || (builtInFeatures.find((one) => one.name === name)?.needs ?? []).some(isLeft)
  return builtInFeatures.filter(({ name }) => !isLeft(name))
}

/** The routes of a feature, as a service in development has them. */
function routesOf(feature: Feature): readonly { readonly method: string; readonly path: string }[] {
  const identity = { type: 'urn:actingweb:example.com:test', name: 'test', version: '1', description: '', info: '' }
  return feature.documentedRoutes({
    config: resolveConfig({ mode: 'development', devMail: false }, {}),
    identity: { ...identity, specification: '' },
    baseUrl: 'http://troupe.test',
    registry: new Registry(),
    tables: feature.tables,
  })
}

/** Actors do this in every service: data, a relationship, a subscription with an update, an archive, an end. */
async function coreStory(service: TestService): Promise<void> {
  const [ada, grace] = [await service.createActor('ada@example.com'), await service.createActor('grace@example.com')]
  assert.equal((await ada.request('PUT', '/properties/color', 'blue')).status, 204)
  await relate(grace, [service, ada])
  const subscriber = await service.app.actors.get(grace.id)
  await subscriber?.subscribe(ada.id)
  assert.equal((await ada.request('PUT', '/properties/color', 'green')).status, 204)
  await service.settled()
  assert.equal(await subscriber?.remote(ada.id).get('color'), 'green')

  const archive = await archiveOf(service, ada.id)
  assert.equal(
    linesOf(archive).some(({ kind, name }) => kind === 'property' && name === 'color'),
    true,
  )
  assert.equal((await ada.request('DELETE', '')).status, 204)
  assert.equal((await restore(service, archive)).actorId, ada.id)
  assert.equal(await (await service.app.actors.get(ada.id))?.get('color'), 'green')
}

async function pathsOf(service: TestService): Promise<ReadonlySet<string>> {
  const { paths } = (await (await service.request('/openapi.json')).json()) as { readonly paths: object }
  return new Set(Object.keys(paths))
}

describe('a service', () => {
  it('has the pages of its features in the navigation', async () => {
    const linksOf = async (features: readonly Feature[]): Promise<string[]> => {
      const service = await start({ builtIn: features })
      const actor = await service.createActor('ada@example.com')
      const browser = await OwnersBrowser.open(service, actor)
      const page = await (await browser.get('')).text()
      const [navigation = ''] = /<nav class="sections".*?<\/nav>/s.exec(page) ?? []
      return [...navigation.matchAll(/href="[^"]*\/www(\/[a-z]+)"/g)].map(([, path = '']) => path)
    }
    const all = await linksOf(builtInFeatures)
    assert.deepEqual(all.slice(0, 5), ['/requests', '/properties', '/files', '/trust', '/subscriptions'])
    assert.deepEqual(
      await linksOf(builtInFeatures.filter(({ name }) => name !== 'files')),
      all.filter((path) => path !== '/files'),
    )
  })

  it('leaves out the records of a feature that it does not have', async () => {
    const source = await start()
    const ada = await source.createActor('ada@example.com')
    assert.equal((await ada.request('PUT', '/properties/color', 'blue')).status, 204)
    assert.equal((await ada.request('PUT', '/files/cat.txt', 'meow')).status, 201)
    const archive = await archiveOf(source, ada.id)
    const service = await start({ builtIn: builtInFeatures.filter(({ name }) => name !== 'files') })
    const { restored, leftOut } = await restore(service, archive)
    assert.deepEqual([restored['property'], leftOut['file'], leftOut['bytes']], [1, 1, undefined])

    const grace = await service.createActor('grace@example.com')
    assert.equal((await grace.request('POST', '/import', archive)).status, 202)
    await service.settled()
    const { left_out: kept } = (await (await grace.request('GET', '/import')).json()) as { left_out: object }
    assert.deepEqual(
      Object.entries(kept).filter(([kind]) => ['file', 'bytes'].includes(kind)),
      [['file', 1]],
    )
    assert.equal(await (await service.app.actors.get(grace.id))?.get('color'), 'blue')
  })

  let everything: ReadonlySet<string>

  before(async () => {
    everything = await pathsOf(await start())
  })

  for (const feature of builtInFeatures) {
    it(`runs without ${feature.name}, whose routes do not exist then`, async () => {
      const service = await start({ builtIn: without(feature), listen: true })
      await coreStory(service)
      const actor = await service.createActor('linus@example.com')
      const routes = routesOf(feature)
      assert.equal(routes.length === 0, feature.name === 'exports')
      for (const { method, path } of routes) {
        const place = path.replace('/:actor', '').replaceAll(/:\w+/g, 'x').replace('*', 'x')
        const body = method === 'GET' ? undefined : {}
        // A form is refused before its page is looked for.
        const expected = place.startsWith('/www/') ? (await actor.request(method, '/www/unknown', body)).status : 404
        assert.equal((await actor.request(method, place, body)).status, expected, `${method} ${path}`)
      }
      const described = routes.map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}'))
      const missing = described.filter((path) => !everything.has(path))
      const left = [...(await pathsOf(service))].filter(
        (path) => described.includes(path) && !path.startsWith('/{actor}/www/'),
      )
      assert.deepEqual([missing, left], [[], []])
    })
  }
})
