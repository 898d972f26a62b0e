/** Killed processes during events, alarms, schedules and webhooks. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { forEachStore } from '../support/stores.ts'
import { until, untilEqual } from '../support/until.ts'

const module = join(import.meta.dirname, '../support/jobs-app.ts')

interface Owner {
  readonly id: string
  readonly authorization: string
}

forEachStore((_dialect, _open, database) => {
  const started: ServiceProcess[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((one) => one.kill()))
  })

  async function start(url: string, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
    const one = await startServiceProcess({ database: url, module, env })
    started.push(one)
    return one
  }

  async function createActor(one: ServiceProcess, creator: string): Promise<Owner> {
    const { status, text } = await one.send('POST', '/', { body: { creator } })
    assert.equal(status, 201, text)
    const { id, passphrase } = JSON.parse(text) as { id: string; passphrase: string }
    return { id, authorization: `Basic ${Buffer.from(`${creator}:${passphrase}`).toString('base64')}` }
  }

  /** The items of a list; empty when it does not exist. */
  async function items(one: ServiceProcess, { id, authorization }: Owner, list: string): Promise<string[]> {
    const { status, text } = await one.send('GET', `/${id}/properties/${list}`, { authorization })
    return status === 404 ? [] : (JSON.parse(text) as string[])
  }

  async function post(one: ServiceProcess, { id, authorization }: Owner, path: string, body: object): Promise<void> {
    const { status, text } = await one.send('POST', `/${id}${path}`, { authorization, body })
    assert.ok(status < 300, text)
  }

  describe('a process that is killed', () => {
    for (const [what, begin] of [
      [
        'alarm key',
        (one: ServiceProcess, owner: Owner) => post(one, owner, '/actions/remind', { inMs: 0, keys: ['key'] }),
      ],
      ['event color', (one: ServiceProcess, owner: Owner) => post(one, owner, '/properties', { color: 'red' })],
    ] as const) {
      it(`during an ${what.split(' ')[0]} leaves it to another process`, async () => {
        const { url } = await database()
        const first = await start(url, { JOBS_NAME: 'first', JOBS_HANG: '1' })
        const owner = await createActor(first, 'ada@example.com')
        await begin(first, owner)
        await until(async () => (await items(first, owner, 'began')).length === 1)
        const second = await start(url, { JOBS_NAME: 'second' })
        assert.deepEqual(await items(second, owner, 'ended'), [])
        await first.kill()
        await untilEqual(
          () => items(second, owner, 'ended'),
          () => [`${what} second`],
        )
        assert.deepEqual(await items(second, owner, 'began'), [`${what} first`, `${what} second`])
      })
    }

    it('during a schedule leaves the same occurrence to another process', async () => {
      const { url } = await database()
      const first = await start(url, { JOBS_NAME: 'first', JOBS_HANG: '1' })
      const owner = await createActor(first, 'schedule@example.com')
      await until(async () => (await items(first, owner, 'began')).length === 1)
      const second = await start(url, { JOBS_NAME: 'second' })
      await first.kill()
      await until(async () => (await items(second, owner, 'ended')).length >= 1)
      const [began, again] = await items(second, owner, 'began')
      assert.equal(again, began?.replace('first', 'second'))
      const ended = await items(second, owner, 'ended')
      assert.equal(ended[0], again)
      assert.equal(new Set(ended).size, ended.length)
    })

    it('during a webhook leaves the message to another process, with the same id', async (t) => {
      const { url } = await database()
      const ids: string[] = []
      const server: Server = createServer((request, response) => {
        ids.push(String(request.headers['webhook-id']))
        // The first process gets no answer.
        if (ids.length > 1) response.writeHead(204).end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.after(() => {
        server.closeAllConnections()
        server.close()
      })
      const address = server.address()
      assert.ok(typeof address === 'object' && address !== null)
      const env = { TROUPE_PEER_TIMEOUT_SECONDS: '60' }
      const first = await start(url, { ...env, JOBS_NAME: 'first' })
      const owner = await createActor(first, 'ada@example.com')
      await post(first, owner, '/webhooks', { url: `http://127.0.0.1:${address.port}/`, events: ['list_changed'] })
      const { text } = await first.send('GET', `/${owner.id}/webhooks`, { authorization: owner.authorization })
      const { webhooks } = JSON.parse(text) as { webhooks: { id: string }[] }
      await post(first, owner, `/webhooks/${webhooks[0]?.id}/test`, {})
      await until(() => ids.length === 1)
      const second = await start(url, { ...env, JOBS_NAME: 'second' })
      await first.kill()
      await until(() => ids.length === 2)
      assert.equal(ids[0], ids[1])
      await untilEqual(
        async () => {
          const answer = await second.send('GET', `/${owner.id}/webhooks/${webhooks[0]?.id}/deliveries`, {
            authorization: owner.authorization,
          })
          return (JSON.parse(answer.text) as { deliveries: { outcome: string }[] }).deliveries.map(
            ({ outcome }) => outcome,
          )
        },
        () => ['delivered'],
      )
    })

    it('while many alarms are due loses none of them', async () => {
      const { url } = await database()
      const first = await start(url, { JOBS_NAME: 'first' })
      const second = await start(url, { JOBS_NAME: 'second' })
      const owner = await createActor(first, 'ada@example.com')
      const keys = Array.from({ length: 60 }, (_, n) => String(n))
      await post(first, owner, '/actions/remind', { inMs: 500, keys })
      await until(async () => (await items(second, owner, 'ended')).length >= 10)
      await first.kill()
      await until(
        async () => new Set((await items(second, owner, 'ended')).map((text) => text.split(' ')[1])).size === 60,
      )
    })
  })

  describe('a process that stops', () => {
    it('leaves a handler that does not end to another process at once', async () => {
      const { url } = await database()
      const env = { TROUPE_SHUTDOWN_SECONDS: '1' }
      const first = await start(url, { ...env, JOBS_NAME: 'first', JOBS_HANG: '1' })
      const owner = await createActor(first, 'ada@example.com')
      await post(first, owner, '/properties', { color: 'red' })
      await until(async () => (await items(first, owner, 'began')).length === 1)
      const second = await start(url, { ...env, JOBS_NAME: 'second' })
      await first.stop()
      await untilEqual(
        () => items(second, owner, 'ended'),
        () => ['event color second'],
      )
    })
  })
})
