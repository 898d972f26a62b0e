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
    config: resolveConfig({ mode: 'development' }, {}),
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
      assert.equal(routes.length > 0, feature.name !== 'mail')
      for (const { method, path } of routes) {
        const place = path.replace('/:actor', '').replaceAll(/:\w+/g, 'x').replace('*', 'x')
        assert.equal((await actor.request(method, place, method === 'GET' ? undefined : {})).status, 404, path)
      }
      const described = routes.map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'))
      const missing = described.filter((path) => !everything.has(path))
      assert.deepEqual([missing, [...(await pathsOf(service))].filter((path) => described.includes(path))], [[], []])
    })
  }
})
