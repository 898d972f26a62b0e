/** The logger that handlers of methods, actions and tools receive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, sqliteService, type TestService } from '../support/service.ts'

/** A method and an action that log. */
function declare(app: App): void {
  app.method('lend', { description: 'Lends' }, ({ log, requestId }) => {
    log.info({ title: 'Drill', password: 'planted', deep: { token: 'planted' } }, 'A loan began')
    log.debug('Details')
    return { requestId }
  })
  app.property('color', ({ operation, value, log, requestId }) => {
    log.info({ by: operation, requestId, token: 'planted' }, 'A hook ran')
    return value
  })
  app.www(({ log, requestId }) => {
    log.info('A page ran')
    return { requestId }
  })
  app.action('add', { description: 'Adds', mcp: true }, ({ log }) => {
    log.warn('A note is long')
    return {}
  })
}

function lineWith({ log }: TestService, message: string): Record<string, unknown> {
  const line = log.find((each) => each.includes(message)) ?? assert.fail(message)
  return JSON.parse(line) as Record<string, unknown>
}

forEachService((start) => {
  describe('the log of a call', () => {
    it('has the request id, the actor and the operation, and the id is that of the response', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const answer = await actor.request('POST', '/methods/lend', {})
      const { requestId } = (await answer.json()) as { requestId: string }
      assert.equal(requestId, answer.headers.get('x-request-id'))
      const { level, operation, actorId, requestId: logged, title } = lineWith(service, 'A loan began')
      assert.deepEqual(
        { level, operation, actorId, logged, title },
        { level: 'info', operation: 'methods/lend', actorId: actor.id, logged: requestId, title: 'Drill' },
      )
      assert.equal(lineWith(service, 'Details')['level'], 'debug')
    })

    it('is that of a property hook and of a page too, with the request of the response', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const put = await actor.request('PUT', '/properties/color', 'blue')
      const { operation, actorId, requestId, token } = lineWith(service, 'A hook ran')
      assert.deepEqual(
        [operation, actorId, requestId, token],
        ['properties/color', actor.id, put.headers.get('x-request-id'), '[redacted]'],
      )
      const page = await actor.request('GET', '/www/report')
      assert.deepEqual(await page.json(), { requestId: page.headers.get('x-request-id') })
      assert.equal(lineWith(service, 'A page ran')['operation'], 'www')
    })

    it('leaves members out that are named as secrets', async () => {
      const service = await start({ declare })
      await (await service.createActor()).request('POST', '/methods/lend', {})
      const line = lineWith(service, 'A loan began')
      assert.deepEqual([line['password'], line['deep']], ['[redacted]', { token: '[redacted]' }])
      assert.equal(
        service.log.some((each) => each.includes('planted')),
        false,
      )
    })
  })
})

describe('the log of a tool', () => {
  const start = sqliteService()

  it('names the operation that an AI client called', async () => {
    const service = await start({ declare })
    const client = await authorizeClient(service, await service.createActor())
    await client.modern('tools/call', { name: 'add', arguments: {} })
    assert.deepEqual(
      [lineWith(service, 'A note is long')['level'], lineWith(service, 'A note is long')['operation']],
      ['warn', 'mcp/add'],
    )
  })

  it('writes no line below the level of the service', async () => {
    const service = await start({ declare, logLevel: 'warn' })
    await (await service.createActor()).request('POST', '/methods/lend', {})
    assert.equal(
      service.log.some((line) => line.includes('A loan began')),
      false,
    )
  })
})
