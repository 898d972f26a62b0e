/** Uploads that have not ended: their bytes take space, and no quota counts them yet. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { relateTo } from '../support/recording-peer.ts'
import { seeded } from '../support/random.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const start = sqliteService()

/** A body that has the pieces, and ends when `finish` is called. */
function slowBody(pieces: readonly string[]) {
  const end = Promise.withResolvers<void>()
  let pulls = 0
  return {
    finish: end.resolve,
    hasBegun: () => pulls > 0,
    body: new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = pieces[pulls]
        pulls += 1
        if (piece !== undefined) return controller.enqueue(Buffer.from(piece))
        await end.promise
        controller.close()
      },
    }),
  }
}

/** Sends a body that the service may read while it is made. */
function upload(
  service: TestService,
  { id, authorization }: Pick<TestActor, 'id' | 'authorization'>,
  [method, path]: readonly [method: string, path: string],
  body: ReadableStream<Uint8Array> | string,
): Promise<Response> {
  const init: RequestInit & { readonly duplex: 'half' } = { method, headers: { authorization }, body, duplex: 'half' }
  return service.request(`/${id}${path}`, init)
}

describe('files that arrive at the same time', () => {
  it('are at most eight of one caller, who does not keep others from sending theirs (QUO-15)', async () => {
    const service = await start({
      declare: (app) =>
        app.trustType({
          name: 'writer',
          display_name: 'Writer',
          description: '',
          permissions: { files: { patterns: ['*'], operations: ['read', 'write'] } },
        }),
    })
    const actor = await service.createActor()
    const { secret } = await relateTo(service, actor, { relationship: 'writer' })
    const callers = { owner: actor, peer: { id: actor.id, authorization: `Bearer ${secret}` } }
    const other = await service.createActor('other@example.com')
    for (const [name, caller] of Object.entries(callers)) {
      const put = (file: string, body: ReadableStream<Uint8Array> | string, by = caller) =>
        upload(service, by, ['PUT', `/files/${file}`], body)
      const slow = Array.from({ length: 8 }, () => slowBody(['begun']))
      const sending = slow.map(({ body }, n) => put(`${name}-${n}`, body))
      await until(() => slow.every(({ hasBegun }) => hasBegun()))
      const refused = await put(`${name}-8`, 'x')
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'], name)
      for (const free of [...Object.values(callers).filter((one) => one !== caller), other])
        assert.equal((await put(`beside-${name}`, 'x', free)).status, 201)
      for (const { finish } of slow) finish()
      assert.deepEqual(
        (await Promise.all(sending)).map(({ status }) => status),
        Array.from({ length: 8 }, () => 201),
      )
      assert.equal((await put(`${name}-8`, 'x')).status, 201)
    }
  })
})

describe('a file of unknown size', () => {
  it('ends as soon as it has more bytes than the actor has room for (QUO-16)', async () => {
    const service = await start({ maxActorFileBytes: 10_000, maxFileBytes: 1_000_000 })
    const random = seeded(16)
    for (let round = 0; round < 20; round += 1) {
      const actor = await service.createActor()
      const [kept, replaced] = [random.below(5000), random.below(5000)]
      assert.equal((await actor.request('PUT', '/files/kept', 'x'.repeat(kept))).status, 201)
      assert.equal((await actor.request('PUT', '/files/replaced', 'x'.repeat(replaced))).status, 201)
      for (const [name, room] of [
        ['new', 10_000 - kept - replaced],
        ['replaced', 10_000 - kept],
      ] as const) {
        const answer = await endless(service, actor, name)
        const what = `${name} beside ${kept} and ${replaced}`
        assert.deepEqual([answer.status, answer.error], [507, 'quota_exceeded'], what)
        assert.ok(answer.bytes > room && answer.bytes <= room + 10_000, `${what}: ${answer.bytes} bytes`)
        const fitting = await upload(service, actor, ['PUT', `/files/${name}`], streamOf('y'.repeat(room)))
        assert.equal(fitting.status, name === 'new' ? 201 : 200, what)
        if (name === 'new') assert.equal((await actor.request('DELETE', '/files/new')).status, 204)
      }
    }
  })

  /** Sends pieces of 1,000 bytes until the service answers. */
  async function endless(
    service: TestService,
    actor: TestActor,
    name: string,
  ): Promise<{ readonly status: number; readonly error: string; readonly bytes: number }> {
    let bytes = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        bytes += 1000
        if (bytes > 900_000) throw new Error('The service reads on')
        controller.enqueue(Buffer.alloc(1000))
      },
    })
    const answer = await upload(service, actor, ['PUT', `/files/${name}`], body)
    return { status: answer.status, error: ((await answer.json()) as { error: string }).error, bytes }
  }

  function streamOf(text: string): ReadableStream<Uint8Array> {
    return ReadableStream.from([Buffer.from(text)])
  }
})

describe('archives that an owner imports', () => {
  it('arrive one after the other (QUO-15)', async () => {
    const service = await start()
    const actor = await service.createActor()
    const other = await service.createActor('other@example.com')
    const lines = [
      { kind: 'archive', version: 1, actor: 'x', creator: 'x', created_at: '2026-01-01T00:00:00Z' },
      { kind: 'property', name: 'color', value: 'red' },
      { kind: 'end', records: 2 },
    ].map((line) => `${JSON.stringify(line)}\n`)
    const slow = slowBody(lines)
    const sending = upload(service, actor, ['POST', '/import'], slow.body)
    await until(slow.hasBegun)
    const refused = await actor.request('POST', '/import', gzipSync(lines.join('')))
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5'])
    assert.equal((await other.request('POST', '/import', gzipSync(lines.join('')))).status, 202)
    slow.finish()
    assert.equal((await sending).status, 202)
    await service.settled()
    assert.equal((await actor.request('POST', '/import', gzipSync(lines.join('')))).status, 202)
  })
})
